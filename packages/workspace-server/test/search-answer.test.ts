import { expect, test } from 'vitest';
import { searchHeading } from '../src/tools/search-answer.ts';

type Found = Parameters<typeof searchHeading>[0];
type Walk = Parameters<typeof searchHeading>[1];

const walk = { total: 3, isCut: false } as Walk;
const asked = { mode: 'lines', isFirst: true, base: 'app' } as const;
const found = (matchingLines: number, files: number): Found =>
  ({
    files: Array.from({ length: files }, () => ({})),
    matchingLines,
    binary: [],
    endedBy: 'limit',
  }) as unknown as Found;

test.each([
  [found(1, 1), 'The first matching line, in 1 of 3 files in app.'],
  [found(2, 1), 'The first 2 matching lines, in 1 of 3 files in app.'],
  [{ ...found(2, 1), endedBy: undefined } as Found, '2 matching lines in 1 of 3 files in app.'],
])('searchHeading is grammatical: %#', (result, text) => {
  expect(searchHeading(result, walk, asked)).toBe(text);
});
