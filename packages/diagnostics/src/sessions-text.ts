/** Text report of many sessions: stalled ones in detail, idle ones counted. */
import { printableName } from '../../../src/protocol/printable.ts';
import { causesOf, isShared } from './causes.ts';
import { explainDump } from './dump-text.ts';
import { formatCount, formatHttpState, isQuietSession, formatDuration } from './format.ts';
import type { SessionDump } from './session-dump.ts';

/** Address of an HTTP endpoint, and its session limit. */
export interface ServedEndpoint {
  readonly url: string;
  readonly maxSessions: number;
}

/** Snapshot of an endpoint. */
export interface EndpointDump {
  readonly url: string;
  /** Number of open sessions, and the limit. */
  readonly sessions: { readonly count: number; readonly max: number };
  /** Number of idle sessions. */
  readonly idle: number;
  readonly streams: { readonly open: number; readonly cut: number };
  /** Requests without a session: total and unanswered. */
  readonly requests: { readonly served: number; readonly due: number };
}

/** Sums up the sessions of one endpoint. */
export function dumpEndpoint(
  { url, maxSessions }: ServedEndpoint,
  dumps: readonly SessionDump[],
): EndpointDump {
  const views = dumps.flatMap(({ http }) => http ?? []);
  const sessions = views.filter((view) => view.kind === 'session');
  const requests = views.filter((view) => view.kind === 'requests');
  const streams = views.flatMap((view) => view.streams);
  const inState = (wanted: string) => streams.filter(({ state }) => state === wanted).length;
  return {
    url,
    sessions: { count: sessions.length, max: maxSessions },
    idle: sessions.filter(({ state }) => isQuietSession(state)).length,
    streams: { open: inState('open'), cut: inState('cut') },
    requests: {
      served: requests.reduce((sum, { served }) => sum + served, 0),
      due: requests.reduce((sum, { due }) => sum + due, 0),
    },
  };
}

/** Formats an endpoint as one line with a line feed. */
export function describeEndpoint({ url, sessions, idle, streams, requests }: EndpointDump): string {
  const cut = streams.cut === 0 ? '' : `, ${streams.cut} cut`;
  return `${url}: ${sessions.count} of ${sessions.max} sessions open, ${idle} idle; ${formatCount(streams.open, 'stream')} open${cut}; ${formatCount(requests.served, 'request')} without a session, ${requests.due} not answered yet\n`;
}

/** Maximum number of sessions listed. */
const maxLines = 50;

/** Sorts stalled sessions first, longest first. */
export function mostUrgentFirst(dumps: readonly SessionDump[]): readonly SessionDump[] {
  return dumps
    .map((dump) => ({ dump, ageMs: longestOf(dump) }))
    .sort((one, other) => other.ageMs - one.ageMs)
    .map(({ dump }) => dump);
}

/**
 * Formats a line per stalled session; the others are counted. The service for clients without a session is shown only if
 * stalled.
 * @param dumps the most urgent first
 */
export function describeSessions(dumps: readonly SessionDump[]): string {
  const held = dumps.filter((dump) => longestOf(dump) >= 0);
  const lines = held.slice(0, maxLines).map((dump) => `  ${sessionLine(dump)}\n`);
  const more = held.length - lines.length;
  if (more > 0) lines.push(`  … and ${formatCount(more, 'session')} more like these\n`);
  const resting = dumps.filter((dump) => longestOf(dump) < 0 && !isShared(dump));
  if (resting.length > 0) lines.push(`  ${describeSuspended(resting)}\n`);
  return lines.join('');
}

function sessionLine(dump: SessionDump): string {
  const { client, http, id, state } = dump;
  const who = client ? ` ${printableName(client.name)} ${printableName(client.version)}` : '';
  const name = http?.kind === 'session' ? http.id : id.slice(0, 8);
  const how = http ? formatHttpState(http) : state;
  const [first = '', ...others] = explainDump(dump);
  const more = others.length === 0 ? '' : ` (and ${others.length} more)`;
  return `${name}${who}, ${how}: ${first}${more}`;
}

function describeSuspended(resting: readonly SessionDump[]): string {
  const longest = resting.reduce((most, { quietMs }) => Math.max(most, quietMs), 0);
  const wait =
    resting.length === 1 ? 'session waits for its client' : 'sessions wait for their clients';
  return `${resting.length} ${wait}, the longest for ${formatDuration(longest)}`;
}

/** Duration of a stall, milliseconds; -1 if there is none. */
function longestOf(dump: SessionDump): number {
  const ages = causesOf(dump).map((cause) => ('ageMs' in cause ? cause.ageMs : 0));
  return Math.max(-1, ...ages);
}
