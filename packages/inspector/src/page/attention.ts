/**
 * Decides what needs a person's attention: which session, which chart, and why a call is blocked.
 */
import { causesOf, headlineOf } from 'mcp-actors';
import type { SessionDump } from 'mcp-actors';
import type { ConnectionDump } from 'mcp-actors/client';
import { Method, inWords } from 'mcp-actors/internal';
import type { PageCall } from '../page-messages.ts';
import { durationText } from './durations.ts';

type Cause = ReturnType<typeof causesOf>[number];
type Mood = ReturnType<typeof headlineOf>['mood'];

const ranks: { readonly [mood in Mood]: number } = {
  ...{ waiting: 4, failed: 3, working: 2, idle: 1, ended: 0 },
};

/** Fields compared to rank sessions. */
interface Candidate {
  readonly dump: SessionDump | ConnectionDump;
  readonly closed: string | undefined;
}

/**
 * Returns the session or connection that matters most: one waiting for its peer, then a failed one,
 * then a working one, then any open one. Ties between waiting or working sessions go to the longest
 * wait; other ties go to the newest.
 */
export function mostUrgent<T extends Candidate>(sessions: readonly T[]): T | undefined {
  const [first] = sessions
    .map((session, at) => {
      const { mood, ageMs = 0 } = headlineOf(session.dump);
      return { session, rank: session.closed === undefined ? ranks[mood] : 0, ageMs, at };
    })
    .sort((a, b) => b.rank - a.rank || b.ageMs - a.ageMs || b.at - a.at);
  return first?.session;
}

/** True if the session waits for its peer or has failed. */
export function isUrgent({ dump, closed }: Candidate): boolean {
  const { mood } = headlineOf(dump);
  return closed === undefined && (mood === 'waiting' || mood === 'failed');
}

/**
 * Name of the machine whose chart best explains the current wait: `session` or `connection` unless
 * another shows more.
 */
export function followedChart(dump: SessionDump | ConnectionDump): string {
  if (dump.side === 'host') return followedOfHost(dump);
  const causes = causesOf(dump);
  const isOperating = dump.tags.some((tag) => tag === 'operating' || tag === 'stateless');
  const names = isOperating
    ? causes.map((cause) => (calledMachine(cause) ? 'tool' : chartOf(cause, dump)))
    : [];
  // Calls that need the roots wait for the roots query, so it comes first.
  return names.find((name) => name === 'roots') ?? names.find((name) => name) ?? 'session';
}

/** Machine that sends each list method. */
const lists: { readonly [method: string]: string } = {
  'tools/list': 'tools list',
  'prompts/list': 'prompts list',
  'resources/list': 'resources list',
  'resources/templates/list': 'resourceTemplates list',
};

function followedOfHost({ state, pending, actors }: ConnectionDump): string {
  const isThere = (name: string) => actors.some(({ id }) => id === name);
  if (state.endsWith('authorizing') && isThere('authorization')) return 'authorization';
  const isOpening = /(?:opening|clearing|lost|stopping)$/.test(state);
  if (isOpening && isThere('process')) return 'process';
  const asked = pending.flatMap(({ method }) => lists[method] ?? []);
  return asked.find(isThere) ?? 'connection';
}

/** The tool machine of the blocked call. */
function calledMachine(cause: Cause): PageCall['machine'] {
  switch (cause.kind) {
    case 'question':
      return cause.askedBy?.machine;
    case 'suspended':
    case 'work':
      return cause.subject.machine;
    default:
      return undefined;
  }
}

function chartOf(cause: Cause, { actors }: SessionDump): string | undefined {
  switch (cause.kind) {
    case 'question': {
      const { method, taskId } = cause.subject;
      if (method === Method.rootsList) return 'roots';
      const keepsAlive = method === Method.ping && actors.some(({ id }) => id === 'keepalive');
      if (keepsAlive) return 'keepalive';
      return taskId === undefined ? 'session' : 'task';
    }
    case 'roots':
    case 'task':
      return cause.kind;
    case 'task-input':
      return 'task';
    case 'work':
      return cause.subject.taskId === undefined ? undefined : 'task';
    default:
      return undefined;
  }
}

/**
 * True for a request that stays open until its stream ends, so that nobody waits for a response.
 */
export function isSubscription({ method }: { readonly method: string }): boolean {
  return method === Method.listen;
}

/** What a call waits for, or that its handler is running. */
export interface Wait {
  readonly on: 'client' | 'roots' | 'slot' | 'task' | 'nothing';
  readonly words: string;
}

/** @param elapsedMs time since the dump was made */
export function waitOf(
  call: PageCall,
  dump: SessionDump | ConnectionDump,
  elapsedMs: number,
): Wait {
  if (dump.side === 'host') return waitOnHost(call, dump);
  if (isSubscription(call)) return { on: 'nothing', words: 'open until the client ends it' };
  if (call.state === 'suspended') {
    const asked = inWords.formatCount(call.openQuestions, 'answer');
    const { suspendedMs: ageMs = 0, leftMs = 0, questions = [] } = call;
    const what = questions.length === 0 ? '' : ` to ${questions.join(', ')}`;
    const since = ages({ state: 'sent', ageMs, leftMs }, elapsedMs);
    return {
      on: 'client',
      words: `suspended: waiting for the retry with ${asked}${what}, ${since}`,
    };
  }
  if (call.state === 'waiting') return { on: 'slot', words: queuePosition(call, dump) };
  const asked = causesOf(dump).flatMap((cause) =>
    cause.kind === 'question' && cause.askedBy === call ? [cause.subject] : [],
  );
  const [oldest] = asked.sort((a, b) => b.ageMs - a.ageMs);
  if (oldest) {
    const what = asked.length === 1 ? oldest.method : `${asked.length} × ${oldest.method}`;
    return { on: 'client', words: `waiting for the client: ${what}, ${ages(oldest, elapsedMs)}` };
  }
  if (call.awaitsRoots) return { on: 'roots', words: rootsWait(dump, elapsedMs) };
  if (call.state === 'parked') return { on: 'task', words: 'waiting for its task to end' };
  return { on: 'nothing', words: 'handler running' };
}

/** A person or the host's model answers a server's requests. */
function waitOnHost({ state }: PageCall, { queues: { running } }: ConnectionDump): Wait {
  if (state !== 'waiting') return { on: 'nothing', words: 'the host is answering' };
  return { on: 'slot', words: `queued: ${running.count} of ${running.max} slots in use` };
}

function queuePosition(call: PageCall, { calls, queues, tags }: SessionDump): string {
  const { holds, running } = queues;
  if (holds.includes('output')) return 'waiting for the client to read pending output';
  if (tags.includes('awaitsInitialized')) return 'waiting for notifications/initialized';
  const line = calls.filter(({ state }) => state === 'waiting');
  const place = line.indexOf(call) + 1;
  return `queued: position ${place}, ${running.count} of ${running.max} slots in use`;
}

function rootsWait({ pending, roots }: SessionDump, elapsedMs: number): string {
  const query = pending.find(({ method }) => method === Method.rootsList);
  if (!query) {
    const isDeferred = roots.tags.includes('deferred');
    return `waiting for the roots: ${isDeferred ? inWords.deferredRoots : roots.state}`;
  }
  return `waiting for the roots: ${Method.rootsList}, ${ages(query, elapsedMs)}`;
}

function ages(
  { state, ageMs, leftMs }: Pick<SessionDump['pending'][number], 'state' | 'ageMs' | 'leftMs'>,
  elapsedMs: number,
): string {
  const since = durationText(ageMs + elapsedMs);
  const asked = state === 'held' ? `held for ${since}` : `sent ${since} ago`;
  return `${asked}, times out in ${durationText(leftMs - elapsedMs)}`;
}
