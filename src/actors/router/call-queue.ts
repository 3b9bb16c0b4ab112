/**
 * Which calls run and which wait: at most so many at once, first come, first served. The calls of strangers
 * without a session share one router. Each of these parties has a queue of its own, and they take turns.
 */
import { ErrorCode } from '../../protocol/errors.ts';
import type { WireError } from '../../protocol/frames.ts';
import { maxClientsAtLimit } from '../limits.ts';
import type { Quota, Quotas } from '../memory-budget.ts';
import type { Call } from './call.ts';

/** Why no call is started for a while: the peer does not read. */
export type HoldReason = 'output';

const nothing: readonly HoldReason[] = [];

/**
 * Shorter messages do not count towards what a client's sessions share: their number is bounded in
 * each, and the way of a small message stays short.
 */
const minCountedBytes = 4096;

/** How many places of calls that left are not worth a clean-up. */
const slack = 64;

export interface QueueBounds {
  /** Calls that run at once. */
  readonly maxRunning: number;
  /** Calls that wait; not while something holds them all back. */
  readonly maxWaiting: number;
  /** What the messages of those that wait may come to, in UTF-16 units. */
  readonly maxWaitingBytes: number;
  /** What the messages of those that run may come to, parked ones included; one always may run. */
  readonly maxRunningBytes: number;
}

/** The places of one router, which its queues share: as much as the bounds of one queue, so many times. */
export class ConcurrencyLimit {
  readonly bounds: QueueBounds;
  running = 0;
  waiting = 0;
  waitingBytes = 0;
  runningBytes = 0;
  /** Why no call is started at present. */
  holds = nothing;

  constructor(bounds: QueueBounds, times = maxClientsAtLimit) {
    this.bounds = {
      maxRunning: bounds.maxRunning * times,
      maxWaiting: bounds.maxWaiting * times,
      maxWaitingBytes: bounds.maxWaitingBytes * times,
      maxRunningBytes: bounds.maxRunningBytes * times,
    };
  }

  /** Starts no call until {@link release}; those that run go on. */
  hold(reason: HoldReason): void {
    if (!this.holds.includes(reason)) this.holds = [...this.holds, reason];
  }

  release(reason: HoldReason): void {
    if (this.holds.length > 0) this.holds = this.holds.filter((other) => other !== reason);
  }
}

/** Runs a call whose turn it is. An object, not a function: each session would have a function of its own. */
export interface CallRunner {
  run(call: Call): void;
}

export class CallQueue {
  readonly #bounds: QueueBounds;
  /** Of the memory that it shares with the client's other sessions, and with all clients. */
  readonly #quota: Quota;
  readonly #runner: CallRunner;
  /** In order of arrival; those that ended while they waited are passed over. */
  #calls: Call[] = [];
  /**
   * The index of the line's first call: taking from the front of an array or a Set costs more the
   * longer it is.
   */
  #head = 0;
  #waiting = 0;
  #waitingBytes = 0;
  /** Of those that run or are parked. */
  #runningBytes = 0;
  /** How many calls run, wait or are parked. */
  #held = 0;
  readonly #limit: ConcurrencyLimit;
  #running = 0;

  /** @param shared what it shares with the other queues of its router */
  constructor(bounds: QueueBounds, room: Quota, runner: CallRunner, shared: ConcurrencyLimit) {
    this.#limit = shared;
    this.#bounds = bounds;
    this.#quota = room;
    this.#runner = runner;
  }

  /** No call will be added. */
  close(): void {
    this.#quota.release();
  }

  /** How many calls count as running. */
  get running(): number {
    return this.#running;
  }

  /** What the messages of those that wait come to, in UTF-16 units. */
  get waitingBytes(): number {
    return this.#waitingBytes;
  }

  /** How many calls wait. */
  get waiting(): number {
    return this.#waiting;
  }

  /** True if nothing runs, waits or is parked. */
  get isIdle(): boolean {
    return this.#held === 0;
  }

  /** Runs the call or lets it wait. Returns false, and does nothing, if too much waits. */
  add(call: Call): boolean {
    const { size } = call;
    const isCounted = size >= minCountedBytes;
    if (isCounted && !this.#hasMemory(size)) return false;
    const runs = this.#waiting === 0 && this.#hasSlot() && this.#mayRun(call);
    if (!runs && !this.#mayWait(call)) return false;
    this.#held++;
    if (isCounted) this.#quota.charge('inFlight', size);
    if (runs) {
      this.#start(call);
    } else {
      this.#wait(1, size);
      this.#calls.push(call);
    }
    return true;
  }

  /**
   * Takes out a call that was added, before its state says that it has ended. The next one starts
   * with {@link startWaiting}, not here: handlers that end at once would nest.
   */
  remove(call: Call): void {
    this.#held--;
    if (call.size >= minCountedBytes) this.#quota.charge('inFlight', -call.size);
    if (call.state === 'parked') return this.#run(-call.size);
    if (call.state === 'running') {
      this.#run(-call.size);
      return this.#count(-1);
    }
    this.#wait(-1, -call.size);
    // While nothing is started nobody passes over those that left: they are taken out once they are
    // the greater part.
    if (this.#calls.length > 2 * this.#waiting + slack) {
      this.#calls = this.#calls.filter((other) => other.state === 'waiting' && other !== call);
      this.#head = 0;
    }
  }

  /**
   * Frees the place of a call that runs on, but only waits for others. The next one starts with
   * {@link startWaiting}.
   */
  park(call: Call): void {
    if (call.state !== 'running') return;
    call.state = 'parked';
    this.#count(-1);
  }

  /**
   * Counts a parked call again, though there may be no room: it runs on whether it is counted or
   * not.
   */
  resume(call: Call): void {
    if (call.state !== 'parked') return;
    call.state = 'running';
    this.#count(1);
  }

  /** Starts what waits, as far as there is room. @param most how many calls @returns how many */
  startWaiting(most = Infinity): number {
    let started = 0;
    while (this.#waiting > 0 && started < most && this.#hasSlot()) {
      const call = this.#calls[this.#head] as Call;
      if (call.state === 'waiting' && !this.#mayRun(call)) break;
      this.#head++;
      if (call.state !== 'waiting') continue;
      this.#wait(-1, -call.size);
      this.#start(call);
      started++;
    }
    // Half of the line has left: the places are given back, at a cost that stays constant per call.
    if (this.#head > 0 && this.#head * 2 >= this.#calls.length) {
      this.#calls = this.#calls.slice(this.#head);
      this.#head = 0;
    }
    return started;
  }

  #mayWait({ size }: Call): boolean {
    const { waiting, waitingBytes, bounds, holds } = this.#limit;
    if (this.#waitingBytes + size > this.#bounds.maxWaitingBytes) return false;
    if (waitingBytes + size > bounds.maxWaitingBytes) return false;
    // That many wait because of a hold is not the peer's fault.
    if (holds.length > 0) return true;
    return this.#waiting < this.#bounds.maxWaiting && waiting < bounds.maxWaiting;
  }

  #hasSlot(): boolean {
    const { running, bounds, holds } = this.#limit;
    return (
      this.#running < this.#bounds.maxRunning && running < bounds.maxRunning && holds.length === 0
    );
  }

  #hasMemory(size: number): boolean {
    const { maxRunningBytes, maxWaitingBytes } = this.#bounds;
    return this.#quota.hasRoom('inFlight', size, maxRunningBytes + maxWaitingBytes);
  }

  /** Whether its message is short enough to be one more of those that run. */
  #mayRun({ size }: Call): boolean {
    const { runningBytes, bounds } = this.#limit;
    const own = this.#runningBytes;
    if (own === 0) return runningBytes === 0 || runningBytes + size <= bounds.maxRunningBytes;
    return (
      own + size <= this.#bounds.maxRunningBytes && runningBytes + size <= bounds.maxRunningBytes
    );
  }

  #run(bytes: number): void {
    this.#runningBytes += bytes;
    this.#limit.runningBytes += bytes;
  }

  #count(more: number): void {
    this.#running += more;
    this.#limit.running += more;
  }

  #wait(more: number, bytes: number): void {
    this.#waiting += more;
    this.#waitingBytes += bytes;
    this.#limit.waiting += more;
    this.#limit.waitingBytes += bytes;
  }

  #start(call: Call): void {
    this.#count(1);
    this.#run(call.size);
    call.state = 'running';
    this.#runner.run(call);
  }
}

/** The queues of parties. Each has the bounds of a session to itself, and all share the router's places. */
export class FairCallQueue {
  readonly #create: (clientKey: string) => CallQueue;
  readonly #limit: ConcurrencyLimit;
  /** The one that was served last comes last. */
  readonly #queues = new Map<string, CallQueue>();
  /** The one that became idle last. It is kept: a client that has called calls again. */
  #idle: string | undefined = undefined;

  constructor(bounds: QueueBounds, quotas: Quotas, runner: CallRunner, places: ConcurrencyLimit) {
    this.#create = (clientKey) => new CallQueue(bounds, quotas.acquire(clientKey), runner, places);
    this.#limit = places;
  }

  /** All calls have been removed, and none will be added. */
  close(): void {
    for (const queue of this.#queues.values()) queue.close();
    this.#queues.clear();
  }

  queueOf(clientKey: string): CallQueue {
    const known = this.#queues.get(clientKey);
    if (known) return known;
    const made = this.#create(clientKey);
    this.#queues.set(clientKey, made);
    return made;
  }

  /** Starts what waits, as far as there is room: one call of each clientKey in turn. */
  startWaiting(): void {
    if (this.#limit.waiting === 0) return;
    let started: number;
    do {
      started = 0;
      for (const [clientKey, queue] of [...this.#queues]) {
        if (queue.startWaiting(1) === 0) continue;
        started++;
        this.#queues.delete(clientKey);
        this.#queues.set(clientKey, queue);
      }
    } while (started > 0);
  }

  /** One of the clientKey's calls has left its queue: only the last idle queue is kept. */
  onCallRemoved(clientKey: string): void {
    if (!this.#isIdle(clientKey) || this.#idle === clientKey) return;
    const idle = this.#idle;
    this.#idle = clientKey;
    if (idle === undefined || !this.#isIdle(idle)) return;
    this.#queues.get(idle)?.close();
    this.#queues.delete(idle);
  }

  #isIdle(clientKey: string): boolean {
    return this.#queues.get(clientKey)?.isIdle ?? false;
  }
}

/**
 * The error for a request that is refused.
 *
 * @param now what waits as the request comes, and how long it is
 */
export function overloadedError(
  { maxRunning, maxRunningBytes, maxWaiting, maxWaitingBytes }: QueueBounds,
  now: { readonly waiting: number; readonly waitingBytes: number; readonly size: number },
): WireError {
  const { waiting, waitingBytes, size } = now;
  let what = `the requests in flight, of the client or of all clients, leave no room for this one of ${size} bytes: those of a client may come to ${maxRunningBytes + maxWaitingBytes}`;
  if (waitingBytes + size > maxWaitingBytes) {
    what = `${waiting} requests of ${waitingBytes} bytes wait, and this one of ${size} would be more than ${maxWaitingBytes}`;
  } else if (waiting >= maxWaiting) {
    what = `${maxRunning} requests run and ${maxWaiting} wait`;
  }
  return {
    code: ErrorCode.serverUnavailable,
    message: `Overloaded: ${what}; try again when some have been answered`,
    data: { reason: 'overloaded', retryable: true },
  };
}
