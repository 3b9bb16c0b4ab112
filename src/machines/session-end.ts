/** Close causes and drain times of a session. */
import type { RequestFailure } from '../protocol/errors.ts';
import type { SessionContext } from './session-context.ts';
import type { CloseCause, SessionEvent } from './session-ports.ts';

/** Derives the close cause from an event. */
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

/** The close cause, which every ended session must have. */
export function endOf(cause: CloseCause | undefined): CloseCause {
  return cause ?? { kind: 'failure', error: new Error('The session ended without a cause') };
}

/** Error of requests that were pending when the session ended. */
export function endedBefore(cause: CloseCause | undefined): RequestFailure {
  const message = `The session ended (${cause?.kind}) before the client answered`;
  return { code: 'TRANSPORT_CLOSED', message, cause };
}

/** Drain time requested by an event, milliseconds; Infinity if none. */
export function drainTimeoutOf(event: SessionEvent): number {
  return event.type === 'session.shutdown' ? (event.drainTimeoutMs ?? Infinity) : Infinity;
}

/** Time to flush an idle session before the output is checked for a stall, milliseconds. */
export function idleFlushMs({ limits, drainTimeoutMs }: SessionContext): number {
  return Math.min(limits.stallTimeoutMs, drainTimeoutMs);
}
