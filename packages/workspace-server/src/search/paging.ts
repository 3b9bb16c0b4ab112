/** Pagination of results: cursors, and a cached walk for the next page. */
import { ToolError } from 'mcp-actors';
import { indexAfter } from './path-order.ts';
import type { PathOrder } from './path-order.ts';
import type { WalkedTree } from './tree-walk.ts';

/** End of a page: after this path or, in a text search, after this line of it. */
export interface Position {
  readonly path: string;
  /** From 1; 0 means before the first line. */
  readonly line?: number;
}

const keyLength = 8;

/**
 * Key that ties a cursor to its query, because in another query it would skip arbitrary results.
 */
export async function queryKey(query: readonly unknown[]): Promise<string> {
  // Loaded on demand: a server's first responses do not need it.
  const { createHash } = await import('node:crypto');
  const hash = createHash('sha256').update(JSON.stringify(query)).digest('base64url');
  return hash.slice(0, keyLength);
}

export function writeCursor({ path, line }: Position, query: string): string {
  return Buffer.from(`${query}${line ?? ''}:${path}`).toString('base64url');
}

/**
 * Decodes a cursor; undefined without one.
 *
 * @throws {ToolError} INVALID_CURSOR if it belongs to another query
 */
export function readCursor(cursor: string | undefined, query: string): Position | undefined {
  if (cursor === undefined) return undefined;
  const text = Buffer.from(cursor, 'base64url').toString();
  const [, line, path] = /^(\d*):([^]+)$/.exec(text.slice(keyLength)) ?? [];
  if (text.startsWith(query) && path !== undefined) {
    return line === '' ? { path } : { path, line: Number(line) };
  }
  throw new ToolError(
    'Cursor belongs to another query: repeat the same arguments with the latest cursor, or omit the cursor.',
    { code: 'INVALID_CURSOR' },
  );
}

/** Lifetime of a cached walk, ms. */
const cacheMs = 60_000;

/** Caches the last walk of a session's tool for the next page. */
export class WalkCache {
  readonly #order: PathOrder;
  #kept: { readonly query: string; readonly walk: WalkedTree } | undefined;
  #expiry: ReturnType<typeof setTimeout> | undefined;

  constructor(order: PathOrder) {
    this.#order = order;
  }

  /**
   * Returns the walk if the query is the same, the walk is younger than a minute, and it contains
   * the paths after `path`.
   */
  get(query: string, path: string): WalkedTree | undefined {
    if (this.#kept?.query !== query) return undefined;
    const { walk } = this.#kept;
    const start = indexAfter(walk.paths, this.#order, path);
    const isBefore = start === 0;
    return isBefore || (start === walk.paths.length && walk.isCut) ? undefined : walk;
  }

  set(query: string, walk: WalkedTree): void {
    clearTimeout(this.#expiry);
    this.#kept = { query, walk };
    this.#expiry = setTimeout(() => (this.#kept = undefined), cacheMs);
    this.#expiry.unref();
  }
}
