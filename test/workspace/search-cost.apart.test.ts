/** What a search asks the system for, counted. */
import type * as childProcess from 'node:child_process';
import type * as fs from 'node:fs/promises';
import { beforeEach, describe, expect, test, vi } from 'vitest';
import { collectMatches } from '../../src/workspace/search/text-search.ts';
import { boundaryAt } from './root-at.ts';
import { temporaryDirectory } from './temporary-directory.ts';

const asked = vi.hoisted(() => ({ processes: 0, realPaths: 0 }));

vi.mock('node:child_process', async (importOriginal) => {
  const original = await importOriginal<typeof childProcess>();
  const spawn = (...args: Parameters<typeof original.spawn>) => {
    asked.processes += 1;
    return original.spawn(...args);
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

/** Searches files of one line each; gives how many lines it has found, and how many of the files it has looked at. */
async function searchLines(line: string, limit: number) {
  const names = Array.from({ length: 200 }, (_, index) => `${index}.txt`);
  const cwd = await temporaryDirectory(Object.fromEntries(names.map((name) => [name, line])));
  Object.assign(asked, { processes: 0, realPaths: 0 });
  let accepted = 0;
  const { matchingLines, truncated } = await collectMatches({
    boundary: boundaryAt(cwd),
    patternArgs: ['--regexp=needle'],
    fileArgs: [],
    accepts() {
      accepted += 1;
      return true;
    },
    contextLines: 0,
    limit,
    signal: never,
    deadline: never,
    onMatch: () => {},
  });
  return { matchingLines, truncated, accepted };
}

describe('a text search', () => {
  // The first search looks for the binary.
  beforeEach(async () => void (await searchLines('other', 1)));

  test('starts no second process if there is no match', async () => {
    expect(await searchLines('other', 100)).toMatchObject({ matchingLines: 0, accepted: 0 });
    expect(asked.processes).toBe(1);
  });

  test('looks at no more files than its limit needs', async () => {
    const found = await searchLines('needle', 5);
    expect(found).toEqual({ matchingLines: 5, truncated: 'limit', accepted: 6 });
    expect(asked.processes).toBe(2);
  });

  test.runIf(process.platform === 'linux')(
    'checks its root, not the way to each file',
    async () => {
      expect((await searchLines('needle', 1000)).matchingLines).toBe(200);
      expect(asked.realPaths).toBeLessThan(40);
    },
  );
});
