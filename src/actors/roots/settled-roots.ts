/** Waits for the client's roots, with a time limit. */
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
   * The request on whose stream the query may be sent if the client has no stream of its own;
   * undefined if there is none now.
   */
  readonly relatedTo: () => RelatedRequest | undefined;
  /** Reason why that stream cannot carry requests; undefined if it can. */
  readonly noRequestsReason?: string | undefined;
}

/**
 * The roots once no query is pending, once an unsettled report arrives, or after `timeoutMs`. If
 * the client can be asked only on behalf of a call, the query uses this call's stream; a call that
 * cannot carry requests gets a report immediately.
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
    const queryIfDeferred = (snapshot: RootsSnapshot) => {
      if (!snapshot.hasTag('deferred') || signal.aborted) return;
      const { noRequestsReason } = waiting;
      if (noRequestsReason === undefined) queryOnBehalf(roots, waiting);
      else finish(() => resolve(unavailableRoots(noRequestsReason, snapshot.context.report)));
    };
    const generation = now.context.report?.generation;
    const subscription = roots.subscribe({
      next: (snapshot) => {
        if (isSettled(snapshot) || snapshot.context.report?.generation !== generation) {
          finish(() => resolve(reportOf(snapshot)));
        } else {
          queryIfDeferred(snapshot);
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
    else queryIfDeferred(now);
  });
}

type RootsSnapshot = SnapshotFrom<typeof rootsMachine>;

/** If the call is cancelled, even after its wait, the query is repeated for other waiting calls. */
function queryOnBehalf(
  roots: RootsRef,
  { relatedTo: relatedRequest, signal }: RootsWaitOptions,
): void {
  const relatedTo = relatedRequest();
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

/** The current report, or a failed one with the reason. */
function reportOf(snapshot: RootsSnapshot, waitedMs = 0): RootsReport {
  const { report } = snapshot.context;
  if (report) return snapshot.hasTag('settled') ? report : { ...report, settled: false };
  const failure = { code: 'REQUEST_TIMEOUT' } as const;
  const problem = describeTimeout(snapshot, waitedMs);
  return { status: 'failed', generation: 0, settled: false, roots: [], problem, failure };
}

function describeTimeout(snapshot: RootsSnapshot, waitedMs: number): string {
  if (snapshot.hasTag('asking')) {
    return `The client has not answered "roots/list" within ${waitedMs} ms`;
  }
  return snapshot.hasTag('deferred')
    ? `The client could not be asked for its roots within ${waitedMs} ms: it has no stream for requests, and none of its requests is waiting`
    : `The client has not sent "notifications/initialized" within ${waitedMs} ms, so it could not be asked for its roots`;
}

function closed(): RuntimeError {
  return new RuntimeError('TRANSPORT_CLOSED', 'The session has ended');
}
