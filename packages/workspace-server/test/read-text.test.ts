/** Amount of a file read, and amount kept. */
import { appendFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import { LineExtractor } from '../src/text/line-range.ts';
import type { LineRange } from '../src/text/line-range.ts';
import { readText } from '../src/text/read-text.ts';
import type { ReadBounds } from '../src/text/read-bounds.ts';
import { temporaryDirectory } from '../../roots/test/temporary-directory.ts';

test('LineExtractor gives the same lines for chunks of any size', () => {
  const text = fc.string({ unit: fc.constantFrom('a', 'b', '\n', '😀'), maxLength: 40 });
  const range = fc.record({
    startLine: fc.integer({ min: 1, max: 5 }),
    endLine: fc.integer({ min: 5, max: 9 }),
    startColumn: fc.integer({ min: 1, max: 4 }),
    maxCharacters: fc.integer({ min: 2, max: 20 }),
  });
  const take = (pieces: readonly string[], asked: LineRange) => {
    const taker = new LineExtractor(asked);
    for (const piece of pieces) taker.add(piece);
    return taker.finish();
  };
  fc.assert(
    fc.property(text, range, (whole, asked) => {
      expect(take([...whole], asked)).toEqual(take([whole], asked));
    }),
  );
});

const line = '0123456789abcde\n';

/** Reads a file of 64 KiB times `pieces` and reports the bytes read after each chunk. */
async function readBounded(
  pieces: number,
  range: Partial<LineRange>,
  bounds: Partial<ReadBounds>,
  {
    unit = line,
    onRead,
  }: { readonly unit?: string; readonly onRead?: (path: string) => void } = {},
) {
  const content = unit.repeat((pieces * 64 * 1024) / unit.length);
  const directory = await temporaryDirectory({ file: content });
  const path = join(directory, 'file');
  const handle = await open(path);
  onTestFinished(async () => await handle.close());
  const read: number[] = [];
  const reading = await readText(
    handle,
    { startLine: 1, startColumn: 1, maxCharacters: 1000, ...range },
    {
      sizeBytes: content.length,
      ...bounds,
      signal: new AbortController().signal,
      onRead: (bytes) => {
        read.push(bytes);
        onRead?.(path);
      },
    },
  );
  if (!reading.text) throw new Error('It is text');
  return { ...reading, bytes: read.at(-1), size: content.length };
}

test('readText reads a file up to its size when opened', async () => {
  let appended = 0;
  const { bytes, size, taken, reach } = await readBounded(
    6,
    {},
    {},
    {
      onRead: (path) => {
        appended += 1;
        if (appended < 50) appendFileSync(path, line.repeat(32 * 1024));
      },
    },
  );
  expect([bytes, reach]).toEqual([size, 'end']);
  expect(taken.lines).toBe(size / line.length);
});

test('readText counts lines after the range only up to maxCountBytes', async () => {
  const { bytes, reach, taken } = await readBounded(20, {}, { maxCountBytes: 100_000 });
  expect(reach).toBe('range');
  expect(bytes).toBeLessThan(400_000);
  expect(taken).toMatchObject({ endLine: 62, next: { startLine: 63, startColumn: 1 } });
});

test('readText reads a range that starts after maxCountBytes', async () => {
  const range = { startLine: 60_000, endLine: 60_001 };
  const { reach, taken } = await readBounded(20, range, { maxCountBytes: 100_000 });
  expect([reach, taken.text]).toEqual(['range', line.repeat(2)]);
});

test.each([
  [{ startLine: 1_000_000 }, line],
  [{ startColumn: 10_000_000 }, 'x'],
])('readText searches the start of %j only up to maxSeekBytes', async (range, unit) => {
  const { bytes, reach, taken } = await readBounded(20, range, { maxSeekBytes: 100_000 }, { unit });
  expect([reach, taken.text]).toEqual(['short', '']);
  expect(bytes).toBeLessThan(400_000);
});

test.runIf(process.platform === 'linux')(
  'readText reads a system file that reports a size of 0',
  async () => {
    const handle = await open('/proc/self/status');
    onTestFinished(async () => await handle.close());
    const range = { startLine: 1, endLine: 1, startColumn: 1, maxCharacters: 1000 };
    const { signal } = new AbortController();
    const reading = await readText(handle, range, { sizeBytes: 0, signal });
    expect(reading).toMatchObject({ taken: { text: expect.stringMatching(/^Name:/) } });
  },
);
