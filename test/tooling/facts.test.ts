/** Every fact that may be reported is named by a test. */
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { libraryFolders } from './layers.ts';
import { testFolders } from './sources.ts';

const repository = join(import.meta.dirname, '../..');

const textsBelow = (folder: string): readonly string[] =>
  readdirSync(join(repository, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && !name.startsWith('.'))
    .map((name) => readFileSync(join(repository, folder, name), 'utf8'));

/** The names in the unions `…FactName`. */
const declared = libraryFolders
  .flatMap(textsBelow)
  .flatMap((text) =>
    [...text.replaceAll(/\/\*\*[^]*?\*\//g, '').matchAll(/type \w*FactName\s*=([^;]*);/g)].flatMap(
      ([, names = '']) => [...names.matchAll(/'([\w.]+)'/g)].map(([, name = '']) => name),
    ),
  );

const tests = testFolders().flatMap(textsBelow).join('\n');

test('facts are declared once', () => {
  expect(declared.length).toBeGreaterThan(40);
  expect(new Set(declared).size).toBe(declared.length);
});

test.each(declared)('a test covers the fact %s', (name) => {
  const named = new RegExp(`(?<![\\w.])${name.replace('.', String.raw`\\?\.`)}(?!\\w)`);
  // Not `toMatch`: it would print all tests.
  expect(named.test(tests)).toBe(true);
});
