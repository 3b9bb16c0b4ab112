/** Why a session does not go on, read from its dump, for all texts and programs that tell it. */
import type { HttpStreamView } from '../../../src/actors/writer/http-view.ts';
import { isLongLived } from './peer-dump.ts';
import type { CallDump, PendingDump } from './peer-dump.ts';
import type { SessionDump } from './session-dump.ts';

/** A reason why a session does not go on. Times are milliseconds. */
export type Cause =
  /** The client has not sent `initialize` since the session started. */
  | { readonly kind: 'initialize-missing'; readonly ageMs: number }
  /** The client has not sent `notifications/initialized`; `ageMs` ago it sent its last message. */
  | { readonly kind: 'initialized-missing'; readonly ageMs: number }
  /**
   * The session is draining. `settling`: calls may still end by themselves. `aborting`: they are
   * cancelled, and clean up. `flushing`: they have ended, and the rest of the output is being
   * written.
   */
  | { readonly kind: 'settling' | 'aborting' | 'flushing'; readonly calls: number }
  | { readonly kind: 'closed' }
  /** The client does not read. No request is started until it has read the output. */
  | { readonly kind: 'output-blocked'; readonly bytes: number }
  /** Output waits until the client reads it. Requests are still started. */
  | { readonly kind: 'output-queued'; readonly bytes: number }
  | Question
  | Suspension
  | HttpCause
  /** The work of a task has asked its client, which answers when it looks at its tasks. */
  | { readonly kind: 'task-input'; readonly subject: CallDump; readonly ageMs: number }
  /** The limit of running requests is reached, and others wait for a place. */
  | { readonly kind: 'running-full'; readonly waiting: number; readonly subject?: CallDump }
  /** The limit of pending requests to the client is reached. */
  | { readonly kind: 'pending-full' }
  /** The limit of running tasks is reached. */
  | { readonly kind: 'tasks-full' }
  /**
   * `task`: a call waits for its task to end. `roots`: a handler waits until the client's roots are
   * known. `work`: a handler runs and asks the client nothing.
   */
  | { readonly kind: 'task' | 'roots' | 'work'; readonly subject: CallDump; readonly ageMs: number }
  /** Asking for the client's roots failed. */
  | { readonly kind: 'roots-failed'; readonly problem: string | undefined };

/** Over HTTP, a client does not take what it is sent. */
export type HttpCause =
  /** The client does not read a stream that is open; `ageMs` ago it has taken something of it. */
  | {
      readonly kind: 'stream-unread';
      readonly subject: HttpStreamView;
      readonly bytes: number;
      readonly ageMs: number;
    }
  /** A stream was cut that is not at its end, and the client has not come back to it. */
  | { readonly kind: 'stream-cut'; readonly subject: HttpStreamView; readonly ageMs: number }
  /** The client has no GET stream, and messages wait for one. */
  | { readonly kind: 'push-waiting'; readonly count: number };

/** The client has not answered a request of the session. */
export interface Question {
  /** Tells it from other causes. */
  readonly kind: 'question';
  /** The request that waits for its answer. */
  readonly subject: PendingDump;
  /** The call, or the task's work, that asked. */
  readonly askedBy?: CallDump;
  /** For how long it has waited, milliseconds. */
  readonly ageMs: number;
  /** The time until it times out. */
  readonly leftMs: number;
}

/** A call has asked its client by ending, and waits for the retry that brings the answers. */
export interface Suspension {
  readonly kind: 'suspended';
  readonly subject: CallDump;
  /** The time since it has asked. */
  readonly ageMs: number;
  /** The time until it is ended. */
  readonly leftMs: number;
}

/** True for the service that all clients without a session share: it waits for none of them. */
export function isShared({ http }: Pick<SessionDump, 'http'>): boolean {
  return http?.kind === 'requests';
}

/**
 * All causes, the nearest first. If there are none, the session waits for its client to ask
 * something.
 */
export function causesOf(dump: SessionDump): readonly Cause[] {
  return [
    ...lifecycle(dump),
    ...output(dump),
    ...connections(dump),
    ...questions(dump),
    ...suspensions(dump),
    ...taskInputs(dump),
    ...bounds(dump),
    ...work(dump),
    ...roots(dump),
  ];
}

function lifecycle(dump: SessionDump): Cause[] {
  const { tags, ageMs, quietMs, calls } = dump;
  const { length } = calls;
  return tags.flatMap((tag): Cause[] => {
    switch (tag) {
      case 'awaitsInitialize':
        return isShared(dump) ? [] : [{ kind: 'initialize-missing', ageMs }];
      case 'awaitsInitialized':
        return [{ kind: 'initialized-missing', ageMs: quietMs }];
      case 'settling':
      case 'aborting':
      case 'flushing':
        return [{ kind: tag, calls: length }];
      case 'closed':
        return [{ kind: 'closed' }];
      case 'operating':
      case 'stateless':
        return [];
    }
  });
}

function output({ queues: { outboundBytes, holds } }: SessionDump): Cause[] {
  const { count: bytes } = outboundBytes;
  if (holds.includes('output')) return [{ kind: 'output-blocked', bytes }];
  return bytes === 0 ? [] : [{ kind: 'output-queued', bytes }];
}

/** A client that reads takes what it is sent within this time. */
const longReadMs = 2000;

function connections({ http }: SessionDump): HttpCause[] {
  if (!http) return [];
  const causes = http.streams.flatMap((subject): HttpCause[] => {
    const { kind, state, ageMs, unreadBytes: bytes, unreadMs } = subject;
    if (bytes > 0 && unreadMs > longReadMs)
      return [{ kind: 'stream-unread', subject, bytes, ageMs: unreadMs }];
    // A client may do without a GET stream.
    return state === 'cut' && kind === 'post' ? [{ kind: 'stream-cut', subject, ageMs }] : [];
  });
  const count = http.kind === 'session' ? http.waitingPushes.count : 0;
  return count === 0 ? causes : [...causes, { kind: 'push-waiting', count }];
}

/** The oldest first, as in the dump. */
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

function suspensions({ calls }: SessionDump): Suspension[] {
  return calls.flatMap((subject) => {
    const { state, suspendedMs: ageMs = 0, leftMs = 0 } = subject;
    return state === 'suspended' ? [{ kind: 'suspended', subject, ageMs, leftMs }] : [];
  });
}

/** Tasks whose questions are nowhere among the session's requests. */
function taskInputs({ calls, pending }: SessionDump): Cause[] {
  return calls.flatMap((subject): Cause[] => {
    const { taskId, openQuestions, ageMs } = subject;
    const isPolled = taskId !== undefined && openQuestions > 0;
    if (!isPolled || pending.some((question) => asks(subject, question))) return [];
    return [{ kind: 'task-input', subject, ageMs }];
  });
}

/** The limits that are reached. */
function bounds({ calls, queues: { running, waiting, pending, tasks } }: SessionDump): Cause[] {
  const causes: Cause[] = [];
  // If many share the session, one of them may have all that it may have while others have none.
  const isFull = running.count >= (running.maxOfEach ?? running.max);
  if (isFull && waiting.count > 0) {
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
  const kindOf = (call: CallDump) => {
    const { state, openQuestions, awaitsRoots } = call;
    if (openQuestions > 0 || isLongLived(call)) return undefined;
    if (state === 'parked') return 'task';
    if (state !== 'running') return undefined;
    return awaitsRoots ? 'roots' : 'work';
  };
  return (['task', 'roots', 'work'] as const).flatMap((kind) =>
    calls
      .filter((call) => kindOf(call) === kind)
      .map((subject): Cause => ({ kind, subject, ageMs: subject.ageMs })),
  );
}

function roots({ roots: { status, problem } }: SessionDump): Cause[] {
  return status === 'failed' ? [{ kind: 'roots-failed', problem }] : [];
}
