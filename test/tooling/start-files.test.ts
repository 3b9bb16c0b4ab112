import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';

const repository = join(import.meta.dirname, '../..');

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

// Each file costs Node about as much as 10 KB of code. The command imports the rest of itself once it has turned the compile cache on.
test.each([
  { entry: 'dist/index.js', most: 2 },
  { entry: 'packages/cli/dist/cli.js', most: 0 },
  { entry: 'packages/cli/dist/main.js', most: 4 },
])('$entry loads at most $most chunks', ({ entry, most }) => {
  const [first, ...chunks] = loadedWith(join(repository, entry));
  expect(first).toBe(join(repository, entry));
  const texts = chunks.map((file) => readFileSync(file, 'utf8'));
  expect(texts.length).toBeLessThanOrEqual(most);
  expect(texts.join('')).not.toContain('unknown keyword');
});
