/**
 * How long, and by whom, the answers of a server may be cached. Clients of 2026-07-28 are told;
 * earlier revisions do not have it.
 *
 * @see MCP 2026-07-28, server/utilities/caching
 */
import { inspectValue, isJsonObject } from '../../protocol/classify.ts';
import type { CacheHints } from '../../protocol/dialects/dialect.ts';

/** Hints for caches. What is left out is taken from the more general ones. */
export interface Caching {
  /** How long a client may take an answer for fresh, milliseconds; 0 = not at all. */
  readonly ttlMs?: number;
  /**
   * `public` only for what is the same for all users: caches may share it. A cache keeps `private`
   * answers to one user.
   */
  readonly scope?: 'public' | 'private';
}

const kinds = [
  'discovery',
  'tools',
  'prompts',
  'resources',
  'resourceTemplates',
  'contents',
  'skills',
] as const;

/** What may be cached: what `server/discover` says, each list, the contents of resources, and skills. */
export type CachedKind = (typeof kinds)[number];

/** Hints for everything, and for each kind of answer. */
export type ServerCaching = Caching & { readonly [kind in CachedKind]?: Caching };

/** The hints for each kind of answer, complete. */
export type KnownHints = { readonly [kind in CachedKind]: CacheHints };

/** Without hints, nothing may be cached: only an author knows what stays true, and for whom. */
export const uncached: CacheHints = { ttlMs: 0, scope: 'private' };

/**
 * The hints of a server.
 *
 * @throws {TypeError} naming the member that is wrong
 */
export function knownHints(caching: ServerCaching = {}): KnownHints {
  checkCaching(caching, 'the server');
  for (const kind of kinds) checkCaching(caching[kind], 'the server', `caching.${kind}`);
  const every = hintsOf(caching, uncached);
  const entries = kinds.map((kind) => [kind, hintsOf(caching[kind], every)] as const);
  return Object.fromEntries(entries) as KnownHints;
}

/** The hints for one answer. */
export function hintsOf(caching: Caching | undefined, general: CacheHints): CacheHints {
  if (!caching) return general;
  const { ttlMs = general.ttlMs, scope = general.scope } = caching;
  return { ttlMs, scope };
}

/**
 * @param whose such as `the server`
 * @param member what the hints are called there
 * @throws {TypeError} naming what is wrong
 */
export function checkCaching(caching: unknown, whose: string, member = 'caching'): void {
  if (caching === undefined) return;
  if (!isJsonObject(caching)) {
    throw new TypeError(
      `"${member}" of ${whose} must be an object, this is ${inspectValue(caching)}`,
    );
  }
  const { ttlMs = 0, scope = 'private' } = caching;
  if (!Number.isSafeInteger(ttlMs) || Number(ttlMs) < 0) {
    const wanted = 'a whole number of milliseconds from 0 on';
    throw new TypeError(
      `"${member}.ttlMs" of ${whose} must be ${wanted}, this is ${inspectValue(ttlMs)}`,
    );
  }
  if (scope !== 'public' && scope !== 'private') {
    const wanted = '"public" or "private"';
    throw new TypeError(
      `"${member}.scope" of ${whose} must be ${wanted}, this is ${inspectValue(scope)}`,
    );
  }
}
