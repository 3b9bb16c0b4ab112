/** Searches while a file's path or its root changes. */
import { rename, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { SearchInput } from '../src/search/search-input.ts';
import { toolError } from '../../roots/test/fake-context.ts';
import { boundaryAt } from '../../roots/test/root-at.ts';
import { temporaryDirectory } from '../../roots/test/temporary-directory.ts';

test('does not read a directory replaced by an outward link after a match was found in it', async () => {
  const cwd = await temporaryDirectory({ 'sub/a.txt': 'needle inside\n', 'b.txt': 'needle\n' });
  const outside = await temporaryDirectory({ 'a.txt': 'needle outside\n' });
  const problems: string[] = [];
  const input = new SearchInput(
    boundaryAt(cwd),
    0,
    (problem) => problems.push(problem),
    () => {},
  );
  const found = async function* () {
    await rename(join(cwd, 'sub'), join(cwd, 'moved'));
    await symlink(outside, join(cwd, 'sub'));
    yield 'sub/a.txt';
    yield 'b.txt';
  };
  const read: string[] = [];
  for await (const chunk of input.read(found())) read.push(chunk.toString());
  expect(read).toEqual(['needle\n']);
  expect(problems).toEqual([expect.stringContaining('"sub/a.txt" is outside the roots boundary')]);
});

test('does not read a root replaced by another directory during a search', async () => {
  const parent = await temporaryDirectory({
    'root/a.txt': 'needle 1\n',
    'root/b.txt': 'needle 2\n',
    'other/b.txt': 'needle elsewhere\n',
  });
  const input = new SearchInput(
    boundaryAt(join(parent, 'root')),
    0,
    () => {},
    () => {},
  );
  const found = async function* () {
    yield 'a.txt';
    await rename(join(parent, 'root'), join(parent, 'moved'));
    await rename(join(parent, 'other'), join(parent, 'root'));
    yield 'b.txt';
  };
  const read: string[] = [];
  const reading = (async () => {
    for await (const chunk of input.read(found())) read.push(chunk.toString());
  })();
  expect((await toolError(reading)).code).toBe('ROOT_UNAVAILABLE');
  expect(read).toEqual(['needle 1\n']);
});
