/**
 * The calls of many clients that one session serves, as it does without sessions of their own: each
 * has the bounds of a session to itself, and all together so many times as much. None keeps the
 * others from their turn.
 */
import { fullParties } from '../limits.ts';
import type { Shares } from '../room.ts';
import type { Call } from './call.ts';
import { CallQueue, SharedPlaces } from './call-queue.ts';
import type { CallRunner, HoldReason, QueueBounds } from './call-queue.ts';

export class PartyQueues {
  readonly #bounds: QueueBounds;
  readonly #shares: Shares;
  readonly #runner: CallRunner;
  readonly #shared: SharedPlaces;
  /** Of the calls of a session that is one client's; made for the first. */
  #own: CallQueue | undefined = undefined;
  /** The one that was served last comes last. */
  #parties: Map<string, CallQueue> | undefined = undefined;
  /** The one that became idle last. It is kept: who has called calls again. */
  #idle: string | undefined = undefined;

  constructor(bounds: QueueBounds, shares: Shares, runner: CallRunner) {
    this.#bounds = bounds;
    this.#shares = shares;
    this.#runner = runner;
    this.#shared = new SharedPlaces(bounds, fullParties);
  }

  /** No call is added any more, and all have been removed. */
  leave(): void {
    this.#own?.leave();
    this.#own = undefined;
    for (const queue of this.#parties?.values() ?? []) queue.leave();
    this.#parties?.clear();
  }

  /** How many calls count as running. */
  get running(): number {
    return this.#shared.running;
  }

  /** How many calls wait. */
  get waiting(): number {
    return this.#shared.waiting;
  }

  /** What the messages of those that wait come to, in UTF-16 units. */
  get waitingBytes(): number {
    return this.#shared.waitingBytes;
  }

  /** Why no call is started at present; empty if calls may start. */
  get holds(): readonly HoldReason[] {
    return this.#shared.holds;
  }

  /** Runs the call or lets it wait. Returns false, and does nothing, if too many wait. */
  add(call: Call): boolean {
    return this.#queueOf(call).add(call);
  }

  /** See {@link CallQueue.remove}. */
  remove(call: Call): void {
    this.#queueOf(call).remove(call);
    this.#forget(call);
  }

  /** See {@link CallQueue.park}. */
  park(call: Call): void {
    this.#queueOf(call).park(call);
    this.#forget(call);
  }

  /** See {@link CallQueue.resume}. */
  resume(call: Call): void {
    this.#queueOf(call).resume(call);
  }

  /** Starts what waits, as far as there is room: one call of each client in turn. */
  startWaiting(): void {
    this.#own?.startWaiting();
    const made = this.#parties;
    if (!made || this.waiting === 0) return;
    let started: number;
    do {
      started = 0;
      for (const [party, queue] of [...made]) {
        if (queue.startWaiting(1) === 0) continue;
        started++;
        made.delete(party);
        made.set(party, queue);
      }
    } while (started > 0);
  }

  /** Starts no call until {@link release}; those that run go on. */
  hold(reason: HoldReason): void {
    this.#shared.hold(reason);
  }

  release(reason: HoldReason): void {
    this.#shared.release(reason);
  }

  #queueOf({ origin }: Call): CallQueue {
    const party = origin?.party;
    if (party === undefined) return (this.#own ??= this.#made(undefined));
    const made = (this.#parties ??= new Map<string, CallQueue>());
    let queue = made.get(party);
    if (!queue) {
      queue = this.#made(party);
      made.set(party, queue);
    }
    return queue;
  }

  #made(party: string | undefined): CallQueue {
    return new CallQueue(this.#bounds, this.#shares.enter(party), this.#runner, this.#shared);
  }

  #forget({ origin }: Call): void {
    const party = origin?.party;
    if (party === undefined) return;
    if (!this.#isIdle(party) || this.#idle === party) return;
    const idle = this.#idle;
    this.#idle = party;
    if (idle === undefined || !this.#isIdle(idle)) return;
    this.#parties?.get(idle)?.leave();
    this.#parties?.delete(idle);
  }

  #isIdle(party: string): boolean {
    const queue = this.#parties?.get(party);
    return queue !== undefined && queue.isIdle;
  }
}
