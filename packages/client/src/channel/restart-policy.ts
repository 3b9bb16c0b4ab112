/** Restart policy: delays between attempts, and when to give up. */

/** Exponential backoff with jitter. */
export interface RestartTimes {
  /** Delay before the first retry, ms. */
  readonly initialMs: number;
  /** Maximum delay, ms. */
  readonly maxMs: number;
  /** Factor between consecutive delays. */
  readonly factor: number;
  /**
   * Random fraction by which a delay may be shorter or longer, 0 to 1. Prevents many clients of the
   * same server from reconnecting at the same moment.
   */
  readonly jitter: number;
  /** Maximum consecutive attempts that do not become stable; `Infinity` never gives up. */
  readonly maxAttempts: number;
  /**
   * Time a connection must stay ready before its attempts are counted from 0 again, ms. The
   * handshake alone is not enough: a server that initializes and crashes would restart forever.
   */
  readonly stableMs: number;
}

/** `none`: the first loss is final. */
export type RestartPolicy = 'none' | RestartTimes;

/**
 * Delay before an attempt, ms; `give-up` if none is left.
 *
 * @param attempt 1 for the first retry since the connection was stable, or since the start
 * @param random returns a number from 0 to less than 1
 */
export function delayBefore(
  attempt: number,
  policy: RestartPolicy,
  random: () => number,
): number | 'give-up' {
  if (policy === 'none' || attempt > policy.maxAttempts) return 'give-up';
  const { initialMs, maxMs, factor, jitter } = policy;
  const middle = Math.min(maxMs, initialMs * factor ** (attempt - 1));
  const shortest = middle * (1 - jitter);
  const longest = Math.min(maxMs, middle * (1 + jitter));
  return shortest + random() * (longest - shortest);
}
