/** Causes why a session is stalled, derived from its dump. */
import type { HttpStreamView } from '../../../src/actors/writer/http-view.ts';
import { isLongLived } from './peer-dump.ts';
import type { CallDump, PendingDump } from './peer-dump.ts';
import type { SessionDump } from './session-dump.ts';

/** A cause of a stalled session. Times in milliseconds. */
export type Cause =
  /** The client has not sent `initialize` yet. */
  | { readonly kind: 'initialize-missing'; readonly ageMs: number }
  /** The client has not sent `notifications/initialized`; `ageMs` ago it sent its last message. */
  | { readonly kind: 'initialized-missing'; readonly ageMs: number }
  /**
   * The session is draining. `settling`: calls may still finish. `aborting`: calls are cancelled and clean up. `flushing`:
   * calls have ended, and the remaining output is being written.
   */
  | { readonly kind: 'settling' | 'aborting' | 'flushing'; readonly calls: number }
  | { readonly kind: 'closed' }
  /** The client does not read. No request is started until its output is read. */
  | { readonly kind: 'output-blocked'; readonly bytes: number }
  /** Output is queued until the client reads it. Requests are still started. */
  | { readonly kind: 'output-queued'; readonly bytes: number }
  | Question
  | Suspension
  | HttpCause
  /** A task has asked its client a question, which the client answers when it polls. */
  | { readonly kind: 'task-input'; readonly subject: CallDump; readonly ageMs: number }
  /** The limit of running requests is reached, and others are queued. */
  | { readonly kind: 'running-full'; readonly waiting: number; readonly subject?: CallDump }
  /** The limit of pending requests to the client is reached. */
  | { readonly kind: 'pending-full' }
  /** The limit of running tasks is reached. */
  | { readonly kind: 'tasks-full' }
  /**
   * `task`: a call waits for its task. `roots`: a handler waits for the client's roots. `work`: a handler runs without an
   * open question.
   */
  | { readonly kind: 'task' | 'roots' | 'work'; readonly subject: CallDump; readonly ageMs: number }
  /** The roots query failed. */
  | { readonly kind: 'roots-failed'; readonly problem: string | undefined };

/** A client does not read its output over HTTP. */
export type HttpCause =
  /** The client does not read an open stream; it last did `ageMs` ago. */
  | {
      readonly kind: 'stream-unread';
      readonly subject: HttpStreamView;
      readonly bytes: number;
      readonly ageMs: number;
    }
  /** An unfinished stream was cut, and the client has not resumed it. */
  | { readonly kind: 'stream-cut'; readonly subject: HttpStreamView; readonly ageMs: number }
  /** Messages are queued for a GET stream, which the client has not opened. */
  | { readonly kind: 'push-waiting'; readonly count: number };

/** A request to the client is unanswered. */
export interface Question {
  /** Discriminator of {@link Cause}. */
  readonly kind: 'question';
  /** The unanswered request. */
  readonly subject: PendingDump;
  /** The call or task that asked. */
  readonly askedBy?: CallDump;
  /** Waiting time, milliseconds. */
  readonly ageMs: number;
  /** Remaining time until the timeout. */
  readonly leftMs: number;
}

/** A call returned `input_required` and awaits the client's retry. */
export interface Suspension {
  readonly kind: 'suspended';
  readonly subject: CallDump;
  /** Time since the question. */
  readonly ageMs: number;
  /** Remaining time until the call is ended. */
  readonly leftMs: number;
}

/** True for the service shared by all clients without a session, which waits for no client. */
export function isShared({ http }: Pick<SessionDump, 'http'>): boolean {
  return http?.kind === 'requests';
}

/**
 * All causes, most immediate first. Empty if the session is idle.
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

/** Time within which a reading client accepts output, milliseconds. */
const longReadMs = 2000;

function connections({ http }: SessionDump): HttpCause[] {
  if (!http) return [];
  const causes = http.streams.flatMap((subject): HttpCause[] => {
    const { kind, state, ageMs, unreadBytes: bytes, unreadMs } = subject;
    if (bytes > 0 && unreadMs > longReadMs)
      return [{ kind: 'stream-unread', subject, bytes, ageMs: unreadMs }];
    // A GET stream is optional.
    return state === 'cut' && kind === 'post' ? [{ kind: 'stream-cut', subject, ageMs }] : [];
  });
  const count = http.kind === 'session' ? http.waitingPushes.count : 0;
  return count === 0 ? causes : [...causes, { kind: 'push-waiting', count }];
}

/** Unanswered requests, oldest first as in the dump. */
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

/** Tasks with questions that are not among the session's requests. */
function taskInputs({ calls, pending }: SessionDump): Cause[] {
  return calls.flatMap((subject): Cause[] => {
    const { taskId, openQuestions, ageMs } = subject;
    const isPolled = taskId !== undefined && openQuestions > 0;
    if (!isPolled || pending.some((question) => asks(subject, question))) return [];
    return [{ kind: 'task-input', subject, ageMs }];
  });
}

/** Causes for reached limits. */
function bounds({ calls, queues: { running, waiting, pending, tasks } }: SessionDump): Cause[] {
  const causes: Cause[] = [];
  // In a shared session, one client may have reached its limit while others are idle.
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
