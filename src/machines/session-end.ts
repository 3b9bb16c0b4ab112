/** How a session's end begins: what asks for it, why, and how long it may take. */
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
   * A shorter drain time than the session's own, milliseconds. If the session drains already, what
   * still runs is cancelled at once.
   */
  readonly drainTimeoutMs?: number | undefined;
}

/**
 * What a session hears. A host may send {@link SessionShutdown}; the rest comes from the session's
 * own actors and calls, and from XState if one of them fails.
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

/** What ended the session, from the event that did. */
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

/** Why a session has ended: nothing leads to its end without a cause. */
export function endOf(cause: CloseCause | undefined): CloseCause {
  return cause ?? { kind: 'failure', error: new Error('The session ended without a cause') };
}

/** What a request fails with whose answer the session's end has overtaken. */
export function endedBefore(cause: CloseCause | undefined): RequestFailure {
  const message = `The session has ended (${cause?.kind}), the client's answer cannot come any more`;
  return { code: 'TRANSPORT_CLOSED', message, cause };
}

/** What a request fails with in the era in which a server asks nothing by itself. */
export const notAsked: RequestFailure = {
  code: 'CAPABILITY_MISSING',
  message: 'The client speaks a revision in which a server sends no requests; nothing was sent',
  cause: undefined,
};

/** The drain time that an event asks for, milliseconds; Infinity if it asks for none. */
export function drainTimeoutOf(event: SessionEvent): number {
  return event.type === 'session.shutdown' ? (event.drainTimeoutMs ?? Infinity) : Infinity;
}
