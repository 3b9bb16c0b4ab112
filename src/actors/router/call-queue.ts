/**
 * Limits the concurrency of calls: FIFO queues, one per client. Clients without sessions share one
 * router; their queues are served round-robin.
 */
import { ErrorCode } from '../../protocol/errors.ts';
import type { WireError } from '../../protocol/frames.ts';
import { maxClientsAtLimit } from '../limits.ts';
import type { Quota, Quotas } from '../memory-budget.ts';
import type { Call } from './call.ts';

/** Reason to start no calls: the peer does not read its output. */
export type HoldReason = 'output';

const nothing: readonly HoldReason[] = [];

/**
 * Smaller messages are not charged to the client's quota: their number is bounded per session, and
 * small requests stay fast.
 */
const minCountedBytes = 4096;

/** Removed calls that may stay in the queue before it is compacted. */
const slack = 64;

export interface QueueBounds {
  /** Maximum number of running calls. */
  readonly maxRunning: number;
  /** Maximum number of queued calls. Not enforced while calls are on hold. */
  readonly maxWaiting: number;
  /** Maximum size of all queued messages, UTF-16 units. */
  readonly maxWaitingBytes: number;
  /**
   * Maximum size of all running messages, parked ones included, UTF-16 units. A single larger call
   * may run.
   */
  readonly maxRunningBytes: number;
}

/** The limits that a router's queues share: a multiple of the limits of one queue. */
export class ConcurrencyLimit {
  readonly bounds: QueueBounds;
  running = 0;
  waiting = 0;
  waitingBytes = 0;
  runningBytes = 0;
  /** Current reasons to start no calls. */
  holds = nothing;

  constructor(bounds: QueueBounds, times = maxClientsAtLimit) {
    this.bounds = {
      maxRunning: bounds.maxRunning * times,
      maxWaiting: bounds.maxWaiting * times,
      maxWaitingBytes: bounds.maxWaitingBytes * times,
      maxRunningBytes: bounds.maxRunningBytes * times,
    };
  }

  /** Starts no calls until {@link release}. Running calls continue. */
  hold(reason: HoldReason): void {
    if (!this.holds.includes(reason)) this.holds = [...this.holds, reason];
  }

  release(reason: HoldReason): void {
    if (this.holds.length > 0) this.holds = this.holds.filter((other) => other !== reason);
  }
}

/** Runs dequeued calls. An object instead of a function, to avoid a closure per session. */
export interface CallRunner {
  run(call: Call): void;
}

export class CallQueue {
  readonly #bounds: QueueBounds;
  /** The client's quota, shared with its other sessions. */
  readonly #quota: Quota;
  readonly #runner: CallRunner;
  /** Queued calls in order of arrival. Calls that ended meanwhile are skipped. */
  #calls: Call[] = [];
  /**
   * Index of the first queued call: removing from the front of an array or a Set gets slower with
   * its length.
   */
  #head = 0;
  #waiting = 0;
  #waitingBytes = 0;
  /** Size of running and parked messages. */
  #runningBytes = 0;
  /** Number of running, queued and parked calls. */
  #held = 0;
  readonly #limit: ConcurrencyLimit;
  #running = 0;

  /** @param limit shared with the other queues of the router */
  constructor(bounds: QueueBounds, room: Quota, runner: CallRunner, shared: ConcurrencyLimit) {
    this.#limit = shared;
    this.#bounds = bounds;
    this.#quota = room;
    this.#runner = runner;
  }

  /** Releases the quota. No call may be added afterwards. */
  close(): void {
    this.#quota.release();
  }

  /** Number of running calls, without parked ones. */
  get running(): number {
    return this.#running;
  }

  /** Size of all queued messages, UTF-16 units. */
  get waitingBytes(): number {
    return this.#waitingBytes;
  }

  /** Number of queued calls. */
  get waiting(): number {
    return this.#waiting;
  }

  /** True if no call is running, queued or parked. */
  get isIdle(): boolean {
    return this.#held === 0;
  }

  /** Runs or queues the call. Returns false, without any change, if a limit is exceeded. */
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
   * Removes a call, before its state changes to `ended`. Call {@link startWaiting} to start the
   * next one: starting it here would nest handlers that end synchronously.
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
    // While calls are on hold, ended ones are not skipped; compact once they are the majority.
    if (this.#calls.length > 2 * this.#waiting + slack) {
      this.#calls = this.#calls.filter((other) => other.state === 'waiting' && other !== call);
      this.#head = 0;
    }
  }

  /**
   * Frees the slot of a running call that only waits for others. Call {@link startWaiting} to start
   * the next one.
   */
  park(call: Call): void {
    if (call.state !== 'running') return;
    call.state = 'parked';
    this.#count(-1);
  }

  /** Takes a slot for a parked call even if none is free, since the call runs anyway. */
  resume(call: Call): void {
    if (call.state !== 'parked') return;
    call.state = 'running';
    this.#count(1);
  }

  /**
   * Starts queued calls while slots are free. @param most maximum number of calls @returns number
   * of started calls
   */
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
    // Half of the queue is consumed: compacting now costs amortized O(1) per call.
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
    // During a hold the queue grows through no fault of the peer.
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

  /** True if the call's message fits into the limit for running ones. */
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

/** Queues by client. Each has the limits of one session, and all share the router's limit. */
export class FairCallQueue {
  readonly #create: (clientKey: string) => CallQueue;
  readonly #limit: ConcurrencyLimit;
  /** Queues by client; the last served is last. */
  readonly #queues = new Map<string, CallQueue>();
  /** The queue that became idle last. Kept, because its client is likely to call again. */
  #idle: string | undefined = undefined;

  constructor(bounds: QueueBounds, quotas: Quotas, runner: CallRunner, places: ConcurrencyLimit) {
    this.#create = (clientKey) => new CallQueue(bounds, quotas.acquire(clientKey), runner, places);
    this.#limit = places;
  }

  /** Releases all quotas. No call may be added afterwards. */
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

  /** Starts queued calls while slots are free, one call per client in turn. */
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

  /** Drops idle queues except the last, after a call has been removed. */
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
 * The error for a request that exceeds a limit.
 *
 * @param now number and size of the queued requests, and the size of this one
 */
export function overloadedError(
  { maxRunning, maxRunningBytes, maxWaiting, maxWaitingBytes }: QueueBounds,
  now: { readonly waiting: number; readonly waitingBytes: number; readonly size: number },
): WireError {
  const { waiting, waitingBytes, size } = now;
  let what = `the requests in flight may have ${maxRunningBytes + maxWaitingBytes} bytes per client, and this one of ${size} bytes does not fit`;
  if (waitingBytes + size > maxWaitingBytes) {
    what = `${waiting} requests of ${waitingBytes} bytes are queued, and this one of ${size} bytes would exceed ${maxWaitingBytes}`;
  } else if (waiting >= maxWaiting) {
    what = `${maxRunning} requests are running and ${maxWaiting} are queued`;
  }
  return {
    code: ErrorCode.serverUnavailable,
    message: `Overloaded: ${what}; retry when some have been answered`,
    data: { reason: 'overloaded', retryable: true },
  };
}
