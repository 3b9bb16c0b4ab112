/** Pages of an answer: cursors, and what a walk has found, kept for the next page. */
import { ToolError } from 'mcp-actors';
import { indexBehind } from './path-order.ts';
import type { PathOrder } from './path-order.ts';
import type { WalkedTree } from './tree-walk.ts';

/** Where a page ends: behind this path or, in a text search, behind this line of it. */
export interface Position {
  readonly path: string;
  /** From 1; 0: the whole file is still to come. */
  readonly line?: number;
}

const keyLength = 8;

/** A cursor belongs to one query: it would skip at random in another. */
export async function queryKey(query: readonly unknown[]): Promise<string> {
  // A server that has just been launched answers its first messages without it.
  const { createHash } = await import('node:crypto');
  const hash = createHash('sha256').update(JSON.stringify(query)).digest('base64url');
  return hash.slice(0, keyLength);
}

export function writeCursor({ path, line }: Position, query: string): string {
  return Buffer.from(`${query}${line ?? ''}:${path}`).toString('base64url');
}

/**
 * Reads a cursor; undefined if there is none.
 *
 * @throws {ToolError} INVALID_CURSOR if it is of another query
 */
export function readCursor(cursor: string | undefined, query: string): Position | undefined {
  if (cursor === undefined) return undefined;
  const text = Buffer.from(cursor, 'base64url').toString();
  const [, line, path] = /^(\d*):([^]+)$/.exec(text.slice(keyLength)) ?? [];
  if (text.startsWith(query) && path !== undefined) {
    return line === '' ? { path } : { path, line: Number(line) };
  }
  throw new ToolError(
    'This cursor is of another query: pass the cursor of the answer before, with the same arguments, or start without a cursor.',
    { code: 'INVALID_CURSOR' },
  );
}

/** How old a page may be that was seen ahead. */
const keptMs = 60_000;

/** The last walk of a session's tool, for the page behind the one that it was made for. */
export class KeptWalk {
  readonly #order: PathOrder;
  #kept: { readonly query: string; readonly walk: WalkedTree } | undefined;
  #expiry: ReturnType<typeof setTimeout> | undefined;

  constructor(order: PathOrder) {
    this.#order = order;
  }

  /** The walk, if the same query was asked within the last minute and it has what is behind a path. */
  at(query: string, path: string): WalkedTree | undefined {
    if (this.#kept?.query !== query) return undefined;
    const { walk } = this.#kept;
    const start = indexBehind(walk.paths, this.#order, path);
    const isBefore = start === 0;
    return isBefore || (start === walk.paths.length && walk.isCut) ? undefined : walk;
  }

  keep(query: string, walk: WalkedTree): void {
    clearTimeout(this.#expiry);
    this.#kept = { query, walk };
    this.#expiry = setTimeout(() => (this.#kept = undefined), keptMs);
    this.#expiry.unref();
  }
}
