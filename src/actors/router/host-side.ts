/**
 * The side of a host's connection: its server may ask what the host offers, if its era has requests
 * of servers, and tells what has changed.
 *
 * @see MCP 2025-11-25, client
 * @see MCP 2026-07-28, basic/patterns/cancellation
 */
import type { RouterInput } from '../../machines/peer-ports.ts';
import { describe } from '../../protocol/classify.ts';
import { ErrorCode } from '../../protocol/errors.ts';
import type { InboundNotification, WireError } from '../../protocol/frames.ts';
import type { RouterOptions, RouterSide } from './router-side.ts';

export interface HostRouterOptions extends RouterOptions {
  /**
   * Takes what the server tells, but for progress and cancellations. It comes in the order of the
   * input, between the answers that were before it and behind it.
   */
  notified(notification: InboundNotification): void;
}

export const hostSide: RouterSide<RouterInput, HostRouterOptions> = {
  lifecycle: () => false,

  /** A server of the modern era sends no requests: an answer to one would be a request to it. */
  admit({ method, id }, { gate, options }) {
    if (gate.state !== 'modern') return undefined;
    const message = `The server asked ${describe(method)} with the id ${describe(id)}; in its era it may ask nothing, and gets no answer`;
    options.report({ level: 'warning', name: 'request.forbidden', message });
    return 'unanswered';
  },

  refusalInBatch: () => undefined,
  tooEarly: (method) => unavailable(`${describe(method)} came before the handshake was done`),
  tooLate: unavailable('The client is closing the connection'),
  notOffered: (method) => ({
    code: ErrorCode.methodNotFound,
    message: `Method not found: ${describe(method)} is not offered by this client`,
  }),
  resultFor: (_peer, result) => result,
  rootsOf: () => undefined,

  notification(notification, { options }) {
    options.notified(notification);
  },

  /**
   * Both sides may count integers: in the legacy era a cancellation that comes too late for a
   * request of the server's must not hit one of ours. In the modern era it can only mean ours.
   */
  cancelledUnknown(id, reason, { input, gate, options }) {
    if (gate.state === 'modern') {
      return input.correlation.send({ type: 'remote.cancelled', id, reason });
    }
    const message = `The server cancelled ${describe(id)}, which it has not asked, or was answered`;
    options.report({ level: 'debug', name: 'cancellation.ignored', message });
  },

  /**
   * A server may have an id of its own that is the same. But without content it is an answer that its
   * author forgot: no server asks without a method.
   */
  isMeantAsAnswer: ({ lacks }) => lacks === 'content',

  /** What is on a server's output by mistake gets no answer; a request that is malformed does. */
  answersInvalid: ({ id }, gate) => id !== undefined && gate.state !== 'modern',
};

function unavailable(message: string): WireError {
  return { code: ErrorCode.serverUnavailable, message };
}
