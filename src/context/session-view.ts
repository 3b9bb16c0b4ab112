/** A session as its handlers and its host see it. */
import type { SessionState } from '../machines/session-state.ts';

/** What a session offers before and after it knows its client. */
export interface SessionHandle {
  /**
   * Unguessable, and known in this process only: the client never sees it. It authenticates nobody.
   */
  readonly id: string;
  readonly state: SessionState;
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
    resourceUpdated: (uri) => session.resourceUpdated(uri),
    elicitationCompleted: (elicitationId) => session.elicitationCompleted(elicitationId),
  };
}
