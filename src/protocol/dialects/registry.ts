/** The supported revisions, newest first, and version negotiation. */
import { Dialect20241105 } from './2024-11-05.ts';
import { Dialect20250326 } from './2025-03-26.ts';
import { Dialect20250618 } from './2025-06-18.ts';
import { Dialect20251125 } from './2025-11-25.ts';
import { Dialect20260728 } from './2026-07-28.ts';
import type { Dialect, StatelessDialect } from './dialect.ts';

const handshake: readonly [Dialect, ...Dialect[]] = [
  new Dialect20251125(),
  new Dialect20250618(),
  new Dialect20250326(),
  new Dialect20241105(),
];

const stateless: readonly StatelessDialect[] = [new Dialect20260728()];

/** True if any revision lets clients call this method. */
export function isKnownMethod(method: string): boolean {
  return [...handshake, ...stateless].some((dialect) => dialect.offers(method));
}

/** The latest revision with an `initialize` handshake. */
export const latestHandshake: Dialect = handshake[0];

/** Versions that `initialize` may negotiate, newest first. */
export const handshakeVersions: readonly string[] = handshake.map(({ version }) => version);

/**
 * The version of an HTTP request that does not name one.
 *
 * @see MCP 2025-11-25, basic/transports, "Protocol Version Header"
 */
export const assumedVersion = '2025-03-26';

/** Versions that a request may name in its envelope, newest first. */
export const statelessVersions: readonly string[] = stateless.map(({ version }) => version);

/**
 * The dialect for a session: the requested version if supported, otherwise our latest. An unknown
 * version is never echoed.
 *
 * @see MCP 2025-11-25, basic/lifecycle, "Version Negotiation"
 */
export function negotiateDialect(requested: string): Dialect {
  return handshake.find(({ version }) => version === requested) ?? latestHandshake;
}

/**
 * The dialect for a request that names its version; undefined if unsupported.
 *
 * @see MCP 2026-07-28, basic/versioning, "Protocol Version Negotiation"
 */
export function statelessDialect(requested: string): StatelessDialect | undefined {
  return stateless.find(({ version }) => version === requested);
}
