/**
 * Cache hints of a server's results. Sent to clients of 2026-07-28; earlier revisions have none.
 *
 * @see MCP 2026-07-28, server/utilities/caching
 */
import { inspectValue, isJsonObject } from '../../protocol/classify.ts';
import type { CacheHints } from '../../protocol/dialects/dialect.ts';

/** Cache hints of one kind of result. Absent members are inherited from the more general hints. */
export interface Caching {
  /** Time that a result stays fresh, milliseconds; 0 disables caching. */
  readonly ttlMs?: number;
  /** `public`: shared caches may serve the result to any user. `private`: only to the same user. */
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

/** Cacheable results: `server/discover`, each list, resource contents, and skills. */
export type CachedKind = (typeof kinds)[number];

/** Default hints of a server, and overrides for each kind of result. */
export type ServerCaching = Caching & { readonly [kind in CachedKind]?: Caching };

/** Effective hints for each kind of result. */
export type ServerCacheHints = { readonly [kind in CachedKind]: CacheHints };

/** Hints without configuration: only the author knows whether a result may be reused. */
export const uncached: CacheHints = { ttlMs: 0, scope: 'private' };

/**
 * Resolves the hints of a server.
 *
 * @throws {TypeError} naming the invalid member
 */
export function serverCacheHints(caching: ServerCaching = {}): ServerCacheHints {
  checkCaching(caching, 'the server');
  for (const kind of kinds) checkCaching(caching[kind], 'the server', `caching.${kind}`);
  const every = hintsOf(caching, uncached);
  const entries = kinds.map((kind) => [kind, hintsOf(caching[kind], every)] as const);
  return Object.fromEntries(entries) as ServerCacheHints;
}

/** Merges the hints of one result with the more general ones. */
export function hintsOf(caching: Caching | undefined, general: CacheHints): CacheHints {
  if (!caching) return general;
  const { ttlMs = general.ttlMs, scope = general.scope } = caching;
  return { ttlMs, scope };
}

/**
 * Validates cache hints.
 *
 * @param owner named in messages, such as `the server`
 * @param member path of the hints in the owner
 * @throws {TypeError} naming the invalid member
 */
export function checkCaching(caching: unknown, owner: string, member = 'caching'): void {
  if (caching === undefined) return;
  if (!isJsonObject(caching)) {
    throw new TypeError(`"${member}" of ${owner} must be an object, got ${inspectValue(caching)}`);
  }
  const { ttlMs = 0, scope = 'private' } = caching;
  if (!Number.isSafeInteger(ttlMs) || Number(ttlMs) < 0) {
    const wanted = 'a whole number of milliseconds, at least 0';
    throw new TypeError(
      `"${member}.ttlMs" of ${owner} must be ${wanted}, got ${inspectValue(ttlMs)}`,
    );
  }
  if (scope !== 'public' && scope !== 'private') {
    const wanted = '"public" or "private"';
    throw new TypeError(
      `"${member}.scope" of ${owner} must be ${wanted}, got ${inspectValue(scope)}`,
    );
  }
}
