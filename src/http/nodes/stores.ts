import { defaultEventLimits } from './event-store.ts';
import type { EventLimits, EventStore } from './event-store.ts';
import { defaultPushLimits } from './mailbox.ts';
import type { Mailbox, PushLimits } from './mailbox.ts';
import { defaultSessionLimits } from './session-store.ts';
import type { SessionLimits, SessionStore } from './session-store.ts';

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
export interface StoreLimits extends SessionLimits, EventLimits, PushLimits {}

const defaultStoreLimits: StoreLimits = {
  ...defaultSessionLimits,
  ...defaultEventLimits,
  ...defaultPushLimits,
};

/**
 * The defaults with these in their places.
 * @throws {RangeError} a limit that does not exist, or is no positive number
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
