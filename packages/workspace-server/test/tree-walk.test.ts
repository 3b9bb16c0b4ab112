import { mkdir, symlink, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { everythingBelow } from '../src/globs/file-selection.ts';
import { WalkCache } from '../src/search/paging.ts';
import { byBreadth, byPath, FirstPaths } from '../src/search/path-order.ts';
import { walkTree } from '../src/search/tree-walk.ts';
import type { TreeWalkRun } from '../src/search/tree-walk.ts';
import { countTurns, workFor } from '../../../test/actors/busy-loop.ts';
import { boundaryAt } from '../../roots/test/root-at.ts';
import { temporaryDirectory } from '../../roots/test/temporary-directory.ts';

const never = new AbortController().signal;

async function walk(cwd: string, rest: Partial<TreeWalkRun> = {}) {
  return await walkTree({
    boundary: boundaryAt(cwd),
    selection: everythingBelow(''),
    hidden: false,
    ignored: false,
    lists: 'files',
    order: byPath,
    from: undefined,
    signal: never,
    deadline: never,
    onProblem: () => {},
    ...rest,
  });
}

test('walkTree reports files too large for search threads, in time slices', async () => {
  const names = Array.from({ length: 40 }, (_, index) => `${index}.txt`);
  const cwd = await temporaryDirectory(Object.fromEntries(names.map((name) => [name, ''])));
  for (const name of names) await truncate(join(cwd, name), 5 * 1024 * 1024);
  const turns = countTurns();
  const filesOfTurn = new Map<number, number>();
  const selection = {
    ...everythingBelow(''),
    acceptsFile() {
      workFor(1);
      filesOfTurn.set(turns.now(), (filesOfTurn.get(turns.now()) ?? 0) + 1);
      return true;
    },
  };
  const { large, paths } = await walk(cwd, { selection });
  expect([...large].toSorted()).toEqual(names.toSorted());
  expect(paths).toHaveLength(40);
  // Five milliseconds, plus the file that exceeds them.
  expect(Math.max(...filesOfTurn.values())).toBeLessThanOrEqual(6);
});

test('walkTree terminates on links that form a cycle', async () => {
  const cwd = await temporaryDirectory({ '.gitignore': 'a/\nb/\n', 'a/x.ts': '', 'b/y.ts': '' });
  await symlink('../b', join(cwd, 'a/to-b'));
  await symlink('../a', join(cwd, 'b/to-a'));
  await symlink('a', join(cwd, 'first'));
  expect((await walk(cwd)).paths).toEqual(['first/to-b/y.ts', 'first/x.ts']);
});

test('walkTree follows a limited number of linked directories and reports the rest', async () => {
  const cwd = await temporaryDirectory({ '.gitignore': 'out/\n' });
  for (let index = 0; index < 103; index += 1) {
    await mkdir(join(cwd, `out/${index}`), { recursive: true });
    await symlink(`out/${index}`, join(cwd, `link-${index}`));
  }
  expect((await walk(cwd)).omitted.count('links')).toBe(3);
});

test('walkTree reports a walk ended by its deadline', async () => {
  const cwd = await temporaryDirectory({ 'a.ts': '' });
  const deadline = AbortSignal.abort(new Error('The time is over'));
  expect(await walk(cwd, { deadline })).toMatchObject({ isWhole: false, paths: [] });
});

test('FirstPaths keeps the first of any number of paths within its size limit', () => {
  const all = Array.from({ length: 1000 }, (_, index) => `${index % 10}/${index}/x`);
  for (const order of [byPath, byBreadth]) {
    const sorted = all.toSorted(order);
    const first = new FirstPaths(order, sorted[10], 700);
    for (const path of all) first.add(path);
    const { paths, isCut } = first.finish();
    expect(paths.join('').length).toBeLessThanOrEqual(700);
    expect(paths.length).toBeGreaterThan(80);
    expect(paths).toEqual(sorted.slice(10, 10 + paths.length));
    expect(isCut).toBe(true);
  }
});

test('WalkCache drops a walk after a minute', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const found = await walk(await temporaryDirectory({ 'a.ts': '', 'b.ts': '' }));
  const kept = new WalkCache(byPath);
  kept.set('query', found);
  expect(kept.get('another', 'a.ts')).toBeUndefined();
  vi.advanceTimersByTime(59_999);
  expect(kept.get('query', 'a.ts')).toBe(found);
  vi.advanceTimersByTime(1);
  expect(kept.get('query', 'a.ts')).toBeUndefined();
});
