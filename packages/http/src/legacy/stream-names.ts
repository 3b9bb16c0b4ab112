/**
 * Names of streams and event ids.
 *
 * The name of an answering stream contains the ids of its requests: if a client resumes a stream
 * that was dropped, it can still be told which responses were lost.
 *
 * @see MCP 2025-11-25, basic/transports, "Resumability and Redelivery"
 */
import { isRequestId } from '../../../../src/protocol/classify.ts';
import type { InboundRequestId } from '../../../../src/protocol/frames.ts';
import { firstFence } from '../owner/owned-session.ts';

/** A position on a stream. */
export interface StreamPosition {
  readonly stream: string;
  /** Fence of the session owner that created the stream. */
  readonly fence: number;
  /** Serial number of the stream within the owner's session. */
  readonly serial: number;
  /** Ids of the requests the stream answers; undefined for a standalone stream. */
  readonly requestIds: readonly InboundRequestId[] | undefined;
  /** Event number from 1; 0 is the start of the stream. */
  readonly number: number;
  /** True if the event is the response: nothing follows it, whatever is kept of the stream. */
  readonly isLast: boolean;
}

/** The name is part of every event id, so long lists of ids are omitted. */
const maxIdsLength = 200;

/**
 * @param fence fence of the owner that creates the stream
 * @param requestIds ids of the requests the stream answers; undefined for a standalone stream
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

/** Mark of the response to a call that outlives its process. */
const lastMark = '!';

/** The `id` of an event. */
export function eventIdOf(stream: string, number: number, isLast = false): string {
  return `${stream}-${number}${isLast ? lastMark : ''}`;
}

/** True for the text of an event with that mark. */
export function isLastEvent(event: string): boolean {
  return event.slice(0, event.indexOf('\n')).endsWith(lastMark);
}

const pattern = /^((?:(\d{1,15})_)?([1-9]\d{0,14})(?:\.([\w%.!~*'()-]*))?)-(\d{1,15})(!?)$/;

/**
 * Parses `Last-Event-ID`.
 *
 * @returns undefined if the id cannot be one of ours
 */
export function readLastEventId(text: string): StreamPosition | undefined {
  const match = pattern.exec(text);
  if (!match) return undefined;
  const [, stream = '', fence = firstFence, serial, ids, number, mark] = match;
  const numbers = { fence: Number(fence), serial: Number(serial), number: Number(number) };
  const position = { stream, ...numbers, isLast: mark === lastMark };
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
