/** A session as its handlers and its host see it. */
import { describe } from '../protocol/classify.ts';
import { RuntimeError, textOfError } from '../protocol/errors.ts';
import type { JsonObject } from '../protocol/frames.ts';
import { Method } from '../protocol/methods.ts';
import type { SessionState } from '../machines/session-state.ts';

/** What a session offers before and after it knows its client. */
export interface SessionHandle {
  /**
   * Unguessable, and known in this process only: the client never sees it. It is not a credential.
   */
  readonly id: string;
  /** Where the session stands in its lifecycle. */
  readonly state: SessionState;
  /**
   * Sends the client a notification that belongs to no request.
   *
   * @returns whether the output has taken it; nothing is sent before the session is in operation,
   *   nor after its end
   * @throws {RuntimeError} UNSERIALIZABLE
   * @throws {TypeError} the method is not a valid name, or is `notifications/cancelled`
   */
  notify(method: string, params?: JsonObject): boolean;
  /** Tells the client that a resource has changed, if it has subscribed to it. */
  resourceUpdated(uri: string): void;
  /**
   * Tells the client that a URL elicitation is completed.
   * @returns false if this session has no such elicitation open; nothing is sent then
   * @see MCP 2025-11-25, client/elicitation, "Completion Notifications for URL Mode Elicitation"
   */
  elicitationCompleted(elicitationId: string): boolean;
}

/** A {@link SessionHandle} whose client is known. */
export interface SessionView extends SessionHandle {
  /** The negotiated revision, such as `2025-11-25`. */
  readonly revision: string;
}

/** Makes the view that a handler gets. */
export function sessionView(session: SessionHandle, revision: string): SessionView {
  return {
    get id() {
      return session.id;
    },
    revision,
    get state() {
      return session.state;
    },
    notify: (method, params) => session.notify(method, params),
    resourceUpdated: (uri) => session.resourceUpdated(uri),
    elicitationCompleted: (elicitationId) => session.elicitationCompleted(elicitationId),
  };
}

/**
 * Sends an author's notification.
 *
 * @param send returns whether it was sent, and reports at once if it cannot be
 * @returns whether the output has taken it
 * @throws what {@link SessionHandle.notify} throws
 */
export function sendAuthored(
  method: string,
  send: (rejected: (error: unknown) => void) => boolean,
): boolean {
  if (typeof method !== 'string' || method === '') {
    throw new TypeError(`The method of a notification must be a name, this is ${describe(method)}`);
  }
  if (method === Method.cancelled) {
    throw new TypeError(`${method} is sent when the signal of a request is aborted, not by hand`);
  }
  let fault: unknown;
  const isSent = send((error) => {
    fault = error;
  });
  if (fault === undefined) return isSent;
  // The transport did not take it, which it has reported.
  if (fault instanceof RuntimeError) return false;
  const message = `The params of ${method} cannot be written as JSON: ${textOfError(fault)}`;
  throw new RuntimeError('UNSERIALIZABLE', message, { cause: fault });
}
