import { readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { expect, test } from 'vitest';

const dist = join(import.meta.dirname, '../../dist');

/** A built file and those that Node loads with it, before any lazy import. */
function loadedWith(file: string, loaded = new Set<string>()): ReadonlySet<string> {
  if (loaded.has(file)) return loaded;
  loaded.add(file);
  for (const [, path = ''] of readFileSync(file, 'utf8').matchAll(
    /(?:from|import) ?"(\.[^"]+)"/g,
  )) {
    loadedWith(join(dirname(file), path), loaded);
  }
  return loaded;
}

// The command imports the rest of itself once it has turned the compile cache on.
test.each([
  { entry: 'index.js', chunks: 1 },
  { entry: 'bin/cli.js', chunks: 0 },
  { entry: 'bin/main.js', chunks: 1 },
])('$entry is loaded with no more than one chunk', ({ entry, chunks }) => {
  const files = [...loadedWith(join(dist, entry))].map((file) => relative(dist, file));
  expect(files).toEqual([
    entry,
    ...Array.from({ length: chunks }, () => expect.stringMatching(/chunks\/chunk-\w+\.js$/)),
  ]);
  expect(files.map((file) => readFileSync(join(dist, file), 'utf8')).join('')).not.toContain(
    'unknown keyword',
  );
});
