import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { pages } from '../docs/pages.ts';
import { lackOf, lacks } from './systems.ts';

const folder = join(import.meta.dirname, '../..');

describe('tests skipped per platform', () => {
  const rows = lacks.flatMap(({ tests, why }) =>
    Object.entries(tests).map(([file, which]) => ({ file, which, why })),
  );

  test.each(rows)('refer to existing tests: $file, $why', ({ file, which }) => {
    expect(existsSync(join(folder, file))).toBe(true);
    // Some titles are the names of pages.
    const source = readFileSync(join(folder, file), 'utf8') + pages.join('\n');
    const parts = which === 'all' ? [] : which.source.split('|');
    const isThere = (part: string) => new RegExp(part).test(source);
    expect(parts.filter((part) => !isThere(part))).toEqual([]);
  });

  test('are skipped only on that platform', () => {
    const file = join(folder, 'packages/serve/test/serve.test.ts');
    const title = 'a signal lets running calls finish';
    expect(lackOf('win32', file, title)).toMatch(/^Windows ends a process/);
    expect(lackOf('win32', String.raw`C:\a\packages\serve\test\serve.test.ts`, title)).toMatch(
      /^Windows/,
    );
    expect(lackOf('darwin', file, title)).toBeUndefined();
    expect(lackOf('linux', file, title)).toBeUndefined();
    expect(lackOf('win32', file, 'an error of a handler is on stderr')).toBeUndefined();
    expect(
      lackOf('win32', join(folder, 'test/e2e/lab.test.ts'), 'lists its tools'),
    ).toBeUndefined();
  });
});
