/**
 * Lists page by page. A cursor names the place of the last item on the page, so it stays valid if
 * items are added or removed meanwhile.
 *
 * @see MCP 2025-11-25, server/utilities/pagination
 */
import { inspectValue } from '../../protocol/classify.ts';
import { invalidParams } from '../../protocol/errors.ts';
import type { ProtocolError } from '../../protocol/errors.ts';
import type { JsonObject } from '../../protocol/frames.ts';
import type { RegistryEntry } from './registry.ts';

/** Our cursors are not longer, characters: a URI that long cannot be one. What is longer is not decoded. */
const maxCursorLength = 256 * 1024;

export interface Page<T> {
  readonly items: readonly T[];
  /** Absent on the last page. */
  readonly nextCursor?: string;
}

/**
 * Gives one page of a list.
 * @param kind the list's method: a cursor is valid for one list only
 * @throws {ProtocolError} -32602 the cursor is not one of this list
 */
export function pageOf<T>(
  kind: string,
  list: readonly RegistryEntry<T>[],
  params: JsonObject | undefined,
  pageSize: number,
): Page<T> {
  const after = readCursor(kind, params?.['cursor'] ?? undefined);
  const rest = after === 0 ? list : list.filter(({ place }) => place > after);
  const page = rest.slice(0, pageSize);
  const last = page.at(-1);
  const items = page.map(({ item }) => item);
  if (!last || rest.length <= pageSize) return { items };
  return { items, nextCursor: btoa(`${kind}:${last.place}`) };
}

/**
 * Gives one page of a list that is ordered by URI. A cursor names the last URI, so it stays valid whatever comes and
 * goes.
 *
 * @throws {ProtocolError} -32602 the cursor is not one of this list
 */
export function pageByUri<T extends { readonly uri: string }>(
  kind: string,
  list: readonly T[],
  params: JsonObject | undefined,
  pageSize: number,
): Page<T> {
  const cursor = params?.['cursor'] ?? undefined;
  const after = cursor === undefined ? '' : readTextCursor(kind, cursor);
  if (after === undefined) throw unknownCursor(cursor);
  const rest = list.filter(({ uri }) => uri > after);
  return firstPage(kind, rest, pageSize);
}

/** The first page of a list that is ordered by URI, with the cursor of the next one. */
export function firstPage<T extends { readonly uri: string }>(
  kind: string,
  list: readonly T[],
  pageSize: number,
): Page<T> {
  const items = list.slice(0, pageSize);
  if (items.length === list.length) return { items };
  return { items, nextCursor: textCursor(kind, items.at(-1)?.uri ?? '') };
}

function unknownCursor(cursor: unknown): ProtocolError {
  return invalidParams(`the cursor ${inspectValue(cursor)} is none that this list gave`);
}

/** The cursor of a list that is ordered by a text: it names the text of the last item. */
function textCursor(kind: string, text: string): string {
  // As JSON, because a lone surrogate cannot be encoded otherwise.
  return btoa(`${kind}:${encodeURIComponent(JSON.stringify(text))}`);
}

/** The text in a cursor of {@link textCursor}; undefined for any other value. */
export function readTextCursor(kind: string, cursor: unknown): string | undefined {
  if (!isReadable(cursor)) return undefined;
  try {
    const [named, text = '', ...more] = atob(cursor).split(':');
    if (named !== kind || more.length > 0) return undefined;
    const read: unknown = JSON.parse(decodeURIComponent(text));
    return typeof read === 'string' ? read : undefined;
  } catch {
    // Not one of our cursors.
    return undefined;
  }
}

function isReadable(cursor: unknown): cursor is string {
  return typeof cursor === 'string' && cursor.length <= maxCursorLength;
}

function readCursor(kind: string, cursor: unknown): number {
  if (cursor === undefined) return 0;
  const place = isReadable(cursor) ? placeIn(kind, cursor) : undefined;
  if (place !== undefined) return place;
  throw unknownCursor(cursor);
}

function placeIn(kind: string, cursor: string): number | undefined {
  try {
    const [named, place, ...more] = atob(cursor).split(':');
    const isOurs = named === kind && more.length === 0 && /^[1-9]\d{0,14}$/.test(place ?? '');
    return isOurs ? Number(place) : undefined;
  } catch {
    // Not base64.
    return undefined;
  }
}
