/** What a server closes at the end of a session, for so long as the session may drain. */
import { holdProcess } from '../actors/clock.ts';
import type { Clock } from '../actors/clock.ts';
import type { Report } from '../actors/facts.ts';
import type { ClosedSession, ServerDefinition } from '../define/definition.ts';
import { textOfError } from '../protocol/errors.ts';
import type { FactName } from './facts.ts';

export interface CloseOptions {
  /** How long it may take, milliseconds. */
  readonly timeoutMs: number;
  readonly clock: Clock;
  readonly report: Report<FactName>;
}

/** Calls a server's `onClose`, and waits for what it gives. Never rejects. */
export async function closeBy(
  onClose: NonNullable<ServerDefinition['onClose']>,
  session: ClosedSession,
  { timeoutMs, clock, report }: CloseOptions,
): Promise<void> {
  let timer: unknown;
  const tooLate = new Promise<'too late'>((resolve) => {
    timer = clock.setTimeout(() => resolve('too late'), timeoutMs);
    holdProcess(timer);
  });
  try {
    // What it gives must not be awaited by somebody who has no time for it.
    const closed = Promise.resolve(onClose(session)).then(() => 'closed' as const);
    if ((await Promise.race([closed, tooLate])) === 'closed') return;
    const message = `The server's onClose has not ended within ${timeoutMs} ms; the session ends without it`;
    report({ level: 'warning', name: 'close.abandoned', message, details: { id: session.id } });
  } catch (error) {
    const message = `The server's onClose failed: ${textOfError(error)}`;
    report({ level: 'error', name: 'close.failed', message, details: { error } });
  } finally {
    clock.clearTimeout(timer);
  }
}
