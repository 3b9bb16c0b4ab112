/** Bounds of all that a database keeps of HTTP sessions. What exceeds them is removed when a lease is prolonged. */

/** Sessions; of more, those that were idle for longest are forgotten. */
export const maxStoredSessions = 100_000;

/** Events of all sessions together, bytes; of more, the longest log loses its oldest events. */
export const maxStoredLogBytes = 1024 * 1024 * 1024;

/** How long broadcasts and ended leases are remembered, milliseconds. */
export const rememberedMs = 60 * 60 * 1000;

/** Time to live of a session that is not used: its owner says a few times in `idleMs` that it is. */
export const sessionTtlMs = ({ idleMs }: { readonly idleMs: number }): number => 1.5 * idleMs;

/** How long a removed session is remembered: longer than any copy of its record is kept. */
export const removedMs = ({ idleMs }: { readonly idleMs: number }): number => 2 * idleMs;
