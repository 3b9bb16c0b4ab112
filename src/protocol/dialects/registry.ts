/** The revisions that this runtime speaks, newest first, and the choice among them. */
import { Dialect20241105 } from './2024-11-05.ts';
import { Dialect20250326 } from './2025-03-26.ts';
import { Dialect20250618 } from './2025-06-18.ts';
import { Dialect20251125 } from './2025-11-25.ts';
import type { Dialect } from './dialect.ts';

const dialects: readonly [Dialect, ...Dialect[]] = [
  new Dialect20251125(),
  new Dialect20250618(),
  new Dialect20250326(),
  new Dialect20241105(),
];

export const latestDialect: Dialect = dialects[0];

/** Version strings, newest first. */
export const supportedVersions: readonly string[] = dialects.map(({ version }) => version);

/**
 * The dialect for a session: the requested one if we speak it, otherwise our latest. An unknown
 * version is never echoed.
 *
 * @see MCP 2025-11-25, basic/lifecycle, "Version Negotiation"
 */
export function negotiateDialect(requested: string): Dialect {
  return dialects.find(({ version }) => version === requested) ?? latestDialect;
}
