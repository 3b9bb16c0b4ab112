/**
 * The names of a session's streams, and of the events on them.
 *
 * The name of a stream that answers requests has their ids in it: if a client asks for a stream of
 * which nothing is kept any more, it can still be told which of its requests have lost their answer.
 *
 * @see MCP 2025-11-25, basic/transports, "Resumability and Redelivery"
 */
import { isRequestId } from '../../protocol/classify.ts';
import type { ClientRequestId } from '../../protocol/frames.ts';

/** A place on a stream. */
export interface EventPlace {
  readonly stream: string;
  /** Counts the streams of a session. */
  readonly serial: number;
  /** The requests that the stream answers. */
  readonly answers: readonly ClientRequestId[];
  /** The events of a stream are 1, 2, 3 and so on; 0 is its beginning. */
  readonly number: number;
}

/** A longer name would be a burden on each event. */
const maxIdsLength = 200;

/** @param answers the requests that the stream answers; undefined if it is for what belongs to none */
export function streamName(
  serial: number,
  answers: readonly ClientRequestId[] | undefined,
): string {
  if (!answers) return `${serial}`;
  const ids = encodeURIComponent(JSON.stringify(answers).slice(1, -1));
  return `${serial}.${ids.length > maxIdsLength ? '' : ids}`;
}

/** What the `id` of an event is. */
export function eventId(stream: string, number: number): string {
  return `${stream}-${number}`;
}

/** Reads a `Last-Event-ID`. @returns undefined if none of our events has such an id */
export function readEventId(text: string): EventPlace | undefined {
  const match = /^(([1-9]\d{0,14})(?:\.([\w%.!~*'()-]*))?)-(\d{1,15})$/.exec(text);
  if (!match) return undefined;
  const [, stream = '', serial, ids, number] = match;
  const answers = readIds(ids ?? '');
  return answers && { stream, serial: Number(serial), answers, number: Number(number) };
}

function readIds(text: string): readonly ClientRequestId[] | undefined {
  try {
    const ids: unknown = JSON.parse(`[${decodeURIComponent(text)}]`);
    return Array.isArray(ids) && ids.every(isRequestId) ? (ids as ClientRequestId[]) : undefined;
  } catch {
    return undefined;
  }
}

/** Whether a stream answers requests, by its name. */
export function isAnswering(stream: string): boolean {
  return stream.includes('.');
}
