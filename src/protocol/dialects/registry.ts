/** The revisions that this runtime speaks, newest first, and the choice among them. */
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

/** Whether any revision has a request of this method from clients. */
export function isKnownMethod(method: string): boolean {
  return [...handshake, ...stateless].some((dialect) => dialect.offers(method));
}

/** The latest of the revisions that begin with `initialize`. */
export const latestHandshake: Dialect = handshake[0];

/** The versions that `initialize` may negotiate, newest first. */
export const handshakeVersions: readonly string[] = handshake.map(({ version }) => version);

/**
 * The version of a request over HTTP that says none, if nothing else tells.
 *
 * @see MCP 2025-11-25, basic/transports, "Protocol Version Header"
 */
export const assumedVersion = '2025-03-26';

/** The versions that a request may name in its own envelope, newest first. */
export const statelessVersions: readonly string[] = stateless.map(({ version }) => version);

/**
 * The dialect for a session: the requested one if we speak it, otherwise our latest. An unknown
 * version is never echoed.
 *
 * @see MCP 2025-11-25, basic/lifecycle, "Version Negotiation"
 */
export function negotiateDialect(requested: string): Dialect {
  return handshake.find(({ version }) => version === requested) ?? latestHandshake;
}

/**
 * The dialect for a request that names its version itself; undefined if we have none.
 *
 * @see MCP 2026-07-28, basic/versioning, "Protocol Version Negotiation"
 */
export function statelessDialect(requested: string): StatelessDialect | undefined {
  return stateless.find(({ version }) => version === requested);
}
