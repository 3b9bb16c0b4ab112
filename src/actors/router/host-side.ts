/**
 * The side of a host's connection: its server may ask what the host offers, if its era has requests
 * of servers, and tells what has changed.
 *
 * @see MCP 2025-11-25, client
 * @see MCP 2026-07-28, basic/patterns/cancellation
 */
import type { RouterInput } from '../../machines/peer-ports.ts';
import { inspectValue } from '../../protocol/classify.ts';
import { ErrorCode } from '../../protocol/errors.ts';
import type { InboundNotification, WireError } from '../../protocol/frames.ts';
import type { RouterOptions, RouterSide } from './router.actor.ts';

export interface HostRouterOptions extends RouterOptions {
  /**
   * Takes what the server tells, but for progress and cancellations. It comes in the order of the
   * input, between the answers that were before it and behind it.
   */
  onNotification(notification: InboundNotification): void;
}

export const hostSide: RouterSide<RouterInput, HostRouterOptions> = {
  kindOf: (_, gate) => (gate.state === 'modern' ? 'forbidden' : 'ordinary'),

  /** A server of the modern era may send no requests: an answer to one would be a request to it. */
  serve(request, _kind, { options }, replies) {
    const { method, id } = request;
    const message = `The server asked ${inspectValue(method)} with the id ${inspectValue(id)}; in its era it may ask nothing, and gets no answer`;
    options.report({ level: 'warning', name: 'request.forbidden', message });
    replies.drop(request);
  },

  refusalInBatch: () => undefined,
  tooEarly: (method) => unavailable(`${inspectValue(method)} came before the handshake was done`),
  tooLate: unavailable('The client is closing the connection'),
  notOffered: (method) => ({
    code: ErrorCode.methodNotFound,
    message: `Method not found: ${inspectValue(method)} is not offered by this client`,
  }),

  notification(notification, { options }) {
    options.onNotification(notification);
    return false;
  },

  /**
   * Both sides may count integers: in the legacy era a cancellation that comes too late for a
   * server's request must not hit one of our requests. In the modern era it can only mean ours.
   */
  cancelledUnknown(id, reason, { input, gate, options }) {
    if (gate.state === 'modern') {
      return input.correlation.send({ type: 'remote.cancelled', id, reason });
    }
    const message = `The server cancelled ${inspectValue(id)}, which it has not asked, or was answered`;
    options.report({ level: 'debug', name: 'cancellation.ignored', message });
  },

  /**
   * A server may have an id of its own that is the same. But input without a method, a result or an error is
   * an answer without content: no server asks without a method.
   */
  isMeantAsAnswer: ({ lacks }) => lacks === 'content',

  /** Stray text on a server's output gets no answer; a malformed request does. */
  answersInvalid: ({ id }, gate) => id !== undefined && gate.state !== 'modern',
};

function unavailable(message: string): WireError {
  return { code: ErrorCode.serverUnavailable, message };
}
