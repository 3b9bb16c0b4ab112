/** A session as its handlers and its host see it. */
import { inspectValue } from '../../protocol/classify.ts';
import { RuntimeError, textOfError } from '../../protocol/errors.ts';
import type { JsonObject } from '../../protocol/frames.ts';
import { Method } from '../../protocol/methods.ts';
import type { SessionState } from '../../machines/session-state.ts';
import type { DeliveryRecipient } from '../../actors/request-context.ts';

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
  /**
   * Shows an item in this session, whatever its `visible` says: the tool or prompt of this name, the
   * resource of this URI, the template. The client is told that its list has changed; other sessions
   * are not.
   *
   * @throws {TypeError} the server has nothing of this name
   * @throws {RuntimeError} CAPABILITY_MISSING from a handler whose client has no session: what a
   *   client of 2026-07-28 sees must not depend on what it has asked before
   */
  enable(name: string): void;
  /** Hides an item in this session as if it did not exist, until {@link enable}. Throws as that does. */
  disable(name: string): void;
}

/** A {@link SessionHandle} whose client is known. */
export interface SessionView extends SessionHandle {
  /** The negotiated revision, such as `2025-11-25`. */
  readonly revision: string;
}

/**
 * Makes the view that a handler gets.
 *
 * @param isShared whether it serves clients that have no session of their own
 */
export function sessionView(
  session: SessionHandle,
  revision: string,
  isShared = false,
): SessionView {
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
    enable: (name) => switchable(session, revision, isShared).enable(name),
    disable: (name) => switchable(session, revision, isShared).disable(name),
  };
}

/** @throws {RuntimeError} CAPABILITY_MISSING */
function switchable(session: SessionHandle, revision: string, isShared: boolean): SessionHandle {
  if (!isShared) return session;
  const message = `Nothing can be enabled or disabled for a client without a session (${revision}): say in "visible" of the item who sees it`;
  throw new RuntimeError('CAPABILITY_MISSING', message);
}

/**
 * Sends an author's notification.
 *
 * @param send returns whether it was sent, and reports synchronously if it was rejected
 * @returns whether the output has taken it
 * @throws what {@link SessionHandle.notify} throws
 */
export function sendAuthored(
  method: string,
  send: (reportTo: DeliveryRecipient) => boolean,
): boolean {
  if (typeof method !== 'string' || method === '') {
    throw new TypeError(
      `The method of a notification must be a name, this is ${inspectValue(method)}`,
    );
  }
  if (method === Method.cancelled) {
    throw new TypeError(`${method} is sent when the signal of a request is aborted, not by hand`);
  }
  let fault: unknown;
  const isSent = send({
    send: (event) => {
      if (event.type === 'frame.rejected') fault = event.error;
    },
  });
  if (fault === undefined) return isSent;
  // The transport did not take it, which it has reported.
  if (fault instanceof RuntimeError) return false;
  const message = `The params of ${method} cannot be written as JSON: ${textOfError(fault)}`;
  throw new RuntimeError('UNSERIALIZABLE', message, { cause: fault });
}
