import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { LineSplitter } from '../../src/actors/reader/line-splitter.ts';

/** Counts copied and decoded bytes. */
function counted() {
  const copied = vi.spyOn(Uint8Array.prototype, 'set');
  const decoded = vi.spyOn(TextDecoder.prototype, 'decode');
  const sum = (calls: readonly (readonly unknown[])[]) =>
    calls.reduce((total, [from]) => total + (from as Uint8Array).length, 0);
  return {
    copiedBytes: () => sum(copied.mock.calls),
    decodedBytes: () => sum(decoded.mock.calls),
    decodeCalls: () => decoded.mock.calls.length,
    forget: () => {
      copied.mockClear();
      decoded.mockClear();
    },
  };
}

afterEach(() => {
  vi.restoreAllMocks();
});

describe('the cost of LineSplitter', () => {
  test.each([
    [1, 16],
    [2, 16],
    [7, 16],
    [64, 16],
    [1000, 16],
    [10_000, 16],
    [16_384, 1],
    [65_536, 1],
  ])(
    'decodes a huge line once in chunks of %i, copying each byte at most %i times',
    (size, copies) => {
      const splitter = new LineSplitter(2 ** 24);
      const chunk = new Uint8Array(size).fill(0x61);
      // Long enough for a constant cost per byte.
      const count = Math.floor(Math.min(2 ** 20, 2 ** 16 * size) / size);
      const cost = counted();
      let ended = 0;
      for (let i = 0; i < count; i++) ended += splitter.push(chunk).length;
      expect(ended).toBe(0);
      expect(splitter.push(Uint8Array.of(0x0a))).toHaveLength(1);
      expect(cost.copiedBytes()).toBeLessThanOrEqual(copies * (size * count + 1));
      expect(cost.decodedBytes()).toBeLessThanOrEqual(size * count + 1);
      expect(cost.decodeCalls()).toBe(1);
    },
  );

  test('copies the bytes of a line a bounded number of times for any chunking', () => {
    const size = fc.oneof(
      fc.integer({ min: 1, max: 5 }),
      fc.integer({ min: 1, max: 300 }),
      fc.integer({ min: 1, max: 17_000 }),
    );
    const descending = [16_383, 6143, 3071, 1535, 767, 383, 191, 95, 47, 23, 11, 5, 2, 1];
    const cost = counted();
    fc.assert(
      fc.property(fc.array(size, { minLength: 1, maxLength: 300 }), (sizes) => {
        const splitter = new LineSplitter(2 ** 24);
        cost.forget();
        for (const each of sizes) splitter.push(new Uint8Array(each).fill(0x61));
        splitter.end();
        const length = sizes.reduce((total, each) => total + each, 0);
        expect(cost.copiedBytes()).toBeLessThanOrEqual(16 * length);
      }),
      { numRuns: 200, examples: [[Array.from({ length: 20 }, () => descending).flat()]] },
    );
  });

  test('decodes a chunk of thousands of lines once, without copying', () => {
    const splitter = new LineSplitter(2 ** 24);
    const chunk = new TextEncoder().encode('{"jsonrpc":"2.0"}\n'.repeat(5000));
    const cost = counted();
    expect(splitter.push(chunk)).toHaveLength(5000);
    expect([cost.copiedBytes(), cost.decodeCalls()]).toEqual([0, 1]);
  });

  test('decodes a chunk at most twice, and invalid lines once more', () => {
    const splitter = new LineSplitter(2 ** 24);
    const chunk = new TextEncoder().encode('{"jsonrpc":"2.0"}\n'.repeat(5000));
    for (let at = 0; at < chunk.length; at += 180) chunk[at] = 0xff;
    const cost = counted();
    expect(splitter.push(chunk)).toHaveLength(5000);
    const badBytes = 500 * '{"jsonrpc":"2.0"}'.length;
    expect(cost.decodedBytes()).toBeLessThanOrEqual(2 * chunk.length + badBytes);
    expect(cost.copiedBytes()).toBe(0);
  });

  test('stops spending on a line once it is known to be too long', () => {
    const splitter = new LineSplitter(1000);
    splitter.push(new Uint8Array(2000));
    const cost = counted();
    for (let i = 0; i < 1000; i++) splitter.push(new Uint8Array(1000));
    expect([cost.copiedBytes(), cost.decodedBytes()]).toEqual([0, 0]);
  });
});

test('does not keep an object per byte for a line received byte by byte', () => {
  setFlagsFromString('--expose-gc');
  const gc = runInNewContext('gc') as () => void;
  const splitter = new LineSplitter(2 ** 24);
  const length = 200_000;
  gc();
  const before = process.memoryUsage();
  for (let i = 0; i < length; i++) splitter.push(Uint8Array.of(0x61));
  gc();
  const after = process.memoryUsage();
  const held = after.heapUsed + after.external - before.heapUsed - before.external;
  expect(held / length).toBeLessThan(16);
  expect(splitter.end()).toEqual(['a'.repeat(length)]);
});
