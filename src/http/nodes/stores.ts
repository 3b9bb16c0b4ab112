import { defaultEventLimits } from './event-store.ts';
import type { EventLimits, EventStore } from './event-store.ts';
import { defaultPushLimits } from './mailbox.ts';
import type { Mailbox, PushLimits } from './mailbox.ts';
import { defaultSessionLimits } from './session-store.ts';
import type { SessionStoreLimits, SessionStore } from './session-store.ts';

/** What one node has of what all nodes share. */
export interface Stores {
  /** This node's name: `newNodeName()`, made when it started. */
  readonly node: string;
  /** Which sessions there are, and what they have agreed on. */
  readonly sessions: SessionStore;
  /** What their streams have said. */
  readonly events: EventStore;
  /** What nodes have to say to each other. */
  readonly mailbox: Mailbox;
  /**
   * Leaves: the other nodes see at once that this one is gone. What is stored stays. Settles in
   * bounded time, whether or not the store is there, and never rejects. A call that comes afterwards
   * reaches nobody; it may reject with `StoreUnavailable`.
   */
  close(): Promise<void>;
}

/** The bounds of what nodes share. */
export interface StoreLimits extends SessionStoreLimits, EventLimits, PushLimits {}

const defaultStoreLimits: StoreLimits = {
  ...defaultSessionLimits,
  ...defaultEventLimits,
  ...defaultPushLimits,
};

/**
 * The defaults with these in their places.
 * @throws {RangeError} a limit does not exist, or is not a positive number
 */
export function storeLimits(given: Partial<StoreLimits> = {}): StoreLimits {
  for (const [name, value] of Object.entries(given)) {
    if (!Object.hasOwn(defaultStoreLimits, name)) {
      const known = Object.keys(defaultStoreLimits).join(', ');
      throw new RangeError(`There is no limit ${name} of the stores; the limits are ${known}`);
    }
    if (value === undefined || (Number.isFinite(value) && value > 0)) continue;
    throw new RangeError(`${name} must be a positive number, this is ${String(value)}`);
  }
  const changed = Object.entries(given).filter(([, value]) => value !== undefined);
  return { ...defaultStoreLimits, ...Object.fromEntries(changed) };
}

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
 * and also if the connection broke before the answer came (`away`, with a cause): a caller that
 * tries again may be heard twice.
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
