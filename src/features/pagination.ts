/**
 * Lists page by page. A cursor names the place of the last item given, so it stays good when items are added or removed meanwhile.
 *
 * @see MCP 2025-11-25, server/utilities/pagination
 */
import { describe } from '../protocol/classify.ts';
import { invalidParams } from '../protocol/errors.ts';
import type { JsonObject } from '../protocol/frames.ts';
import type { RegistryEntry } from './registry.ts';

export interface Page<T> {
  readonly items: readonly T[];
  /** Absent on the last page. */
  readonly nextCursor?: string;
}

/**
 * One page of a list.
 * @param kind the list's method: a cursor of one list is none of another
 * @throws {ProtocolError} -32602 for a cursor that this list has not given
 */
export function pageOf<T>(
  kind: string,
  list: readonly RegistryEntry<T>[],
  params: JsonObject | undefined,
  pageSize: number,
): Page<T> {
  const after = readCursor(kind, params?.['cursor']);
  const rest = after === 0 ? list : list.filter(({ place }) => place > after);
  const page = rest.slice(0, pageSize);
  const last = page.at(-1);
  const items = page.map(({ item }) => item);
  if (!last || rest.length <= pageSize) return { items };
  return { items, nextCursor: btoa(`${kind}:${last.place}`) };
}

/** The cursor of a list whose items have no places: it names the text that it is ordered by. */
export function textCursor(kind: string, text: string): string {
  // As JSON, because a lone surrogate has no other encoding.
  return btoa(`${kind}:${encodeURIComponent(JSON.stringify(text))}`);
}

/** The text in a cursor of {@link textCursor}; undefined for any other value. */
export function readTextCursor(kind: string, cursor: unknown): string | undefined {
  if (typeof cursor !== 'string') return undefined;
  try {
    const [named, text = '', ...more] = atob(cursor).split(':');
    if (named !== kind || more.length > 0) return undefined;
    const read: unknown = JSON.parse(decodeURIComponent(text));
    return typeof read === 'string' ? read : undefined;
  } catch {
    // None of ours.
    return undefined;
  }
}

function readCursor(kind: string, cursor: unknown): number {
  if (cursor === undefined) return 0;
  const place = typeof cursor === 'string' ? placeIn(kind, cursor) : undefined;
  if (place !== undefined) return place;
  throw invalidParams(`the cursor ${describe(cursor)} is none that this list gave`);
}

function placeIn(kind: string, cursor: string): number | undefined {
  try {
    const [named, place, ...more] = atob(cursor).split(':');
    const isOurs = named === kind && more.length === 0 && /^[1-9]\d{0,14}$/.test(place ?? '');
    return isOurs ? Number(place) : undefined;
  } catch {
    // No base64.
    return undefined;
  }
}
