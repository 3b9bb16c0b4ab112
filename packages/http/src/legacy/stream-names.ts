/**
 * The names of a session's streams, and of the events on them.
 *
 * The name of a stream that answers requests has their ids in it: if a client asks for a stream of
 * which nothing is left, it can still be told which of its requests have lost their answer.
 *
 * @see MCP 2025-11-25, basic/transports, "Resumability and Redelivery"
 */
import { isRequestId } from '../../../../src/protocol/classify.ts';
import type { InboundRequestId } from '../../../../src/protocol/frames.ts';
import { firstFence } from '../owner/owned-session.ts';

/** A place on a stream. */
export interface StreamPosition {
  readonly stream: string;
  /** Of the owner of the session that made it. */
  readonly fence: number;
  /** Counts the streams that an owner has made for the session. */
  readonly serial: number;
  /** The requests that the stream answers; undefined if it is for what belongs to none. */
  readonly requestIds: readonly InboundRequestId[] | undefined;
  /** The events of a stream are 1, 2, 3 and so on; 0 is its beginning. */
  readonly number: number;
}

/** A longer name would be a burden on each event. */
const maxIdsLength = 200;

/**
 * @param fence of the owner that makes it
 * @param requestIds the requests that the stream answers; undefined if it is for what belongs to none
 */
export function nameOfStream(
  fence: number,
  serial: number,
  requestIds: readonly InboundRequestId[] | undefined,
): string {
  const name = fence === firstFence ? `${serial}` : `${fence}_${serial}`;
  if (!requestIds) return name;
  const ids = encodeURIComponent(JSON.stringify(requestIds).slice(1, -1));
  return `${name}.${ids.length > maxIdsLength ? '' : ids}`;
}

/** What the `id` of an event is. */
export function eventIdOf(stream: string, number: number): string {
  return `${stream}-${number}`;
}

const pattern = /^((?:(\d{1,15})_)?([1-9]\d{0,14})(?:\.([\w%.!~*'()-]*))?)-(\d{1,15})$/;

/**
 * Reads a `Last-Event-ID`.
 * @returns undefined if none of our events has such an id
 */
export function readLastEventId(text: string): StreamPosition | undefined {
  const match = pattern.exec(text);
  if (!match) return undefined;
  const [, stream = '', fence = firstFence, serial, ids, number] = match;
  const position = { stream, fence: Number(fence), serial: Number(serial), number: Number(number) };
  if (ids === undefined) return { ...position, requestIds: undefined };
  const requestIds = readIds(ids);
  return requestIds && { ...position, requestIds };
}

function readIds(text: string): readonly InboundRequestId[] | undefined {
  try {
    const ids: unknown = JSON.parse(`[${decodeURIComponent(text)}]`);
    return Array.isArray(ids) && ids.every(isRequestId) ? (ids as InboundRequestId[]) : undefined;
  } catch {
    return undefined;
  }
}
