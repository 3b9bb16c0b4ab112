/** Interfaces of a session for handlers and hosts. */
import { inspectValue } from '../../protocol/classify.ts';
import { RuntimeError, textOfError } from '../../protocol/errors.ts';
import type { JsonObject } from '../../protocol/frames.ts';
import { Method } from '../../protocol/methods.ts';
import type { SessionState } from '../../machines/session-state.ts';
import type { DeliveryRecipient } from '../../actors/request-context.ts';

/** A session whose client may not be known yet. */
export interface SessionHandle {
  /** Unguessable id, unique to the process and never sent to the client. Not a credential. */
  readonly id: string;
  /** Lifecycle state. */
  readonly state: SessionState;
  /**
   * Sends a notification that is not related to a request.
   *
   * @returns true if the notification was queued; false before the session is initialized and after
   *   its end
   * @throws {RuntimeError} UNSERIALIZABLE
   * @throws {TypeError} if the method is empty or `notifications/cancelled`
   */
  notify(method: string, params?: JsonObject): boolean;
  /** Sends `notifications/resources/updated` if the client subscribed to the resource. */
  resourceUpdated(uri: string): void;
  /**
   * Notifies the client that a URL elicitation is complete.
   *
   * @returns false if the session has no open elicitation with this id
   * @see MCP 2025-11-25, client/elicitation, "Completion Notifications for URL Mode Elicitation"
   */
  elicitationCompleted(elicitationId: string): boolean;
  /**
   * Shows an item in this session, overriding its `visible`. The client is notified of the list
   * change; other sessions are not affected.
   *
   * @param name name of a tool or prompt, or URI of a resource, resource template or skill
   * @throws {TypeError} if the server has no such item
   * @throws {RuntimeError} CAPABILITY_MISSING if the client has no session: since 2026-07-28 lists must
   *   not depend on earlier requests
   */
  enable(name: string): void;
  /** Hides an item in this session until {@link enable}. Throws the same errors. */
  disable(name: string): void;
}

/** A session whose client is known. */
export interface SessionView extends SessionHandle {
  /** Negotiated protocol revision, such as `2025-11-25`. */
  readonly revision: string;
}

/**
 * Creates the session view of a handler.
 *
 * @param isShared true if the session serves clients without their own session
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
    enable: (name) => requireOwnSession(session, revision, isShared).enable(name),
    disable: (name) => requireOwnSession(session, revision, isShared).disable(name),
  };
}

/** @throws {RuntimeError} CAPABILITY_MISSING if the session is shared */
function requireOwnSession(
  session: SessionHandle,
  revision: string,
  isShared: boolean,
): SessionHandle {
  if (!isShared) return session;
  const message = `Items cannot be enabled or disabled for a client without a session (${revision}): use "visible" of the item instead`;
  throw new RuntimeError('CAPABILITY_MISSING', message);
}

/**
 * Sends a notification of the author's code.
 *
 * @param send sends it, and reports a rejection synchronously; returns false if nothing was sent
 * @returns true if the notification was queued
 * @throws the errors of {@link SessionHandle.notify}
 */
export function sendCustomNotification(
  method: string,
  send: (reportTo: DeliveryRecipient) => boolean,
): boolean {
  if (typeof method !== 'string' || method === '') {
    throw new TypeError(
      `The method of a notification must be a non-empty string, got ${inspectValue(method)}`,
    );
  }
  if (method === Method.cancelled) {
    throw new TypeError(`${method} cannot be sent directly: abort the signal of the request`);
  }
  let fault: unknown;
  const isSent = send({
    send: (event) => {
      if (event.type === 'frame.rejected') fault = event.error;
    },
  });
  if (fault === undefined) return isSent;
  // The transport has reported the failure.
  if (fault instanceof RuntimeError) return false;
  const message = `The params of ${method} are not serializable as JSON: ${textOfError(fault)}`;
  throw new RuntimeError('UNSERIALIZABLE', message, { cause: fault });
}
