/** How much is done in a run. */
import { KiB, MiB } from './measures/measure.ts';
import type { Sizes } from './measures/measure.ts';

export type Extent = 'full' | 'quick' | 'smoke' | 'profile';

export const sizes: Readonly<Record<Extent, Sizes>> = {
  /** What is published. */
  full: {
    rounds: 5,
    repeats: 5,
    sequential: 4_000,
    warmUp: 10_000,
    messages: 20_000,
    early: { before: 8_000, echoes: 3_000, rootsBefore: 500, roots: 2_000 },
    sessions: 8,
    large: [64 * KiB, 1 * MiB, 2 * MiB, 4 * MiB, 10 * MiB, 16 * MiB, 32 * MiB],
    largeRepeats: 3,
    asked: 10_000,
    calls: 100_000,
    cancelled: 10_000,
    pending: 10_000,
    unread: 400,
    settleMs: 500,
    silenceMs: 15_000,
  },
  /** For a look while working: under a minute, its numbers rough. */
  quick: {
    rounds: 1,
    repeats: 1,
    sequential: 300,
    warmUp: 4_000,
    messages: 3_000,
    early: { before: 800, echoes: 300, rootsBefore: 100, roots: 400 },
    sessions: 2,
    large: [64 * KiB, 1 * MiB, 10 * MiB],
    largeRepeats: 1,
    asked: 1_000,
    calls: 3_000,
    cancelled: 500,
    pending: 2_000,
    unread: 60,
    settleMs: 50,
    silenceMs: 3_000,
  },
  /** For a CPU profile: so long in the steady state that the start and the first calls are lost in it. */
  profile: {
    rounds: 1,
    repeats: 1,
    sequential: 300,
    warmUp: 20_000,
    messages: 200_000,
    early: { before: 8_000, echoes: 3_000, rootsBefore: 500, roots: 2_000 },
    sessions: 2,
    large: [64 * KiB, 1 * MiB, 10 * MiB, 32 * MiB],
    largeRepeats: 3,
    asked: 60_000,
    calls: 300_000,
    cancelled: 10_000,
    pending: 10_000,
    unread: 400,
    settleMs: 50,
    silenceMs: 15_000,
  },
  /** For CI: every path once, its numbers meaningless. */
  smoke: {
    rounds: 1,
    repeats: 1,
    sequential: 20,
    warmUp: 50,
    messages: 200,
    early: { before: 40, echoes: 20, rootsBefore: 20, roots: 50 },
    sessions: 1,
    large: [64 * KiB, 1 * MiB, 10 * MiB],
    largeRepeats: 1,
    asked: 100,
    calls: 500,
    cancelled: 50,
    pending: 200,
    unread: 8,
    settleMs: 10,
    silenceMs: 8_000,
  },
};
