/** Waiting for the client's roots, within a time. */
import type { SnapshotFrom } from 'xstate';
import { undeclaredRoots } from '../../machines/roots.machine.ts';
import type { rootsMachine } from '../../machines/roots.machine.ts';
import type { RootsRef } from '../../machines/session-context.ts';
import { RuntimeError } from '../../protocol/errors.ts';
import type { RelatedRequest } from '../../protocol/frames.ts';
import { unavailableRoots } from '../../protocol/roots.ts';
import type { RootsReport } from '../../protocol/roots.ts';
import { refTimer } from '../clock.ts';
import type { Clock } from '../clock.ts';

export interface RootsWaitOptions {
  readonly timeoutMs: number;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /**
   * The request on whose stream the client may be asked at this moment if it has no stream of its
   * own; undefined if there is none.
   */
  readonly relatedTo: () => RelatedRequest | undefined;
  /** Why nothing can be asked on that stream; undefined if it can. */
  readonly noRequestsReason?: string | undefined;
}

/**
 * The roots as they stand once nothing newer is being asked for, or once a report came that says
 * that it is not settled, or after `timeoutMs`. If the client can only be asked on behalf of a
 * call, it is asked on this one's; a call that cannot ask gets a report at once that says so.
 *
 * @throws {RuntimeError} CANCELLED if the signal fires first, TRANSPORT_CLOSED if the session ends
 *   first
 */
export function settledRoots(
  roots: RootsRef | undefined,
  wait: () => RootsWaitOptions,
): Promise<RootsReport> {
  if (!roots) return Promise.resolve(undeclaredRoots);
  const now = roots.getSnapshot();
  if (isSettled(now)) return Promise.resolve(reportOf(now));
  if (now.status !== 'active') return Promise.reject(closed());
  const waiting = wait();
  const { timeoutMs, clock, signal } = waiting;
  return new Promise((resolve, reject) => {
    const finish = (end: () => void) => {
      subscription.unsubscribe();
      clock.clearTimeout(timer);
      signal.removeEventListener('abort', cancel);
      end();
    };
    const askIfDeferred = (snapshot: RootsSnapshot) => {
      if (!snapshot.hasTag('deferred') || signal.aborted) return;
      const { noRequestsReason } = waiting;
      if (noRequestsReason === undefined) askOnBehalf(roots, waiting);
      else finish(() => resolve(unavailableRoots(noRequestsReason, snapshot.context.report)));
    };
    const generation = now.context.report?.generation;
    const subscription = roots.subscribe({
      next: (snapshot) => {
        if (isSettled(snapshot) || snapshot.context.report?.generation !== generation) {
          finish(() => resolve(reportOf(snapshot)));
        } else {
          askIfDeferred(snapshot);
        }
      },
      error: () => finish(() => reject(closed())),
      complete: () => finish(() => reject(closed())),
    });
    const timer = clock.setTimeout(
      () => finish(() => resolve(reportOf(roots.getSnapshot(), timeoutMs))),
      timeoutMs,
    );
    refTimer(timer);
    const cancel = () => {
      const cause: unknown = signal.reason;
      finish(() => reject(new RuntimeError('CANCELLED', 'The call was cancelled', { cause })));
    };
    signal.addEventListener('abort', cancel);
    if (signal.aborted) cancel();
    else askIfDeferred(now);
  });
}

type RootsSnapshot = SnapshotFrom<typeof rootsMachine>;

/** If the call is cancelled, even after its wait, the client is asked again for others that wait. */
function askOnBehalf(roots: RootsRef, { relatedTo: asker, signal }: RootsWaitOptions): void {
  const relatedTo = asker();
  if (!relatedTo) return;
  roots.send({ type: 'roots.wanted', relatedTo });
  const abandon = () => {
    if (roots.getSnapshot().status === 'active') roots.send({ type: 'roots.abandoned', relatedTo });
  };
  signal.addEventListener('abort', abandon, { once: true });
}

function isSettled(snapshot: RootsSnapshot): boolean {
  return snapshot.status === 'active' && snapshot.hasTag('settled');
}

/** What is known now; if nothing is, why not. */
function reportOf(snapshot: RootsSnapshot, waitedMs = 0): RootsReport {
  const { report } = snapshot.context;
  if (report) return snapshot.hasTag('settled') ? report : { ...report, settled: false };
  const failure = { code: 'REQUEST_TIMEOUT' } as const;
  const problem = waitedInVain(snapshot, waitedMs);
  return { status: 'failed', generation: 0, settled: false, roots: [], problem, failure };
}

function waitedInVain(snapshot: RootsSnapshot, waitedMs: number): string {
  if (snapshot.hasTag('asking')) {
    return `The client has not answered "roots/list" within ${waitedMs} ms`;
  }
  return snapshot.hasTag('deferred')
    ? `The client could not be asked for its roots within ${waitedMs} ms: it has no stream of its own, and no request of it waits for this work`
    : `The client has not sent "notifications/initialized" within ${waitedMs} ms, so it could not be asked for its roots`;
}

function closed(): RuntimeError {
  return new RuntimeError('TRANSPORT_CLOSED', 'The session has ended');
}
