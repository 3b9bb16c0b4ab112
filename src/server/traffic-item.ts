/** Messages as they pass between a session and its client, one by one. */
import { classifyMessage } from '../protocol/classify.ts';
import type {
  InboundFrame,
  InboundResponse,
  JsonObject,
  OutboundFrame,
  OutboundMessage,
  RequestId,
  SingleFrame,
} from '../protocol/frames.ts';

/** One message, or what came in the place of one. */
export interface TrafficItem {
  /** `in`: from the client. */
  readonly direction: 'in' | 'out';
  /** When it passed, milliseconds of the session's clock. */
  readonly at: number;
  /** `invalid`: what the client sent is no message. */
  readonly kind: 'request' | 'notification' | 'response' | 'invalid';
  /** Of a request or a notification. */
  readonly method?: string;
  /** Of a request or a response; of something invalid where it could be read. */
  readonly id?: RequestId;
  /** The JSON-RPC message, its parts not copied: change nothing in it. Missing where it is invalid. */
  readonly message?: JsonObject;
  /** Why it is invalid. */
  readonly problem?: string;
}

/** Of a batch, each member. */
export function itemsOfInbound(frame: InboundFrame, at: number): readonly TrafficItem[] {
  if (frame.kind !== 'batch') return [itemOfInbound(frame, at)];
  return frame.messages.map((member) => itemOfInbound(classifyMessage(member), at));
}

/** Of the answers to a batch, each. */
export function itemsOfOutbound(frame: OutboundFrame, at: number): readonly TrafficItem[] {
  const messages: readonly OutboundMessage[] = 'jsonrpc' in frame ? [frame] : frame;
  return messages.map((message) => itemOfOutbound(message, at));
}

function itemOfInbound(frame: SingleFrame, at: number): TrafficItem {
  const direction = 'in';
  switch (frame.kind) {
    case 'request':
    case 'notification': {
      const { kind, method, params } = frame;
      const id = kind === 'request' ? { id: frame.id } : {};
      const message = { jsonrpc: '2.0', ...id, method, ...(params ? { params } : {}) };
      return { direction, at, kind, method, ...id, message };
    }
    case 'response':
      return { direction, at, ...itemOfResponse(frame) };
    case 'stray-error': {
      const message = { jsonrpc: '2.0', error: frame.error };
      return { direction, at, kind: 'response', message };
    }
    case 'invalid': {
      const id = frame.id === undefined ? {} : { id: frame.id };
      return { direction, at, kind: 'invalid', ...id, problem: frame.error.message };
    }
  }
}

function itemOfResponse({ id, outcome }: InboundResponse): Omit<TrafficItem, 'direction' | 'at'> {
  const kind = 'response';
  if (outcome.ok) return { kind, id, message: { jsonrpc: '2.0', id, result: outcome.result } };
  if ('error' in outcome)
    return { kind, id, message: { jsonrpc: '2.0', id, error: outcome.error } };
  return { kind: 'invalid', id, problem: outcome.malformed };
}

function itemOfOutbound(message: OutboundMessage, at: number): TrafficItem {
  const id = 'id' in message ? { id: message.id } : {};
  const sent = message as object as JsonObject;
  if (!('method' in message))
    return { direction: 'out', at, kind: 'response', ...id, message: sent };
  const kind = 'id' in message ? 'request' : 'notification';
  return { direction: 'out', at, kind, method: message.method, ...id, message: sent };
}
