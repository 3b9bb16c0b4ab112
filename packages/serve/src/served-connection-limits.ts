/** Bounds of the connections of a server over HTTP; times in milliseconds. */
export interface ServedConnectionLimits {
  /** How long the headers of a request may take. */
  readonly headersTimeoutMs: number;
  /** How long a whole request may take, its body included. */
  readonly requestTimeoutMs: number;
  /** How long a connection may be without a request: longer than a proxy in front keeps it. */
  readonly keepAliveTimeoutMs: number;
  /** How many connections may be open; one more is closed at once. */
  readonly maxConnections: number;
}

/** What connections keep to if nobody says otherwise. docs/limits.md explains each. */
export const defaultServedConnectionLimits: ServedConnectionLimits = {
  headersTimeoutMs: 15_000,
  requestTimeoutMs: 60_000,
  keepAliveTimeoutMs: 75_000,
  maxConnections: 16_384,
};
