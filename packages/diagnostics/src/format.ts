/** Formatting of quantities and shared phrases for people. */

import type { DurableRunStatus } from '../../../src/actors/request-context.ts';
import type { HttpView } from '../../../src/actors/writer/http-view.ts';

/** Phrase: when a client without a standalone stream is asked for its roots. */
export const deferredRoots =
  'asked for with the next call that needs them: the client has no stream of its own';

/** Formats a duration: `850 ms`, `42 s`, `9 min 18 s`, `2 h 5 min`. */
export function formatDuration(ms: number): string {
  if (ms < 1000) return `${Math.max(0, Math.round(ms))} ms`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return withRest(minutes, 'min', seconds % 60, 's');
  return withRest(Math.floor(minutes / 60), 'h', minutes % 60, 'min');
}

/** Phrase: time of the peer's last message. */
export function formatLastHeard(
  { quietMs, isUnheard }: { readonly quietMs: number; readonly isUnheard?: true },
  inWords = formatDuration,
): string {
  return isUnheard ? 'not heard yet' : `last heard ${inWords(quietMs)} ago`;
}

/** Formats a size: `17 B`, `4 KiB`, `16.5 MiB`. */
export function formatBytes(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  const [unit, factor] = bytes < 1024 ** 2 ? ['KiB', 1024] : ['MiB', 1024 ** 2];
  return `${Math.round((bytes / factor) * 10) / 10} ${unit}`;
}

/** Formats a count with its noun: `1 request`, `3 requests`. */
export function formatCount(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

/** Waits of a durable run, to follow "waits for"; undefined if there are none. */
export function formatWait({
  questions = [],
  dueInMs,
}: Partial<DurableRunStatus>): string | undefined {
  const due = dueInMs === undefined ? undefined : formatDuration(dueInMs);
  if (questions.length === 0) return due && `a timer, due in ${due}`;
  return `an answer to ${questions.join(', ')}${due === undefined ? '' : `, ${due} at most`}`;
}

/** Phrase: number of parked tasks. */
export function formatAbandoned(count: number): string {
  return `${count} ${count === 1 ? 'was' : 'were'} given up here until due`;
}

/** Short status of an HTTP session. */
export function formatHttpState(http: HttpView): string {
  if (http.kind === 'requests') {
    return `requests without a session, ${http.served} so far, ${http.due} not answered yet`;
  }
  const open = http.streams.filter(({ state }) => state === 'open').length;
  const idle = isQuietSession(http.state) ? ` for ${formatDuration(http.quietMs)}` : '';
  return `${http.state}${idle}, ${formatCount(open, 'stream')} open`;
}

/** True if nothing is in progress in this state. */
export function isQuietSession(state: string): boolean {
  return state === 'idle' || state === 'unused';
}

function withRest(whole: number, unit: string, rest: number, restUnit: string): string {
  return rest === 0 ? `${whole} ${unit}` : `${whole} ${unit} ${rest} ${restUnit}`;
}

/** Headline of a session or connection. */
export interface Headline {
  /**
   * `waiting`: for the peer or a connection. `failed`: no connection and no retry. `working`: handlers run. `idle`: nothing
   * to do. `ended`: ended or ending.
   */
  readonly mood: 'waiting' | 'failed' | 'working' | 'idle' | 'ended';
  /** Sentence without ages and other volatile figures. */
  readonly sentence: string;
  /** Age of the oldest wait or work, milliseconds. */
  readonly ageMs?: number;
  /** Remaining time until the timeout or the next attempt, milliseconds. */
  readonly leftMs?: number;
  /** Outcome at the deadline. Default: failure. */
  readonly ends?: 'tried again';
}
