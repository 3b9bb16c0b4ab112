/** Waiting for the client's roots, for at most so long. */
import type { SnapshotFrom } from 'xstate';
import { undeclaredRoots } from '../../machines/roots.machine.ts';
import type { rootsMachine } from '../../machines/roots.machine.ts';
import type { RootsRef } from '../../machines/session.machine.ts';
import { RuntimeError } from '../../protocol/errors.ts';
import type { RootsReport } from '../../machines/roots-report.ts';
import { holdProcess } from '../clock.ts';
import type { Clock } from '../clock.ts';

export interface RootsWait {
  readonly timeoutMs: number;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/**
 * The roots as they stand once nothing newer is being asked for, or once a report came that says
 * that it is not settled, or after `timeoutMs`.
 *
 * @throws {RuntimeError} CANCELLED if the signal fires first, TRANSPORT_CLOSED if the session ends
 *   first
 */
export function settledRoots(
  roots: RootsRef | undefined,
  wait: () => RootsWait,
): Promise<RootsReport> {
  if (!roots) return Promise.resolve(undeclaredRoots);
  const now = roots.getSnapshot();
  if (isSettled(now)) return Promise.resolve(reportOf(now));
  if (now.status !== 'active') return Promise.reject(closed());
  const { timeoutMs, clock, signal } = wait();
  return new Promise((resolve, reject) => {
    const finish = (end: () => void) => {
      subscription.unsubscribe();
      clock.clearTimeout(timer);
      signal.removeEventListener('abort', cancel);
      end();
    };
    const generation = now.context.report?.generation;
    const subscription = roots.subscribe({
      next: (snapshot) => {
        if (isSettled(snapshot) || snapshot.context.report?.generation !== generation) {
          finish(() => resolve(reportOf(snapshot)));
        }
      },
      error: () => finish(() => reject(closed())),
      complete: () => finish(() => reject(closed())),
    });
    const timer = clock.setTimeout(
      () => finish(() => resolve(reportOf(roots.getSnapshot(), timeoutMs))),
      timeoutMs,
    );
    holdProcess(timer);
    const cancel = () => {
      const cause: unknown = signal.reason;
      finish(() => reject(new RuntimeError('CANCELLED', 'The call was cancelled', { cause })));
    };
    signal.addEventListener('abort', cancel);
    if (signal.aborted) cancel();
  });
}

type RootsSnapshot = SnapshotFrom<typeof rootsMachine>;

function isSettled(snapshot: RootsSnapshot): boolean {
  return snapshot.status === 'active' && snapshot.hasTag('settled');
}

/** What is known now; if nothing is, why not. */
function reportOf(snapshot: RootsSnapshot, waitedMs = 0): RootsReport {
  const { report } = snapshot.context;
  if (report) return snapshot.hasTag('settled') ? report : { ...report, settled: false };
  const problem = snapshot.hasTag('asking')
    ? `The client has not answered "roots/list" within ${waitedMs} ms`
    : `The client has not sent "notifications/initialized" within ${waitedMs} ms, so it could not be asked for its roots`;
  const failure = { code: 'REQUEST_TIMEOUT' } as const;
  return { status: 'failed', generation: 0, settled: false, roots: [], problem, failure };
}

function closed(): RuntimeError {
  return new RuntimeError('TRANSPORT_CLOSED', 'The session has ended');
}
