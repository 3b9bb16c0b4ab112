/** Option values with a unit: durations and sizes. */
import { UsageError } from '../command.ts';

/** What an option's number measures. */
export type Quantity = 'duration' | 'size' | 'count';

type Units = { readonly [unit: string]: number };

/** In ascending order: the last unit that divides a value gives its shortest text. */
const durationUnits: Units = { ms: 1, s: 1000, min: 60_000, h: 3_600_000 };
const sizeUnits: Units = { B: 1, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3 };

/** The accepted spellings, in lower case. A plain number is bytes or a count; a time needs its unit. */
const readable: { readonly [quantity in Quantity]: Units } = {
  duration: { '': 1, ...durationUnits, m: 60_000 },
  size: {
    '': 1,
    b: 1,
    kb: 1000,
    mb: 1000 ** 2,
    gb: 1000 ** 3,
    k: 1024,
    m: 1024 ** 2,
    g: 1024 ** 3,
    kib: 1024,
    mib: 1024 ** 2,
    gib: 1024 ** 3,
  },
  count: { '': 1 },
};

const shapes: { readonly [quantity in Quantity]: string } = {
  duration: 'a duration such as 500ms, 5s or 2min',
  size: 'a size such as 64KiB or 16MiB; a plain number is bytes',
  count: 'a whole number',
};

/** The least and the greatest value of an option, in its base unit. */
export interface Bounds {
  readonly min: number;
  readonly max: number;
}

/**
 * Parses a value.
 *
 * @returns milliseconds, bytes or a count: an integer within the bounds
 * @throws {UsageError} the message says what is right; the caller adds the option's name
 */
export function parseQuantity(quantity: Quantity, text: string, { min, max }: Bounds): number {
  const trimmed = text.trim();
  // 0 is the same in every unit. Any other plain number is 5 seconds to one and 5 milliseconds to another.
  if (quantity === 'duration' && /^\d+(?:\.\d+)?$/.test(trimmed) && Number(trimmed) !== 0) {
    throw new UsageError(
      `${JSON.stringify(text)} has no unit: write ${trimmed}ms, ${trimmed}s or ${trimmed}min`,
    );
  }
  const match = /^(\d+(?:\.\d+)?) ?([a-z]*)$/i.exec(trimmed);
  const unit = readable[quantity][match?.[2]?.toLowerCase() ?? 'none'];
  if (match === null || unit === undefined) {
    throw new UsageError(`${JSON.stringify(text)} is not ${shapes[quantity]}`);
  }
  // Floating point rounds decimal fractions: 1.005s must still be a whole number of milliseconds.
  const exact = Number(match[1]) * unit;
  const value = Math.round(exact);
  if (Math.abs(exact - value) > 1e-6) {
    throw new UsageError(`${JSON.stringify(text)} is not whole: it comes to ${exact}`);
  }
  if (value < min || value > max) {
    const [low, high] = [formatQuantity(quantity, min), formatQuantity(quantity, max)];
    throw new UsageError(
      `${JSON.stringify(text)} is out of range: at least ${low}, at most ${high}`,
    );
  }
  return value;
}

/**
 * Writes a value with the largest unit that keeps it whole; {@link parseQuantity} reads it back.
 */
export function formatQuantity(quantity: Quantity, value: number): string {
  if (quantity === 'count' || value === 0) return String(value);
  const units = Object.entries(quantity === 'duration' ? durationUnits : sizeUnits);
  const [name, factor] = units.findLast(([, unit]) => value % unit === 0) as [string, number];
  return `${value / factor}${name}`;
}
