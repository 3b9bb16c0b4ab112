/**
 * Fetches a whole list from a server, page by page.
 *
 * @see MCP 2025-11-25, server/utilities/pagination
 * @see MCP 2026-07-28, server/utilities/caching, "Interaction with Pagination"
 */
import { fromPromise } from 'xstate';
import type { PromiseActorLogic } from 'xstate';
import type { CatalogInput, CatalogOutcome } from './catalog.machine.ts';
import { inspectValue } from '../../../../src/protocol/classify.ts';
import { ErrorCode, RuntimeError, remoteCodeOf } from '../../../../src/protocol/errors.ts';
import type { JsonObject, RequestId } from '../../../../src/protocol/frames.ts';
import type { ListKind, PagedKind } from './list-kinds.ts';
import { listKinds, readEntry } from './list-kinds.ts';

/** Limits of one list. */
export interface ListBounds {
  readonly maxListPages: number;
  readonly maxListEntries: number;
  /** Maximum total length of the entries as JSON, including cursors. */
  readonly maxListBytes: number;
}

/** Faults of a server's list. */
export type ListProblemName =
  /** Invalid entries, which are dropped. */
  | 'list.entries'
  /** Entries with the same name; the first counts. */
  | 'list.repeated'
  /** A repeated or invalid cursor, which ends the list. */
  | 'list.cursor'
  /** More pages, entries or text than the limits allow. */
  | 'list.cut';

/** Options of the host's own requests. */
export interface OwnRequestOptions {
  readonly signal?: AbortSignal | undefined;
  /** Default: the connection's. */
  readonly timeoutMs?: number;
  readonly maxTotalMs?: number;
  /** `refuse`: fails without a channel instead of waiting for the next one. */
  readonly whenAway?: 'wait' | 'refuse';
  /** Called with the id of the request. */
  readonly sent?: (id: RequestId) => void;
}

/** Sends one of the host's own requests. @throws as a connection's `request` does */
export type OwnRequest = (
  method: string,
  params: JsonObject | undefined,
  options: OwnRequestOptions,
) => Promise<JsonObject>;

/** The server whose lists are fetched. */
export interface ListSource {
  /** Clock ms. */
  now(): number;
  readonly bounds: ListBounds;
  /** Declared capabilities. */
  readonly capabilities: JsonObject;
  readonly request: OwnRequest;
  /** Called for each fault of the server. */
  readonly problem: (name: ListProblemName, message: string) => void;
}

/**
 * The catalog's `ask` actor.
 *
 * @param sourceOf resolves to the server, once it may be queried
 */
export function askListActor(
  sourceOf: (kind: ListKind, input: CatalogInput, signal: AbortSignal) => Promise<ListSource>,
): PromiseActorLogic<CatalogOutcome, CatalogInput> {
  return fromPromise(async ({ input, signal }) => {
    const kind = listKinds[input.name];
    return askList(kind, await sourceOf(kind, input, signal), signal);
  });
}

/**
 * Fetches a whole list, if the server has it.
 *
 * @throws the error of a page; {RuntimeError} INVALID_RESPONSE if a result is not a page of the
 *   list
 */
async function askList(
  kind: ListKind,
  source: ListSource,
  signal: AbortSignal,
): Promise<CatalogOutcome> {
  if (source.capabilities[kind.feature] === undefined) {
    return {
      kind: 'unavailable',
      reason: `The server does not declare the capability "${kind.feature}"`,
    };
  }
  try {
    return await askPages(kind, source, { signal, whenAway: 'refuse' });
  } catch (error) {
    if (remoteCodeOf(error) !== ErrorCode.methodNotFound) throw error;
    return { kind: 'unavailable', reason: `The server does not know ${kind.method}` };
  }
}

/**
 * Fetches all pages of a list. A rejected cursor means that the list has changed: it is fetched
 * from the beginning again, once.
 *
 * @param params of each page, besides the cursor
 * @throws the error of a page; {RuntimeError} INVALID_RESPONSE if a result is not a page of the
 *   list
 */
export async function askPages(
  kind: PagedKind,
  source: Omit<ListSource, 'capabilities'>,
  options: OwnRequestOptions,
  params?: JsonObject,
): Promise<Extract<CatalogOutcome, { readonly kind: 'answered' }>> {
  const pages = new Pages(kind, source);
  return await pages.readAll(options, params).catch((error: unknown) => {
    if (!pages.isCursorRefused(error)) throw error;
    return new Pages(kind, source).readAll(options, params);
  });
}

/** Maximum cursor length, UTF-16 units: cursors are sent back, and kept to detect repetitions. */
const maxCursorLength = 256 * 1024;

/** Maximum number of faults described. */
const maxToldFaults = 3;

class Pages {
  readonly #kind: PagedKind;
  readonly #source: Omit<ListSource, 'capabilities'>;
  readonly #items: JsonObject[] = [];
  readonly #keys = new Set<unknown>();
  readonly #cursors = new Set<string>();
  readonly #faults: string[] = [];
  readonly #repeated: string[] = [];
  /** Number of entries read. */
  #entries = 0;
  /** Total length of the entries as JSON. */
  #length = 0;
  #freshUntil = Infinity;
  #cut: string | undefined = undefined;

  constructor(kind: PagedKind, source: Omit<ListSource, 'capabilities'>) {
    this.#kind = kind;
    this.#source = source;
  }

  /** True if the server no longer knows a cursor that it issued. */
  isCursorRefused(error: unknown): boolean {
    return this.#cursors.size > 0 && remoteCodeOf(error) === ErrorCode.invalidParams;
  }

  async readAll(options: OwnRequestOptions, params?: JsonObject) {
    let cursor: string | undefined;
    do {
      const asked = cursor === undefined ? params : { ...params, cursor };
      cursor = this.#read(await this.#source.request(this.#kind.method, asked, options));
    } while (cursor !== undefined);
    this.#tell('list.entries', this.#faults);
    this.#tell('list.repeated', this.#repeated);
    const [items, freshUntil, cut] = [this.#items, this.#freshUntil, this.#cut];
    const known = { items, freshUntil, ...(cut === undefined ? {} : { cut }) };
    return { kind: 'answered', ...known } as const;
  }

  /** @returns the cursor of the next page */
  #read(page: JsonObject): string | undefined {
    const { name, method } = this.#kind;
    const { [name]: entries, nextCursor, ttlMs } = page;
    if (!Array.isArray(entries)) {
      const message = `The result of ${method} must have an array "${name}", got ${inspectValue(entries)}`;
      throw new RuntimeError('INVALID_RESPONSE', message);
    }
    if (typeof ttlMs === 'number') {
      this.#freshUntil = Math.min(this.#freshUntil, this.#source.now() + Math.max(0, ttlMs));
    }
    const { maxListEntries, maxListBytes } = this.#source.bounds;
    for (const entry of entries as readonly unknown[]) {
      if (this.#entries === maxListEntries) return this.#end(`${maxListEntries} entries`);
      this.#length += JSON.stringify(entry).length;
      if (this.#length > maxListBytes) return this.#end(`${maxListBytes} bytes`);
      this.#add(entry);
    }
    return this.#next(nextCursor);
  }

  #add(entry: unknown): void {
    const at = `${this.#kind.name}[${this.#entries++}]`;
    const { item, fault } = readEntry(this.#kind, entry);
    if (fault !== undefined) this.#faults.push(`${at}: ${fault}`);
    if (!item) return;
    const { key } = this.#kind;
    const known = key === undefined ? item : item[key];
    if (this.#keys.has(known)) {
      this.#repeated.push(`${at}: ${inspectValue(known)} is a duplicate`);
      return;
    }
    this.#keys.add(known);
    this.#items.push(item);
  }

  #next(cursor: unknown): string | undefined {
    // An empty string is a valid cursor.
    if (cursor === undefined || cursor === null) return undefined;
    const { name, method } = this.#kind;
    const why = this.#faultOfCursor(cursor);
    if (why !== undefined) {
      const message = `"nextCursor" of ${method} ${why}, got ${inspectValue(cursor)}: the list of ${name} ends there`;
      this.#source.problem('list.cursor', message);
      this.#cut = message;
      return undefined;
    }
    const known = cursor as string;
    this.#cursors.add(known);
    this.#length += known.length;
    const { maxListPages, maxListBytes } = this.#source.bounds;
    if (this.#length > maxListBytes) return this.#end(`${maxListBytes} bytes`);
    return this.#cursors.size < maxListPages ? known : this.#end(`${maxListPages} pages`);
  }

  #faultOfCursor(cursor: unknown): string | undefined {
    if (typeof cursor !== 'string') return 'must be a string';
    if (cursor.length > maxCursorLength) return `must have at most ${maxCursorLength} characters`;
    return this.#cursors.has(cursor) ? 'must be new' : undefined;
  }

  #end(bound: string): undefined {
    this.#cut = `The server's list of ${this.#kind.name} is longer than ${bound}: the rest is cut`;
    this.#source.problem('list.cut', this.#cut);
  }

  #tell(name: 'list.entries' | 'list.repeated', faults: readonly string[]): void {
    if (faults.length === 0) return;
    const rest = faults.length - maxToldFaults;
    const more = rest > 0 ? `; and ${rest} more` : '';
    this.#source.problem(name, `${faults.slice(0, maxToldFaults).join('; ')}${more}`);
  }
}
