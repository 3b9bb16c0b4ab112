/** Counts the system calls of a search. */
import type * as childProcess from 'node:child_process';
import type * as fs from 'node:fs/promises';
import { beforeEach, describe, expect, test, vi } from 'vitest';
import { findCounts, findLines } from '../src/search/text-search.ts';
import type { TextSearchRun } from '../src/search/text-search.ts';
import { boundaryAt } from '../../roots/test/root-at.ts';
import { temporaryDirectory, writeAlike } from '../../roots/test/temporary-directory.ts';

const asked = vi.hoisted(() => ({ processes: 0, realPaths: 0, searched: 0 }));

vi.mock('node:child_process', async (importOriginal) => {
  const original = await importOriginal<typeof childProcess>();
  const spawn = (...[file, args, options]: Parameters<typeof original.spawn>) => {
    asked.processes += 1;
    asked.searched += args.filter((argument) => argument.startsWith('./')).length;
    return original.spawn(file, args, options);
  };
  return { ...original, spawn };
});
vi.mock('node:fs/promises', async (importOriginal) => {
  const original = await importOriginal<typeof fs>();
  const realpath = async (path: string) => {
    asked.realPaths += 1;
    return await original.realpath(path);
  };
  return { ...original, realpath };
});

const never = new AbortController().signal;

/** Searches in single-line files. */
async function searchOf(line: string, limit: number, count = 200): Promise<TextSearchRun> {
  const names = Array.from({ length: count }, (_, index) => `${'x'.repeat(100)}${index}.txt`);
  const cwd = await temporaryDirectory();
  await writeAlike(cwd, names, line);
  Object.assign(asked, { processes: 0, realPaths: 0, searched: 0 });
  return {
    boundary: boundaryAt(cwd),
    paths: names.toSorted(),
    large: new Set(),
    afterLine: 0,
    patternArgs: ['--regexp=needle'],
    contextLines: 0,
    limit,
    signal: never,
    deadline: never,
    onProblem: () => {},
    onMatch: () => {},
  };
}

describe('text search', () => {
  // The first search also locates the binary.
  beforeEach(async () => void (await findLines(await searchOf('other', 1, 1))));

  test('starts no process for lines if nothing matches', async () => {
    expect(await findLines(await searchOf('other', 100, 50))).toMatchObject({ matchingLines: 0 });
    expect(asked.processes).toBe(1);
  });

  test('reads only a few batches of files if they have enough matches', async () => {
    const search = await searchOf('needle', 5, 500);
    const found = await findCounts(search, false);
    expect(found).toMatchObject({ endedBy: 'limit' });
    expect(found.files).toHaveLength(5);
    expect(asked.searched).toBeLessThan(200);
    asked.searched = 0;
    const { matchingLines, endedBy } = await findLines(search);
    expect([matchingLines, endedBy]).toEqual([5, 'limit']);
    expect(asked.searched).toBeLessThan(400);
  });

  test.runIf(process.platform === 'linux')(
    'checks its root, not the path of each file',
    async () => {
      expect((await findLines(await searchOf('needle', 1000))).matchingLines).toBe(200);
      expect(asked.realPaths).toBeLessThan(40);
    },
  );
});
