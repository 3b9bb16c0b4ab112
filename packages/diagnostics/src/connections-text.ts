/** Text report of a host's connections. */
import { printable, printableName } from '../../../src/protocol/printable.ts';
import type { ConnectionDump } from './connection-dump.ts';
import { formatCount, formatLastHeard, formatBytes, formatDuration } from './format.ts';
import { isLongLived } from './peer-dump.ts';
import type { CallDump, PendingDump } from './peer-dump.ts';
import { redactText } from './redaction.ts';

/** A server of a host, with or without a connection. */
export interface HostedDump {
  readonly name: string;
  /** State of the connection; `idle` or `disabled` without one. */
  readonly state: string;
  readonly launches: number;
  /** Why there is no connection, with the tail of the server's stderr. */
  readonly error?: string;
  /** Dump of the connection, if there is one. */
  readonly connection?: ConnectionDump;
}

const maxErrorCharacters = 1000;
/** Maximum number of listed items. The JSON form has all. */
const maxRows = 20;

/** Formats each connection, unhealthy ones first, with its requests in flight and lists. */
export function describeConnections(dumps: readonly HostedDump[]): string {
  const isWell = ({ state }: HostedDump) => Number(state === 'ready' || state === 'idle');
  const lines = dumps
    .toSorted((a, b) => isWell(a) - isWell(b))
    .flatMap((dump) => [
      `connection ${printableName(dump.name)}: ${standing(dump)}`,
      ...details(dump).map((line) => `  ${line}`),
    ]);
  return lines.length === 0 ? 'No connection is open\n' : `${lines.join('\n')}\n`;
}

function standing({ state, launches, error, connection }: HostedDump): string {
  const { sinceMs, leftMs, attempt = 0, delayMs, server, pending = [] } = connection ?? {};
  const waits = pending.filter((request) => !isLongLived(request)).length;
  const since = sinceMs === undefined ? '' : ` for ${formatDuration(sinceMs)}`;
  const parts = [
    state + since,
    ...(server
      ? [`${printableName(`${server.name} ${server.version}`)}, ${server.era} ${server.revision}`]
      : []),
    ...(leftMs === undefined ? [] : [`given up in ${formatDuration(leftMs)}`]),
    ...(waits > 0 ? [`${formatCount(waits, 'request')} pending`] : []),
    ...(attempt > 0 ? [`new attempt ${attempt}`] : []),
    ...(delayMs === undefined ? [] : [`the next one after ${formatDuration(delayMs)}`]),
    ...(launches > 1 ? [`connected ${launches} times`] : []),
    ...(error === undefined ? [] : [shown(error)]),
  ];
  return parts.join('; ');
}

function details({ error, connection }: HostedDump): readonly string[] {
  if (!connection) return [];
  const { pending, calls, lists, loss, lastWords, queues, actors, server } = connection;
  const unread = queues.outboundBytes.count;
  return [
    ...(server ? [formatLastHeard(connection)] : []),
    ...rows(pending, pendingRow),
    ...rows(calls, callRow),
    ...(unread > 0 ? [`${formatBytes(unread)} wait until the server reads on`] : []),
    ...(lists.length > 0
      ? [
          `lists: ${lists.map(({ name, entries, known }) => `${name} ${known}, ${entries}`).join('; ')}`,
        ]
      : []),
    // Avoids repeating the first line.
    ...(loss && loss.message !== error ? [`last lost: ${shown(loss.message)}`] : []),
    ...(lastWords === undefined || error?.includes(lastWords) === true
      ? []
      : ['stderr:', ...lastLines(lastWords).map((line) => `  ${line}`)]),
    `actors: ${actors.map(({ id, status, state }) => `${printableName(id)} ${state ?? status}`).join(', ')}`,
  ];
}

function pendingRow(request: PendingDump): string {
  const { id, method, state, ageMs, leftMs } = request;
  if (isLongLived(request) && state === 'sent') {
    return `${method} ${id}: open for ${formatDuration(ageMs)}`;
  }
  const how = state === 'held' ? 'waits for a connection' : 'not answered';
  return `${printableName(method)} ${id}: ${how} for ${formatDuration(ageMs)}, given up in ${formatDuration(leftMs)}`;
}

function callRow({ id, method, state, ageMs }: CallDump): string {
  return `the server asks ${printableName(method)} ${printableName(String(id))}: ${state} for ${formatDuration(ageMs)}`;
}

function rows<T>(list: readonly T[], row: (item: T) => string): readonly string[] {
  const told = list.slice(0, maxRows).map(row);
  return list.length > maxRows ? [...told, `… and ${list.length - maxRows} more`] : told;
}

/** Formats server text for a terminal: one line, escaped, redacted. */
function shown(text: string): string {
  return printable(redactText(text, maxErrorCharacters));
}

/** Tail of a process's stderr, cut to the available width. */
function lastLines(text: string): readonly string[] {
  const end = redactText(text, Infinity).slice(-maxErrorCharacters);
  return end.split('\n').map((line) => printable(line));
}
