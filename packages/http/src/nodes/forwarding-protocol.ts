/** What nodes agree on about the requests that one of them forwards to another. */
import type { Principal } from '../../../../src/protocol/request-origin.ts';

/** The request header with the signature; in a response, the {@link ForwardOutcome}. */
export const forwardHeader = 'mcp-actors-forward';

/** What a node says of a request that was forwarded to it. `moved`: it does not own the session. `refused`: it does not trust the signature. After both, nothing was done. */
export type ForwardOutcome = 'served' | 'moved' | 'refused';

/**
 * The versions of the forwarding protocol that this code accepts. A release accepts the version of the one before it, so
 * that both can serve side by side while nodes are replaced.
 */
export const protocolVersions = { oldest: 1, newest: 1 } as const;

/** What the node that took a request has checked, for the owner of its session. */
export interface ForwardedHead {
  /** The first node, by the name of its lease. */
  readonly from: string;
  /** The node that the request is for. */
  readonly to: string;
  /** When it was signed, the store's milliseconds. */
  readonly timeMs: number;
  /** The client's method, or {@link probeMethod}. */
  readonly method: string;
  /** The path and the query, as the client sent them. */
  readonly target: string;
  readonly sessionId: string | undefined;
  /** The digest of the body; empty if there is none. */
  readonly digest: string;
  readonly remoteAddress: string | undefined;
  readonly host: string | undefined;
  readonly origin: string | undefined;
  readonly principal: Principal | undefined;
  /** How long its token lets a stream go on, milliseconds; undefined for ever. */
  readonly tokenValidMs: number | undefined;
}

/** The method of a request that only asks whether the node is there. */
export const probeMethod = 'PROBE';

/** How old a signature may be, or how far ahead of the store's time, milliseconds. */
export const maxSignatureAgeMs = 30_000;

/** The longest signature that is sent, bytes: Node refuses requests whose headers come to 16 KiB. */
export const maxSignatureBytes = 12 * 1024;
