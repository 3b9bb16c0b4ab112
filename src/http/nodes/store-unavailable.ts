/** Why a store did not do what it was asked for. */
export type StoreFault =
  /** There is no connection to it. */
  | 'away'
  /** It did not answer in time. It may still do what it was asked for. */
  | 'slow'
  /** It answered that it has no room, or cannot write. */
  | 'full'
  /** It does not allow or does not know what it was asked for: the installation is at fault. */
  | 'refused'
  /** Too much waits for its answers already. */
  | 'busy'
  /** It was closed at this node. */
  | 'closed';

/**
 * A store of sessions, events or letters could not do what it was asked for. HTTP answers with 503
 * and `Retry-After`. Requests that need nothing of other nodes go on meanwhile.
 *
 * After `away`, `full`, `refused`, `busy` and `closed` nothing has been changed. After `slow` that is unknown,
 * and also if the connection broke before the answer came (`away`, with a cause): whoever tries
 * again must be content to be heard twice.
 */
export class StoreUnavailable extends Error {
  override readonly name = 'StoreUnavailable';
  /** What the store did not do. */
  readonly fault: StoreFault;
  /** When to try again, milliseconds from now. */
  readonly retryAfterMs: number;

  constructor(
    fault: StoreFault,
    message: string,
    options: { readonly retryAfterMs: number; readonly cause?: unknown },
  ) {
    super(message, { cause: options.cause });
    this.fault = fault;
    this.retryAfterMs = options.retryAfterMs;
  }
}
