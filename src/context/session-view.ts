/** What a handler sees of its session, and may do to it. */
import type { SessionState } from '../machines/session-state.ts';

/** A session as its own server sees it, whoever the client is. */
export interface SessionHandle {
  /** Unguessable; of this process, and nothing that the client sees. Never an authentication. */
  readonly id: string;
  readonly state: SessionState;
  /** Tells the client that a resource has changed, if it has subscribed to it. */
  resourceUpdated(uri: string): void;
  /**
   * Tells the client that what it was asked to open is done.
   * @returns false where this session has no such elicitation open; nothing is sent then
   * @see MCP 2025-11-25, client/elicitation, "Completion Notifications for URL Mode Elicitation"
   */
  elicitationCompleted(elicitationId: string): boolean;
}

/** {@link SessionHandle}, with what is known once there is a client. */
export interface SessionView extends SessionHandle {
  /** The negotiated revision, such as `2025-11-25`. */
  readonly revision: string;
}

/** A session for a handler. */
export function sessionView(session: SessionHandle, revision: string): SessionView {
  return {
    get id() {
      return session.id;
    },
    revision,
    get state() {
      return session.state;
    },
    resourceUpdated: (uri) => session.resourceUpdated(uri),
    elicitationCompleted: (elicitationId) => session.elicitationCompleted(elicitationId),
  };
}
