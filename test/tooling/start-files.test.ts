import { readFileSync, readdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';

const repository = join(import.meta.dirname, '../..');
const folders = ['dist', 'packages/cli/dist'];

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
  { entry: 'dist/index.js', isCut: true },
  { entry: 'packages/cli/dist/cli.js', isCut: false },
  { entry: 'packages/cli/dist/main.js', isCut: true },
])('$entry is loaded with as few chunks as their size allows', ({ entry, isCut }) => {
  const [first, ...chunks] = loadedWith(join(repository, entry));
  expect(first).toBe(join(repository, entry));
  const texts = chunks.map((file) => readFileSync(file, 'utf8'));
  const size = texts.reduce((sum, text) => sum + text.length, 0);
  // Helpers of esbuild that all of them need come to lie in one more.
  expect(texts.length).toBeLessThanOrEqual(isCut ? Math.ceil(size / 80_000) + 1 : 0);
  expect(texts.join('')).not.toContain('unknown keyword');
});

test('no built file is larger than 100 KB', () => {
  const large = [...folders, 'packages/inspector/dist', 'packages/openapi/dist']
    .flatMap((folder) =>
      readdirSync(join(repository, folder), { recursive: true, encoding: 'utf8' }).map((name) =>
        join(folder, name),
      ),
    )
    .filter((name) => name.endsWith('.js'))
    .filter((name) => statSync(join(repository, name)).size > 100_000);
  expect(large).toEqual([]);
});
