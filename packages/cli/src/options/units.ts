/** Option values with a unit: durations and sizes. */
import { UsageError } from '../command.ts';

/** Kind of quantity. */
export type Quantity = 'duration' | 'size' | 'count';

type Units = { readonly [unit: string]: number };

/** Ascending, so that the last unit that divides a value gives its shortest form. */
const durationUnits: Units = { ms: 1, s: 1000, min: 60_000, h: 3_600_000 };
const sizeUnits: Units = { B: 1, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3 };

/**
 * Accepted unit spellings in lower case. A plain number is bytes or a count; a duration needs a
 * unit.
 */
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
  size: 'a size such as 64KiB or 16MiB (plain numbers are bytes)',
  count: 'a whole number',
};

/** Minimum and maximum in the base unit. */
export interface Bounds {
  readonly min: number;
  readonly max: number;
}

/**
 * Parses a value.
 *
 * @returns milliseconds, bytes or a count: an integer within the bounds
 * @throws {UsageError} with the expected form; the caller adds the option's name
 */
export function parseQuantity(quantity: Quantity, text: string, { min, max }: Bounds): number {
  const trimmed = text.trim();
  // 0 needs no unit. Other plain numbers are ambiguous between seconds and milliseconds.
  if (quantity === 'duration' && /^\d+(?:\.\d+)?$/.test(trimmed) && Number(trimmed) !== 0) {
    throw new UsageError(
      `must have a unit, got ${JSON.stringify(text)}: write ${trimmed}ms, ${trimmed}s or ${trimmed}min`,
    );
  }
  const match = /^(\d+(?:\.\d+)?) ?([a-z]*)$/i.exec(trimmed);
  const unit = readable[quantity][match?.[2]?.toLowerCase() ?? 'none'];
  if (match === null || unit === undefined) {
    throw new UsageError(`must be ${shapes[quantity]}, got ${JSON.stringify(text)}`);
  }
  // Tolerate rounding errors of decimal fractions such as 1.005s.
  const exact = Number(match[1]) * unit;
  const value = Math.round(exact);
  if (Math.abs(exact - value) > 1e-6) {
    throw new UsageError(`must be whole, got ${JSON.stringify(text)} = ${exact}`);
  }
  if (value < min || value > max) {
    const [low, high] = [formatQuantity(quantity, min), formatQuantity(quantity, max)];
    throw new UsageError(`must be ${low} to ${high}, got ${JSON.stringify(text)}`);
  }
  return value;
}

/**
 * Formats a value with the largest unit that keeps it whole. {@link parseQuantity} parses it back.
 */
export function formatQuantity(quantity: Quantity, value: number): string {
  if (quantity === 'count' || value === 0) return String(value);
  const units = Object.entries(quantity === 'duration' ? durationUnits : sizeUnits);
  const [name, factor] = units.findLast(([, unit]) => value % unit === 0) as [string, number];
  return `${value / factor}${name}`;
}
