/** A host's connections at one moment, as text for people. */
import { printable, printableName } from '../protocol/printable.ts';
import { countInWords, timeInWords } from './in-words.ts';
import { redactText } from './redaction.ts';

/** One connection, and what it waits for. */
export interface ConnectionDump {
  readonly name: string;
  readonly state: string;
  /** For how long it has been in that state, milliseconds; undefined if nothing runs. */
  readonly sinceMs?: number;
  /** New attempts since it was last stable. */
  readonly attempt: number;
  /** Of a wait before the next attempt, as a whole, milliseconds. */
  readonly delayMs?: number;
  readonly server?: { readonly name: string; readonly version: string; readonly revision: string };
  /** Requests of the host's that are not answered. */
  readonly pending: number;
  readonly launches: number;
  /** Why there is none, with the last words of the server's process. */
  readonly error?: string;
}

const maxErrorCharacters = 1000;

/** A line for each, those that are not well first. */
export function describeConnections(dumps: readonly ConnectionDump[]): string {
  const isWell = ({ state }: ConnectionDump) => Number(state === 'ready' || state === 'idle');
  const lines = dumps
    .toSorted((a, b) => isWell(a) - isWell(b))
    .map((dump) => `connection ${printableName(dump.name)}: ${words(dump)}\n`);
  return lines.length === 0 ? 'No connection is open\n' : lines.join('');
}

function words({ state, sinceMs, attempt, delayMs, server, ...dump }: ConnectionDump): string {
  const since = sinceMs === undefined ? '' : ` for ${timeInWords(sinceMs)}`;
  const parts = [
    state + since,
    ...(server ? [`${printableName(`${server.name} ${server.version}`)}, ${server.revision}`] : []),
    ...(dump.pending > 0 ? [`${countInWords(dump.pending, 'request')} pending`] : []),
    ...(attempt > 0 ? [`new attempt ${attempt}`] : []),
    ...(delayMs === undefined ? [] : [`the next one after ${timeInWords(delayMs)}`]),
    ...(dump.launches > 1 ? [`connected ${dump.launches} times`] : []),
    ...(dump.error === undefined ? [] : [printable(redactText(dump.error, maxErrorCharacters))]),
  ];
  return parts.join('; ');
}
