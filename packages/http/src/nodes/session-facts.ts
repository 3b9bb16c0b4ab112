/**
 * What a session has to know of what its client has said, if another node brings it back: read from
 * the messages, kept by slots, and fed to the new copy as the messages that it did not get.
 */
import { classifyMessage, isJsonObject } from '../../../../src/protocol/classify.ts';
import type {
  InboundFrame,
  InboundNotification,
  InboundRequest,
  InboundRequestId,
  JsonObject,
  OutboundFrame,
} from '../../../../src/protocol/frames.ts';
import { Method } from '../../../../src/protocol/methods.ts';
import type { FactChange, SessionRecord } from './stores.ts';

const setLevel = 'logging/setLevel';
const subscribe = 'resources/subscribe';
const unsubscribe = 'resources/unsubscribe';
const subscription = 'subscription:';
const item = 'item:';

/** What a message changes once it was served; undefined for almost all messages. */
function changeBy({
  method,
  params,
}: Pick<InboundRequest | InboundNotification, 'method' | 'params'>): FactChange | undefined {
  switch (method) {
    case Method.initialize: {
      const { protocolVersion, capabilities, clientInfo } = params ?? {};
      const text = JSON.stringify({ protocolVersion, capabilities, clientInfo });
      return { slot: 'initialize', text };
    }
    case Method.initialized:
      return { slot: 'initialized', text: '{}' };
    case setLevel:
      return { slot: 'logLevel', text: JSON.stringify({ level: params?.['level'] }) };
    case subscribe:
    case unsubscribe: {
      const uri = params?.['uri'];
      const text = method === subscribe ? JSON.stringify({ uri }) : undefined;
      return { slot: `${subscription}${String(uri)}`, text };
    }
    default:
      return undefined;
  }
}

/** What a message changes that needs no response. */
export function changesByMessage(frame: InboundFrame): readonly FactChange[] {
  return frame.kind === 'notification' ? list(changeBy(frame)) : [];
}

/** What a request has changed, or the requests of a batch, by their responses. */
export function changesByResponse(
  request: InboundFrame,
  response: OutboundFrame,
): readonly FactChange[] {
  if (request.kind === 'request') return 'result' in response ? list(changeBy(request)) : [];
  if (request.kind !== 'batch' || !Array.isArray(response)) return [];
  const served = new Set(
    response.flatMap((each: object) => ('result' in each && 'id' in each ? [each.id] : [])),
  );
  return request.messages.flatMap((message) => {
    const part = classifyMessage(message);
    const isServed = part.kind === 'request' && served.has(part.id);
    return isServed ? list(changeBy(part)) : changesByMessage(part);
  });
}

/** What is written down of an item that was enabled or disabled in a session. */
export function switchChange(name: string, isEnabled: boolean): FactChange {
  return { slot: `${item}${name}`, text: JSON.stringify(isEnabled) };
}

/** The items that were enabled (true) or disabled in a session. */
export function switchesOf({ facts }: Pick<SessionRecord, 'facts'>): ReadonlyMap<string, boolean> {
  const slots = Object.entries(facts).filter(([slot]) => slot.startsWith(item));
  return new Map(slots.map(([slot, text]) => [slot.slice(item.length), text === 'true']));
}

function list(change: FactChange | undefined): readonly FactChange[] {
  return change ? [change] : [];
}

/** Answers to it go nowhere: the client has had them. */
const replayed = { idScope: 'request' } as const;

const requests: { readonly [slot: string]: string } = {
  initialize: Method.initialize,
  logLevel: setLevel,
};

/** The messages that bring a copy of a session to what its client has said. */
export function framesOf({ facts }: Pick<SessionRecord, 'facts'>): readonly InboundFrame[] {
  const { initialize, initialized, ...others } = facts;
  const inOrder = Object.entries({ initialize, initialized, ...others });
  return inOrder.flatMap(([slot, text]) => (text === undefined ? [] : (frameOf(slot, text) ?? [])));
}

function frameOf(slot: string, text: string): InboundFrame | undefined {
  const params: unknown = JSON.parse(text);
  if (slot === 'initialized') {
    return { kind: 'notification', method: Method.initialized, params: undefined };
  }
  const method = slot.startsWith(subscription) ? subscribe : requests[slot];
  return method === undefined || !isJsonObject(params) ? undefined : request(method, params);
}

function request(method: string, params: JsonObject): InboundRequest {
  const id = `said:${method}` as InboundRequestId & string;
  // An origin of its own: with this scope requests are told apart by it.
  return { kind: 'request', id, method, params, origin: { ...replayed } };
}
