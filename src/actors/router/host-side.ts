/**
 * The host's side of a router: serves requests from the server if its era has them, and forwards
 * notifications.
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
   * Receives the server's notifications except progress and cancellations, in input order relative
   * to responses.
   */
  onNotification(notification: InboundNotification): void;
}

export const hostSide: RouterSide<RouterInput, HostRouterOptions> = {
  kindOf: (_, gate) => (gate.state === 'modern' ? 'forbidden' : 'ordinary'),

  /**
   * Drops a request from a modern server, which may send none: an answer would be a request of its
   * own.
   */
  serve(request, _kind, { options }, replies) {
    const { method, id } = request;
    const message = `The server sent the request ${inspectValue(method)} with id ${inspectValue(id)}, but its revision has no server requests; dropped`;
    options.report({ level: 'warning', name: 'request.forbidden', message });
    replies.drop(request);
  },

  refusalInBatch: () => undefined,
  tooEarly: (method) =>
    unavailable(`${inspectValue(method)} must not come before the handshake is done`),
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
   * In the legacy era both sides may use integer ids, so a late cancellation of a server's request
   * must not hit one of ours. In the modern era only our requests can be meant.
   */
  cancelledUnknown(id, reason, { input, gate, options }) {
    if (gate.state === 'modern') {
      return input.correlation.send({ type: 'remote.cancelled', id, reason });
    }
    const message = `The server cancelled the request ${inspectValue(id)}, which is not in flight`;
    options.report({ level: 'debug', name: 'cancellation.ignored', message });
  },

  /**
   * A server may use the same ids for its own requests. But input without method, result and error
   * must be an answer without content: every request has a method.
   */
  isMeantAsAnswer: ({ lacks }) => lacks === 'content',

  /** Stray text on a server's output gets no answer; a malformed request does. */
  answersInvalid: ({ id }, gate) => id !== undefined && gate.state !== 'modern',
};

function unavailable(message: string): WireError {
  return { code: ErrorCode.serverUnavailable, message };
}
