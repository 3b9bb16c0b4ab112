/** Limits of the connections of an HTTP server; times in milliseconds. */
export interface ServedConnectionLimits {
  /** Timeout for the headers of a request. */
  readonly headersTimeoutMs: number;
  /** Timeout for a whole request including its body. */
  readonly requestTimeoutMs: number;
  /** Idle timeout of a connection; longer than that of a proxy in front. */
  readonly keepAliveTimeoutMs: number;
  /** Maximum number of connections; further ones are closed immediately. */
  readonly maxConnections: number;
}

/** Default limits; docs/limits.md explains each. */
export const defaultServedConnectionLimits: ServedConnectionLimits = {
  headersTimeoutMs: 15_000,
  requestTimeoutMs: 60_000,
  keepAliveTimeoutMs: 75_000,
  maxConnections: 16_384,
};
