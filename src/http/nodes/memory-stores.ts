import { systemClock } from '../../actors/clock.ts';
import type { Clock } from '../../actors/clock.ts';
import { MemoryEvents } from './memory-events.ts';
import { MemoryMailbox, PostOffice } from './memory-mailbox.ts';
import { MemorySessions } from './memory-sessions.ts';
import { newNodeName } from './names.ts';
import { storeLimits } from './stores.ts';
import type { StoreLimits, Stores } from './stores.ts';

export interface MemoryStoresOptions {
  readonly limits?: Partial<StoreLimits>;
  readonly clock?: Clock;
}

/** The stores of an endpoint that is alone. They end with it. */
export function memoryStores(options?: MemoryStoresOptions): Stores {
  return new MemoryNodes(options).start();
}

/** Several nodes in one process, with what they share: for tests of what happens between nodes. */
export class MemoryNodes {
  readonly #sessions: MemorySessions;
  readonly #events: MemoryEvents;
  readonly #office: PostOffice;
  readonly #nodes = new Set<string>();

  /** @throws {RangeError} a limit does not exist, or is not a positive number */
  constructor({ limits: given, clock = systemClock }: MemoryStoresOptions = {}) {
    const limits = storeLimits(given);
    this.#office = new PostOffice(limits);
    this.#sessions = new MemorySessions(limits, clock);
    this.#events = new MemoryEvents(limits, clock, (node) => this.#nodes.has(node));
  }

  /** One more node. */
  start(): Stores {
    const node = newNodeName();
    this.#nodes.add(node);
    return {
      node,
      sessions: this.#sessions,
      events: this.#events,
      mailbox: new MemoryMailbox(node, this.#office),
      close: async () => this.kill(node),
    };
  }

  /** A node is no more. What is stored stays as long as there is another. */
  kill(node: string): void {
    if (!this.#nodes.delete(node)) return;
    this.#office.leave(node);
    this.#events.nodeDied();
    if (this.#nodes.size === 0) this.#events.close();
  }
}
