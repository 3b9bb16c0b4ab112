/** Text form of a dump's HTTP part. */
import { printableName } from '../../../src/protocol/printable.ts';
import type { HttpCause } from './causes.ts';
import type { HttpSessionView, HttpStreamView } from '../../../src/actors/writer/http-view.ts';
import { formatCount, isQuietSession, formatBytes, formatDuration } from './format.ts';
import type { SessionDump } from './session-dump.ts';

/** Describes why an HTTP connection stalls a session. */
export function describeHttpCause(cause: HttpCause): string {
  switch (cause.kind) {
    case 'stream-unread':
      return `The client does not read ${streamName(cause.subject)}: it has taken none of ${formatBytes(cause.bytes)} for ${formatDuration(cause.ageMs)}`;
    case 'stream-cut':
      return `The client was cut off from ${streamName(cause.subject)} ${formatDuration(cause.ageMs)} ago and has not come back`;
    case 'push-waiting':
      return `The client has no stream of its own: ${formatCount(cause.count, 'message')} ${cause.count === 1 ? 'waits' : 'wait'} for a GET`;
  }
}

/** Lines of a dump's text; empty if the session is not over HTTP. */
export function httpLines({ http }: SessionDump): string[] {
  if (!http) return [];
  if (http.kind === 'session') return sessionLines(http);
  const { served, due, dueOf } = http;
  const whose = Object.entries(dueOf).map(([id, count]) => `${count} of ${printableName(id)}`);
  const by = whose.length === 0 ? '' : ` (${shortList(whose)})`;
  return [
    `HTTP: requests without a session; ${served} have come, ${due} ${due === 1 ? 'waits' : 'wait'} for an answer${by}`,
  ];
}

/** Row of the stream list. */
export function streamRow(stream: HttpStreamView): string {
  const { kind, name, state, ageMs, unreadBytes, unreadMs, keptEvents, principal } = stream;
  const unread =
    unreadBytes === 0
      ? ''
      : `, ${formatBytes(unreadBytes)} not read for ${formatDuration(unreadMs)}`;
  const kept = keptEvents === 0 ? '' : `, ${formatCount(keptEvents, 'event')} kept`;
  const whose = principal === undefined ? '' : `, of ${printableName(principal)}`;
  const what = kind === 'get' ? 'GET' : `POST ${answersOf(stream)}`;
  const which = name === undefined ? 'stream' : `stream ${printableName(name)}`;
  return `${which} (${what}): ${state} for ${formatDuration(ageMs)}${unread}${kept}${whose}`;
}

function sessionLines(http: HttpSessionView): string[] {
  const { id, state, quietMs, principal, due, waitingPushes, keptEvents, keptBytes } = http;
  const whose = principal === undefined ? '' : `, of the principal ${printableName(principal)}`;
  const idle = isQuietSession(state) ? ` for ${formatDuration(quietMs)}` : '';
  const posts = due === 0 ? '' : `; ${formatCount(due, 'POST')} not answered yet`;
  return [
    `HTTP: session ${id} ${state}${idle}${whose}${posts}`,
    `Messages that wait for a GET stream: ${waitingPushes.count} of ${waitingPushes.max}`,
    `Kept to be repeated: ${keptEvents.count} of ${keptEvents.max} events, ${formatBytes(keptBytes.count)} of ${formatBytes(keptBytes.max)}`,
  ];
}

function streamName(stream: HttpStreamView): string {
  return stream.kind === 'get' ? 'its GET stream' : `the answer to ${answersOf(stream)}`;
}

function answersOf({ answers }: HttpStreamView): string {
  return shortList(answers.map((id) => printableName(String(id)))) || 'a request';
}

/** Maximum number of listed names. */
const maxNames = 5;

function shortList(names: readonly string[]): string {
  const rest = names.length - maxNames;
  const said = names.slice(0, maxNames).join(', ');
  return rest > 0 ? `${said} and ${rest} more` : said;
}
