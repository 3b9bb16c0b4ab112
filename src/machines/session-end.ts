/** Why a session ends, and how long it may take. */
import type { RequestFailure } from '../protocol/errors.ts';
import type { SessionContext } from './session-context.ts';
import type { CloseCause, SessionEvent } from './session-ports.ts';

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

/** The drain time that an event asks for, milliseconds; Infinity if it asks for none. */
export function drainTimeoutOf(event: SessionEvent): number {
  return event.type === 'session.shutdown' ? (event.drainTimeoutMs ?? Infinity) : Infinity;
}

/**
 * How long the output of an idle session may take before it is checked for a stall, milliseconds.
 */
export function promptMs({ limits, drainTimeoutMs }: SessionContext): number {
  return Math.min(limits.stallTimeoutMs, drainTimeoutMs);
}
