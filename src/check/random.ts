/** Numbers that look random and are the same for the same seed, on every machine. */

/** Gives whole numbers from 0 to below `bound`. */
export type Random = (bound: number) => number;

/** Mulberry32: small, and good enough to choose among moves. */
export function seededRandom(seed: number): Random {
  let state = seed | 0;
  return (bound) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)) ^ mixed;
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * bound);
  };
}
