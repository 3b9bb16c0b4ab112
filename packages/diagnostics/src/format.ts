/** Quantities, and what is said in more than one place, in the words of a text for people. */

import type { DurableRunStatus } from '../../../src/actors/request-context.ts';
import type { HttpView } from '../../../src/actors/writer/http-view.ts';

/** When a client is asked for its roots that has no stream of its own. */
export const deferredRoots =
  'asked for with the next call that needs them: the client has no stream of its own';

/** `850 ms`, `42 s`, `9 min 18 s`, `2 h 5 min`. */
export function formatDuration(ms: number): string {
  if (ms < 1000) return `${Math.max(0, Math.round(ms))} ms`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return withRest(minutes, 'min', seconds % 60, 's');
  return withRest(Math.floor(minutes / 60), 'h', minutes % 60, 'min');
}

/** When a peer was last heard, as the rest of a sentence. */
export function formatLastHeard(
  { quietMs, isUnheard }: { readonly quietMs: number; readonly isUnheard?: true },
  inWords = formatDuration,
): string {
  return isUnheard ? 'not heard yet' : `last heard ${inWords(quietMs)} ago`;
}

/** `17 B`, `4 KiB`, `16.5 MiB`. */
export function formatBytes(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  const [unit, factor] = bytes < 1024 ** 2 ? ['KiB', 1024] : ['MiB', 1024 ** 2];
  return `${Math.round((bytes / factor) * 10) / 10} ${unit}`;
}

/** `1 request`, `3 requests`. */
export function formatCount(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

/** What work waits for that can go on elsewhere, as the rest of "waits for"; undefined if for nothing that is known. */
export function formatWait({
  questions = [],
  dueInMs,
}: Partial<DurableRunStatus>): string | undefined {
  const due = dueInMs === undefined ? undefined : formatDuration(dueInMs);
  if (questions.length === 0) return due && `a timer, due in ${due}`;
  return `an answer to ${questions.join(', ')}${due === undefined ? '' : `, ${due} at most`}`;
}

/** How many tasks were given up, as a part of a sentence. */
export function formatAbandoned(count: number): string {
  return `${count} ${count === 1 ? 'was' : 'were'} given up here until due`;
}

/** How a session over HTTP stands, in a few words. */
export function formatHttpState(http: HttpView): string {
  if (http.kind === 'requests') {
    return `requests without a session, ${http.served} so far, ${http.due} not answered yet`;
  }
  const open = http.streams.filter(({ state }) => state === 'open').length;
  const idle = isQuietSession(http.state) ? ` for ${formatDuration(http.quietMs)}` : '';
  return `${http.state}${idle}, ${formatCount(open, 'stream')} open`;
}

/** Whether nothing of a session in this state is in progress. */
export function isQuietSession(state: string): boolean {
  return state === 'idle' || state === 'unused';
}

function withRest(whole: number, unit: string, rest: number, restUnit: string): string {
  return rest === 0 ? `${whole} ${unit}` : `${whole} ${unit} ${rest} ${restUnit}`;
}

/** A session or a connection in one sentence. */
export interface Headline {
  /**
   * `waiting`: for the peer, or for a connection to it. `failed`: there is no connection, and none is
   * made by itself. `working`: handlers run. `idle`: there is nothing to do. `ended`: it has ended or
   * is ending.
   */
  readonly mood: 'waiting' | 'failed' | 'working' | 'idle' | 'ended';
  /** A sentence without ages and other figures that change all the time. */
  readonly sentence: string;
  /** The age of the oldest thing that it waits for or works on, milliseconds. */
  readonly ageMs?: number;
  /** The time until it times out, milliseconds; of a backoff, until the next attempt. */
  readonly leftMs?: number;
  /** What is then: it is given up, unless this says otherwise. */
  readonly ends?: 'tried again';
}
