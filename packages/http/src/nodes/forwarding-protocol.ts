/** Protocol constants for requests forwarded between nodes. */
import type { Principal } from '../../../../src/protocol/request-origin.ts';

/** Request header with the signature; in a response, the {@link ForwardOutcome}. */
export const forwardHeader = 'mcp-actors-forward';

/**
 * Outcome of a forwarded request. `moved`: the node does not own the session. `refused`: it rejects
 * the signature. In both cases nothing was done.
 */
export type ForwardOutcome = 'served' | 'moved' | 'refused';

/**
 * Supported versions of the forwarding protocol. A release supports the previous release's version,
 * so that both can run during a rolling update.
 */
export const protocolVersions = { oldest: 1, newest: 1 } as const;

/** Facts about a request that the forwarding node has checked. */
export interface ForwardedHead {
  /** Name of the forwarding node. */
  readonly from: string;
  /** Name of the receiving node. */
  readonly to: string;
  /** Time of the signature, store clock ms. */
  readonly timeMs: number;
  /** The client's method, or {@link probeMethod}. */
  readonly method: string;
  /** Path and query as sent by the client. */
  readonly target: string;
  readonly sessionId: string | undefined;
  /** Digest of the body; empty without a body. */
  readonly digest: string;
  readonly remoteAddress: string | undefined;
  readonly host: string | undefined;
  readonly origin: string | undefined;
  readonly principal: Principal | undefined;
  /** Remaining validity of the caller's token, milliseconds; undefined if unlimited. */
  readonly tokenValidMs: number | undefined;
}

/** Method of a probe. */
export const probeMethod = 'PROBE';

/** Maximum age of a signature, and maximum lead over the store's time, milliseconds. */
export const maxSignatureAgeMs = 30_000;

/** Maximum size of a signature, bytes: Node rejects requests with more than 16 KiB of headers. */
export const maxSignatureBytes = 12 * 1024;
