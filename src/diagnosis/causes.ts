/** Why a session does not go on, read from its dump: once, for every text and every program that says so. */
import type { CallDump, PendingDump, SessionDump } from './session-dump.ts';

/** One reason why a session does not go on. Times are milliseconds. */
export type Cause =
  /** The client has not sent `initialize` since the session started. */
  | { readonly kind: 'initialize-missing'; readonly ageMs: number }
  /** The client has not sent `notifications/initialized`, and was last heard so long ago. */
  | { readonly kind: 'initialized-missing'; readonly ageMs: number }
  /** The session drains: calls may still end, were cancelled and clean up, or have ended and the rest of the output is written. */
  | { readonly kind: 'settling' | 'aborting' | 'flushing'; readonly calls: number }
  | { readonly kind: 'closed' }
  /** The client does not read: no request is started until it has. */
  | { readonly kind: 'output-blocked'; readonly bytes: number }
  /** Output waits to be read; requests are still started. */
  | { readonly kind: 'output-queued'; readonly bytes: number }
  /** What a handler needs is being loaded; so many requests wait for it. */
  | { readonly kind: 'preparation'; readonly waiting: number }
  | Question
  /** As many requests run as may, and others wait for a place. */
  | { readonly kind: 'running-full'; readonly waiting: number; readonly subject?: CallDump }
  /** As many of our requests are pending as may be. */
  | { readonly kind: 'pending-full' }
  /** As many tasks run as may. */
  | { readonly kind: 'tasks-full' }
  /** A call waits for its task to end, or its handler runs and asks the client nothing. */
  | { readonly kind: 'task' | 'work'; readonly subject: CallDump; readonly ageMs: number }
  /** The client's roots could not be had. */
  | { readonly kind: 'roots-failed'; readonly problem: string | undefined };

/** The client has not answered a request of ours. */
export interface Question {
  readonly kind: 'question';
  readonly subject: PendingDump;
  /** The client's request, or the work of its task, that asks. */
  readonly askedBy?: CallDump;
  readonly ageMs: number;
  /** Until it is given up. */
  readonly leftMs: number;
}

/** Every cause, the nearest first. None: the session waits for its client to ask something. */
export function causesOf(dump: SessionDump): readonly Cause[] {
  return [
    ...lifecycle(dump),
    ...output(dump),
    ...preparation(dump),
    ...questions(dump),
    ...bounds(dump),
    ...work(dump),
    ...roots(dump),
  ];
}

function lifecycle({ tags, ageMs, quietMs, calls: { length } }: SessionDump): Cause[] {
  return tags.flatMap((tag): Cause[] => {
    switch (tag) {
      case 'awaitsInitialize':
        return [{ kind: 'initialize-missing', ageMs }];
      case 'awaitsInitialized':
        return [{ kind: 'initialized-missing', ageMs: quietMs }];
      case 'settling':
      case 'aborting':
      case 'flushing':
        return [{ kind: tag, calls: length }];
      case 'closed':
        return [{ kind: 'closed' }];
      case 'operating':
        return [];
    }
  });
}

function output({ queues: { outboundBytes, holds } }: SessionDump): Cause[] {
  const { count: bytes } = outboundBytes;
  if (holds.includes('output')) return [{ kind: 'output-blocked', bytes }];
  return bytes === 0 ? [] : [{ kind: 'output-queued', bytes }];
}

function preparation({ queues: { holds, waiting } }: SessionDump): Cause[] {
  return holds.includes('preparation') ? [{ kind: 'preparation', waiting: waiting.count }] : [];
}

/** Oldest first, as the dump has them. */
function questions({ pending, calls }: SessionDump): Question[] {
  return pending.map((subject) => {
    const askedBy = calls.find((call) => asks(call, subject));
    const { ageMs, leftMs } = subject;
    return { kind: 'question', subject, ...(askedBy ? { askedBy } : {}), ageMs, leftMs };
  });
}

function asks(call: CallDump, { relatedTo, taskId }: PendingDump): boolean {
  return taskId === undefined
    ? call.taskId === undefined && call.id === relatedTo
    : call.taskId === taskId;
}

/** Bounds that are reached. */
function bounds({ calls, queues: { running, waiting, pending, tasks } }: SessionDump): Cause[] {
  const causes: Cause[] = [];
  if (running.count >= running.max && waiting.count > 0) {
    const subject = calls.find(({ state, taskId }) => state === 'running' && !taskId);
    causes.push({
      kind: 'running-full',
      waiting: waiting.count,
      ...(subject ? { subject } : {}),
    });
  }
  if (pending.count >= pending.max) causes.push({ kind: 'pending-full' });
  if (tasks.count >= tasks.max) causes.push({ kind: 'tasks-full' });
  return causes;
}

function work({ calls }: SessionDump): Cause[] {
  const quiet = (state: CallDump['state'], kind: 'task' | 'work') =>
    calls
      .filter((call) => call.state === state && call.openQuestions === 0)
      .map((subject): Cause => ({ kind, subject, ageMs: subject.ageMs }));
  return [...quiet('parked', 'task'), ...quiet('running', 'work')];
}

function roots({ roots: { status, problem } }: SessionDump): Cause[] {
  return status === 'failed' ? [{ kind: 'roots-failed', problem }] : [];
}
