import { readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { expect, test } from 'vitest';

const dist = join(import.meta.dirname, '../../dist');

/** A built file and those that Node loads with it, before any lazy import. */
function loadedWith(file: string, loaded = new Set<string>()): ReadonlySet<string> {
  if (loaded.has(file)) return loaded;
  loaded.add(file);
  for (const [, path = ''] of readFileSync(file, 'utf8').matchAll(/(?:from|import)"(\.[^"]+)"/g)) {
    loadedWith(join(dirname(file), path), loaded);
  }
  return loaded;
}

test.each(['index.js', 'bin/cli.js'])('%s is loaded with one chunk, without ajv', (entry) => {
  const files = [...loadedWith(join(dist, entry))].map((file) => relative(dist, file));
  expect(files).toEqual([entry, expect.stringMatching(/chunks\/chunk-\w+\.js$/)]);
  expect(files.map((file) => readFileSync(join(dist, file), 'utf8')).join('')).not.toContain(
    'unknown keyword',
  );
});
