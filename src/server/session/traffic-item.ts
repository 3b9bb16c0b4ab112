/** Messages between a session and its client, as items. */
import { classifyMessage, messageOf } from '../../protocol/classify.ts';
import type {
  InboundFrame,
  JsonObject,
  OutboundFrame,
  OutboundMessage,
  RequestId,
  SingleFrame,
} from '../../protocol/frames.ts';

/** A message, or invalid input in place of one. */
export interface TrafficItem {
  /** `in`: from the client. */
  readonly direction: 'in' | 'out';
  /** Time of the message, session clock ms. */
  readonly at: number;
  /** Kind of message; `invalid` for input that is not a message. */
  readonly kind: 'request' | 'notification' | 'response' | 'invalid';
  /** Method of a request or notification. */
  readonly method?: string;
  /** Id of a request or response, or of invalid input if readable. */
  readonly id?: RequestId;
  /** JSON-RPC message, not a copy: do not modify it. Absent for invalid input. */
  readonly message?: JsonObject;
  /** Problem of invalid input. */
  readonly problem?: string;
}

/** Items of an inbound frame; one per member of a batch. */
export function itemsOfInbound(frame: InboundFrame, at: number): readonly TrafficItem[] {
  if (frame.kind !== 'batch') return [itemOfInbound(frame, at)];
  return frame.messages.map((member) => itemOfInbound(classifyMessage(member), at));
}

/** Items of an outbound frame; one per response of a batch. */
export function itemsOfOutbound(frame: OutboundFrame, at: number): readonly TrafficItem[] {
  const messages: readonly OutboundMessage[] = 'jsonrpc' in frame ? [frame] : frame;
  return messages.map((message) => itemOfOutbound(message, at));
}

function itemOfInbound(frame: SingleFrame, at: number): TrafficItem {
  const id = 'id' in frame && frame.id !== undefined ? { id: frame.id } : {};
  const common = { direction: 'in', at, ...id } as const;
  const message = messageOf(frame);
  if (!message) return { ...common, kind: 'invalid', ...problemOf(frame) };
  if ('method' in frame) return { ...common, kind: frame.kind, method: frame.method, message };
  return { ...common, kind: 'response', message };
}

function problemOf(frame: SingleFrame): Pick<TrafficItem, 'problem'> {
  if (frame.kind === 'invalid') return { problem: frame.error.message };
  if (frame.kind !== 'response' || !('malformed' in frame.outcome)) return {};
  return { problem: frame.outcome.malformed };
}

function itemOfOutbound(message: OutboundMessage, at: number): TrafficItem {
  const id = 'id' in message ? { id: message.id } : {};
  const sent = message as object as JsonObject;
  if (!('method' in message))
    return { direction: 'out', at, kind: 'response', ...id, message: sent };
  const kind = 'id' in message ? 'request' : 'notification';
  return { direction: 'out', at, kind, method: message.method, ...id, message: sent };
}
