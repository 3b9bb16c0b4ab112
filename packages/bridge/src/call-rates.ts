/** Token buckets that limit how often each principal calls each tool. */
import type { Clock } from '../../../src/actors/clock.ts';
import type { Rate } from '../../client/src/hosts/tool-policies.ts';

/** The bucket of one principal for one rate and tool. */
interface Bucket {
  readonly rate: Rate;
  left: number;
  filledAt: number;
}

/** Maximum number of buckets kept for a server's clients. */
export interface RateBounds {
  /** Buckets in total. */
  readonly maxPairs: number;
  /** Buckets of one principal. */
  readonly maxOfOne: number;
}

const rateBounds: RateBounds = { maxPairs: 10_000, maxOfOne: 1000 };

/** Retry delay for calls that would need one bucket too many, milliseconds. */
const noRoomMs = 1000;

export class CallRates {
  readonly #clock: Clock;
  readonly #bounds: RateBounds;
  /** By principal, then by tool and pattern. */
  readonly #buckets = new Map<string, Map<string, Bucket>>();
  #pairs = 0;

  constructor(clock: Clock, bounds: RateBounds = rateBounds) {
    this.#clock = clock;
    this.#bounds = bounds;
  }

  /**
   * Counts a call if all rates allow it.
   *
   * @param rates by bucket key
   * @returns time to wait before retrying, milliseconds; 0 if the call is allowed
   */
  take(principal: string, rates: ReadonlyMap<string, Rate>): number {
    const now = this.#clock.now();
    const own = this.#buckets.get(principal) ?? new Map<string, Bucket>();
    const unknown = [...rates.keys()].filter((key) => !own.has(key)).length;
    if (unknown > 0 && !this.#hasRoom(own, unknown, now)) return noRoomMs;
    const buckets = [...rates].map(
      ([key, rate]) =>
        own.get(key) ?? this.#begin(own, key, { rate, left: rate.calls, filledAt: now }),
    );
    this.#buckets.set(principal, own);
    for (const each of buckets) fill(each, now);
    const waits = buckets.map(({ left, rate }) => ((1 - left) * rate.perMs) / rate.calls);
    // Floating-point fractions are inexact: ignore waits below a microsecond.
    const wait = Math.max(0, Math.ceil(Math.max(...waits) - 1e-3));
    if (wait === 0) for (const each of buckets) each.left--;
    return wait;
  }

  /** Refunds a counted call that was not made. */
  giveBack(principal: string, rates: ReadonlyMap<string, Rate>): void {
    for (const key of rates.keys()) {
      const bucket = this.#buckets.get(principal)?.get(key);
      if (bucket) bucket.left++;
    }
  }

  #begin(own: Map<string, Bucket>, key: string, full: Bucket): Bucket {
    own.set(key, full);
    this.#pairs++;
    return full;
  }

  /** Drops only full buckets; dropping another would reset its rate limit. */
  #hasRoom(own: ReadonlyMap<string, Bucket>, more: number, now: number): boolean {
    const { maxPairs, maxOfOne } = this.#bounds;
    const fits = () => own.size + more <= maxOfOne && this.#pairs + more <= maxPairs;
    if (fits()) return true;
    for (const [principal, buckets] of this.#buckets) {
      for (const [key, bucket] of buckets) {
        fill(bucket, now);
        if (bucket.left < bucket.rate.calls) continue;
        buckets.delete(key);
        this.#pairs--;
      }
      if (buckets.size === 0) this.#buckets.delete(principal);
    }
    return fits();
  }
}

function fill(bucket: Bucket, now: number): void {
  const { calls, perMs } = bucket.rate;
  bucket.left = Math.min(calls, bucket.left + ((now - bucket.filledAt) * calls) / perMs);
  bucket.filledAt = now;
}
