/** When something that was lost is tried again, and when it is given up. */

/** The times of a policy that tries again. */
export interface RestartTimes {
  /** Before the first new attempt, milliseconds. */
  readonly initialMs: number;
  /** The longest wait, milliseconds. */
  readonly maxMs: number;
  /** Each wait is the previous one times this factor. */
  readonly factor: number;
  /**
   * The fraction by which a wait may be shorter or longer, 0 to 1, so that many clients that lost
   * the same server do not come back at the same moment.
   */
  readonly jitter: number;
  /** How many attempts in a row may fail to become stable; `Infinity` never gives up. */
  readonly maxAttempts: number;
  /**
   * How long a connection must be ready before its attempts count from 0 again, milliseconds. A
   * handshake alone is not enough: a server that greets and dies would be restarted forever.
   */
  readonly stableMs: number;
}

/** `none`: one loss is the end. */
export type RestartPolicy = 'none' | RestartTimes;

/**
 * How long to wait before a new attempt, milliseconds; `give-up` if no attempt is left.
 *
 * @param attempt 1 for the first new attempt since the connection was stable, or since the start
 * @param random gives a number from 0 to less than 1
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
