import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { formatQuantity, parseQuantity } from '../src/options/units.ts';
import type { Quantity } from '../src/options/units.ts';
import { UsageError } from '../src/command.ts';

const bounds = { min: 0, max: Number.MAX_SAFE_INTEGER };

describe('a value with a unit', () => {
  test.each<[Quantity, string, number]>([
    ['duration', '50ms', 50],
    ['duration', '5s', 5000],
    ['duration', '1.5 s', 1500],
    ['duration', '2min', 120_000],
    ['duration', '2m', 120_000],
    ['duration', '1h', 3_600_000],
    ['duration', '0', 0],
    ['size', '4096', 4096],
    ['size', '16MiB', 16 * 1024 ** 2],
    ['size', '16m', 16 * 1024 ** 2],
    ['size', '64kib', 65_536],
    ['size', '64K', 65_536],
    ['size', '1.1kB', 1100],
    ['size', '2GB', 2_000_000_000],
    ['count', '64', 64],
  ])('%s %j is %d', (quantity, text, value) => {
    expect(parseQuantity(quantity, text, bounds)).toBe(value);
  });

  test.each<[Quantity, string]>([
    ['duration', ''],
    ['duration', '5'],
    ['duration', '1.5'],
    ['duration', 'soon'],
    ['duration', '-5s'],
    ['duration', '5 fortnights'],
    ['duration', '5s5s'],
    ['duration', '1e3'],
    ['duration', 'Infinity'],
    ['duration', '16MiB'],
    ['size', '5s'],
    ['size', '0x10'],
    ['count', '6.4k'],
    ['count', '64ms'],
    ['duration', '0.5ms'],
    ['size', '0.3B'],
  ])('%s %j is refused, and the message repeats it', (quantity, text) => {
    const read = () => parseQuantity(quantity, text, bounds);
    expect(read).toThrow(UsageError);
    expect(read).toThrow(JSON.stringify(text));
  });

  test('a time without a unit is refused, and the message writes it with one', () => {
    const read = () => parseQuantity('duration', '5', bounds);
    expect(read).toThrow('must have a unit, got "5": write 5ms, 5s or 5min');
  });

  test('out of its bounds is refused, and the message names them', () => {
    const read = (text: string) => () => parseQuantity('duration', text, { min: 1, max: 5000 });
    expect(read('0')).toThrow('must be 1ms to 5s');
    expect(read('6s')).toThrow('must be 1ms to 5s');
  });

  test('is read back as it was written', () => {
    const quantity = fc.constantFrom<Quantity>('duration', 'size', 'count');
    fc.assert(
      fc.property(quantity, fc.maxSafeNat(), (of, value) => {
        expect(parseQuantity(of, formatQuantity(of, value), bounds)).toBe(value);
      }),
    );
  });
});
