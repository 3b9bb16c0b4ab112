/** How a session begins to end: what asks for it, why, and how long it may take. */
import type { ErrorActorEvent } from 'xstate';
import type { RootsUpdated } from './roots.machine.ts';
import type { RequestFailure } from './peer-ports.ts';
import type { CloseCause, SessionFact } from './session-ports.ts';

/** What a host sends to end a session. */
export interface SessionShutdown {
  readonly type: 'session.shutdown';
  /** For the log and for the output. */
  readonly reason: string;
  /**
   * A shorter drain time than the session's own, milliseconds. If the session is already draining,
   * running calls are cancelled at once.
   */
  readonly drainTimeoutMs?: number | undefined;
}

/**
 * The events that a session takes. A host may send {@link SessionShutdown}; the rest comes from the
 * session's own actors and calls, and from XState if one of them fails.
 */
export type SessionEvent =
  | SessionShutdown
  | SessionFact
  | RootsNeeded
  | RootsUpdated
  | ErrorActorEvent;

/** A call needs the client's roots, and there is no machine for them yet. */
export interface RootsNeeded {
  readonly type: 'roots.needed';
}

/** Reads from an event why the session ends. */
export function causeOf(event: SessionEvent): CloseCause {
  switch (event.type) {
    case 'session.shutdown':
      return { kind: 'shutdown', reason: event.reason };
    case 'input.ended':
      return { kind: 'input-ended' };
    case 'client.unresponsive':
      return { kind: 'unresponsive', failures: event.failures };
    case 'output.broken':
      return { kind: 'output-broken', error: event.error };
    default:
      return { kind: 'failure', error: 'error' in event ? event.error : undefined };
  }
}

/** The cause, which is set in every ended session. */
export function endOf(cause: CloseCause | undefined): CloseCause {
  return cause ?? { kind: 'failure', error: new Error('The session ended without a cause') };
}

/** The error of a request that was pending when the session ended. */
export function endedBefore(cause: CloseCause | undefined): RequestFailure {
  const message = `The session has ended (${cause?.kind}), the client's answer cannot come any more`;
  return { code: 'TRANSPORT_CLOSED', message, cause };
}

/** The error of a request in the modern era, in which a server sends none by itself. */
export const notAsked: RequestFailure = {
  code: 'CAPABILITY_MISSING',
  message: 'The client speaks a revision in which a server sends no requests; nothing was sent',
  cause: undefined,
};

/** The drain time that an event asks for, milliseconds; Infinity if it asks for none. */
export function drainTimeoutOf(event: SessionEvent): number {
  return event.type === 'session.shutdown' ? (event.drainTimeoutMs ?? Infinity) : Infinity;
}
