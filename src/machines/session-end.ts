/** How a session's end begins: what asks for it, why, and how long it may take. */
import type { CloseCause, SessionFact } from './session-ports.ts';

/** What a host sends to end a session. */
export interface SessionShutdown {
  readonly type: 'session.shutdown';
  /** For the log and for the output. */
  readonly reason: string;
  /** A shorter drain time than the session's own, milliseconds. If the session drains already, what still runs is cancelled at once. */
  readonly drainTimeoutMs?: number | undefined;
}

type Ending =
  | SessionShutdown
  | Extract<
      SessionFact,
      { readonly type: 'input.ended' | 'output.broken' | 'client.unresponsive' }
    >;

/** What ended the session, from the event that did. */
export function causeOf(event: { readonly type: string }): CloseCause {
  const ending = event as Ending;
  switch (ending.type) {
    case 'session.shutdown':
      return { kind: 'shutdown', reason: ending.reason };
    case 'input.ended':
      return { kind: 'input-ended' };
    case 'client.unresponsive':
      return { kind: 'unresponsive', failures: ending.failures };
    case 'output.broken':
      return { kind: 'output-broken', error: ending.error };
    default:
      return { kind: 'failure', error: (event as { readonly error?: unknown }).error };
  }
}

/** The drain time that an event asks for, milliseconds; Infinity if it asks for none. */
export function drainTimeoutOf(event: { readonly type: string }): number {
  const ending = event as Ending;
  return ending.type === 'session.shutdown' ? (ending.drainTimeoutMs ?? Infinity) : Infinity;
}
