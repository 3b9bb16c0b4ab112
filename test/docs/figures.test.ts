/** Figures with units on pages match the code. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { logLevels } from '../../src/protocol/log-levels.ts';
import { citations } from './figures.ts';
import { figurePages, figuresOf } from './page-figures.ts';
import { repository } from './pages.ts';

/** A row of a limits table, as `name: default`. */
const file = (path: string) =>
  readFileSync(join(repository, path), 'utf8').replaceAll(/: \{\n\s+default: /g, ': ');

test.each(figurePages)(
  'cites the code on %s for each of its figures, and for nothing else',
  (page) => {
    expect(Object.keys(citations[page] ?? {}).toSorted()).toEqual(figuresOf(page).toSorted());
  },
);

test('counts eight log levels in the protocol', () => {
  expect(logLevels).toHaveLength(8);
});

test('cites figures only for existing pages', () => {
  expect(Object.keys(citations).filter((page) => !figurePages.includes(page))).toEqual([]);
});

test.each(
  Object.entries(citations).flatMap(([page, figures]) =>
    Object.entries(figures).flatMap(([figure, cited]) =>
      cited.map(([path, text]) => [page, figure, path, text] as const),
    ),
  ),
)('%s: %s is in %s: %s', (_page, _figure, path, text) => {
  const at = file(path).indexOf(text);
  expect(at).toBeGreaterThanOrEqual(0);
  // A figure followed by another digit is a different one.
  expect(file(path).slice(at + text.length)).not.toMatch(/^(?:\w|\.\d)/);
});

describe('figures', () => {
  test.each([
    ['It waits 30 s, then 1.5 s.', ['30 s', '1.5 s']],
    ['Five attempts, at\nmost ten times', ['five attempts', 'ten times']],
    [
      '(16 MiB), a 250-ms wait, 10,000 entries, 256 Ki characters',
      ['16 MiB', '250 ms', '10,000 entries', '256 Ki characters'],
    ],
    ['20 % of it, 20 % again', ['20 %']],
    [
      '`maxA` (8), `maxB` (16384; no more)\n| `maxC` | 1,024 |\n| `d`, `maxE` | 7, 9 |',
      ['maxA 8', 'maxB 16384', 'maxC 1,024'],
    ],
  ])('are found in a sentence: %s', (text, found) => {
    expect(figuresOf('', text)).toEqual(found);
  });

  test.each([
    'revision 2026-07-28 sets 30 so',
    '`30 s`',
    '_It waits 30 s_',
    '```text\n30 s\n```',
    '<!-- generated: a -->\n30 s\n<!-- end -->',
    '<!-- measured: a -->\n30 s\n<!-- end -->',
  ])('are ignored if generated, printed or code: %s', (text) => {
    expect(figuresOf('', text)).toEqual([]);
  });
});
