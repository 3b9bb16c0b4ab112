/**
 * Facts from which another node can restore a session: extracted from the client's messages, stored
 * by slot, and replayed to the new copy as messages.
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

/** Fact changed by a successful message; undefined for most messages. */
function factChangeOf({
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

/** Facts changed by a message without a response. */
export function changesByMessage(frame: InboundFrame): readonly FactChange[] {
  return frame.kind === 'notification' ? asList(factChangeOf(frame)) : [];
}

/** Facts changed by a request, or by the requests of a batch, according to the responses. */
export function changesByResponse(
  request: InboundFrame,
  response: OutboundFrame,
): readonly FactChange[] {
  if (request.kind === 'request') return 'result' in response ? asList(factChangeOf(request)) : [];
  if (request.kind !== 'batch' || !Array.isArray(response)) return [];
  const served = new Set(
    response.flatMap((each: object) => ('result' in each && 'id' in each ? [each.id] : [])),
  );
  return request.messages.flatMap((message) => {
    const part = classifyMessage(message);
    const isServed = part.kind === 'request' && served.has(part.id);
    return isServed ? asList(factChangeOf(part)) : changesByMessage(part);
  });
}

/** Fact for an item that was enabled or disabled in a session. */
export function switchChange(name: string, isEnabled: boolean): FactChange {
  return { slot: `${item}${name}`, text: JSON.stringify(isEnabled) };
}

/** Items enabled (true) or disabled (false) in a session. */
export function switchesOf({ facts }: Pick<SessionRecord, 'facts'>): ReadonlyMap<string, boolean> {
  const slots = Object.entries(facts).filter(([slot]) => slot.startsWith(item));
  return new Map(slots.map(([slot, text]) => [slot.slice(item.length), text === 'true']));
}

function asList(change: FactChange | undefined): readonly FactChange[] {
  return change ? [change] : [];
}

/** Origin of replayed requests, whose responses are discarded. */
const replayed = { idScope: 'request' } as const;

const requests: { readonly [slot: string]: string } = {
  initialize: Method.initialize,
  logLevel: setLevel,
};

/** Messages that restore a session's state in a new copy. */
export function replayFrames({ facts }: Pick<SessionRecord, 'facts'>): readonly InboundFrame[] {
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
  // A separate origin object, because it identifies the request in this scope.
  return { kind: 'request', id, method, params, origin: { ...replayed } };
}
