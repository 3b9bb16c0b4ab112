/**
 * Pagination. A cursor contains the position or the URI of the last item on the page, so it stays valid
 * when items are added or removed.
 *
 * @see MCP 2025-11-25, server/utilities/pagination
 */
import { inspectValue } from '../../protocol/classify.ts';
import { invalidParams } from '../../protocol/errors.ts';
import type { ProtocolError } from '../../protocol/errors.ts';
import type { JsonObject } from '../../protocol/frames.ts';
import type { RegistryEntry } from './registry.ts';

/** Maximum length of a cursor, characters. Longer input is rejected without decoding. */
const maxCursorLength = 256 * 1024;

export interface Page<T> {
  readonly items: readonly T[];
  /** Absent on the last page. */
  readonly nextCursor?: string;
}

/**
 * Returns one page of a list.
 *
 * @param kind method of the list; a cursor is valid for one list only
 * @throws {ProtocolError} -32602 if the cursor is not one of this list
 */
export function pageOf<T>(
  kind: string,
  list: readonly RegistryEntry<T>[],
  params: JsonObject | undefined,
  pageSize: number,
): Page<T> {
  const after = readCursor(kind, params?.['cursor'] ?? undefined);
  const rest = after === 0 ? list : list.filter(({ position }) => position > after);
  const page = rest.slice(0, pageSize);
  const last = page.at(-1);
  const items = page.map(({ item }) => item);
  if (!last || rest.length <= pageSize) return { items };
  return { items, nextCursor: btoa(`${kind}:${last.position}`) };
}

/**
 * Returns one page of a list ordered by URI.
 *
 * @throws {ProtocolError} -32602 if the cursor is not one of this list
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

/** Returns the first page of a list ordered by URI, with the cursor of the next page. */
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
  return invalidParams(`"cursor" must be a cursor of this list, got ${inspectValue(cursor)}`);
}

/** Cursor with the URI of the last item. */
function textCursor(kind: string, text: string): string {
  // JSON, because encodeURIComponent throws on lone surrogates.
  return btoa(`${kind}:${encodeURIComponent(JSON.stringify(text))}`);
}

/** Decodes a cursor of {@link textCursor}; undefined for any other value. */
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
  const position = isReadable(cursor) ? positionIn(kind, cursor) : undefined;
  if (position !== undefined) return position;
  throw unknownCursor(cursor);
}

function positionIn(kind: string, cursor: string): number | undefined {
  try {
    const [named, position, ...more] = atob(cursor).split(':');
    const isOurs = named === kind && more.length === 0 && /^[1-9]\d{0,14}$/.test(position ?? '');
    return isOurs ? Number(position) : undefined;
  } catch {
    // Not base64.
    return undefined;
  }
}
