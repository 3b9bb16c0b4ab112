import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { listDirectoryTool } from '../../src/tools/list-directory.ts';
import { createWorkspace } from '../../src/project/workspace.ts';
import { callTool, fakeContext, reportOf, toolError } from '../../../roots/test/fake-context.ts';
import { readAnswer } from '../read-answer.ts';
import { rootAt } from '../../../roots/test/root-at.ts';
import { temporaryDirectory } from '../../../roots/test/temporary-directory.ts';
import type { Files } from '../../../roots/test/temporary-directory.ts';

async function project(files: Files) {
  const cwd = await temporaryDirectory(files);
  const tool = listDirectoryTool(createWorkspace({ cwd: '/', home: '/nobody' }));
  const context = fakeContext(reportOf([rootAt(cwd)]));
  const list = async (args: object = {}) => readAnswer((await callTool(tool, args, context)).text);
  return { cwd, list };
}

const files = {
  '.gitignore': '*.log\nnode_modules/\n',
  '.git/HEAD': '',
  '.github/ci.yml': 'on: push\n',
  'README.md': 'x'.repeat(2048),
  'a.log': 'x',
  'node_modules/x/index.js': '',
  'src/a.ts': '',
  'src/deep/b.ts': '',
  'src/deep/deeper/c.ts': '',
};

test('list_directory shows a tree, two levels deep, with sizes, counts and marks', async () => {
  const { list, cwd } = await project(files);
  await mkdir(join(cwd, 'empty'));
  expect(await list()).toEqual({
    heading: [
      `${cwd}: 6 files below it.`,
      'Ignored entries are not counted or entered; ignored: true does both.',
    ],
    lines: [
      '.git/ (not entered)',
      '.github/ (1 file)',
      '  ci.yml 9 B',
      'empty/ (empty)',
      'node_modules/ (ignored)',
      'src/ (3 files)',
      '  deep/ (2 files)',
      '  a.ts 0 B',
      '.gitignore 20 B',
      'README.md 2.0 KB',
      'a.log 1 B (ignored)',
    ],
    cursor: undefined,
  });
});

test('list_directory respects depth', async () => {
  const { list } = await project(files);
  const { lines } = await list({ path: 'src', depth: 1 });
  expect(lines).toEqual(['deep/ (2 files)', 'a.ts 0 B']);
  expect((await list({ path: 'src', depth: 3 })).lines).toEqual([
    'deep/ (2 files)',
    '  deeper/ (1 file)',
    '    c.ts 0 B',
    '  b.ts 0 B',
    'a.ts 0 B',
  ]);
});

test('list_directory enters and counts ignored directories on request, or when named', async () => {
  const { list } = await project(files);
  const { lines, heading } = await list({ ignored: true });
  expect(heading).toHaveLength(1);
  expect(lines).toContain('node_modules/ (1 file)');
  expect(lines).toContain('  x/ (1 file)');
  expect((await list({ path: 'node_modules' })).lines).toEqual(['x/ (1 file)', '  index.js 0 B']);
});

test('list_directory shows link targets', async () => {
  const { list, cwd } = await project({ 'src/a.ts': '' });
  await symlink('src', join(cwd, 'one'));
  await symlink('src/a.ts', join(cwd, 'two'));
  await symlink('/', join(cwd, 'three'));
  await symlink('nowhere', join(cwd, 'four'));
  const { lines } = await list();
  expect(lines.slice(2)).toEqual([
    'four -> nothing',
    'one -> src/',
    'three -> outside the roots',
    'two -> src/a.ts',
  ]);
  expect((await list({ path: 'one' })).lines).toEqual(['a.ts 0 B']);
});

describe('list_directory: entries beyond the limit', () => {
  const many = Object.fromEntries(
    Array.from({ length: 60 }, (_, index) => [`big/${index % 3}/${index}.ts`, '']),
  );

  test('counts entries beyond the limit, shared by the directories of a level', async () => {
    const { list } = await project({ ...many, 'z.md': '' });
    const { lines, heading } = await list({ path: 'big', limit: 15 });
    expect(lines.filter((line) => /^\d/.test(line))).toEqual([
      '0/ (20 files)',
      '1/ (20 files)',
      '2/ (20 files)',
    ]);
    expect(lines.filter((line) => line === '  … 16 more')).toHaveLength(3);
    expect(heading[1]).toContain('list that directory by its path');
    // A few entries of each would say less than their number.
    expect((await list({ path: 'big', limit: 10 })).lines).toHaveLength(3);
  });

  test('gives a cursor for further entries of the directory itself', async () => {
    const { list } = await project(many);
    const all: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await list({
        path: 'big/0',
        limit: 7,
        ...(cursor === undefined ? {} : { cursor }),
      });
      all.push(...page.lines);
      ({ cursor } = page);
    } while (cursor !== undefined);
    expect(all).toHaveLength(20);
    expect(new Set(all).size).toBe(20);
  });
});

test('list_directory refuses a path that is a file, missing or outside', async () => {
  const { list } = await project(files);
  expect((await toolError(list({ path: 'README.md' }))).code).toBe('NOT_A_DIRECTORY');
  expect((await toolError(list({ path: 'absent' }))).code).toBe('NOT_FOUND');
  expect((await toolError(list({ path: '..' }))).code).toBe('OUTSIDE_ROOTS');
});

test('list_directory accepts an absolute path', async () => {
  const { list, cwd } = await project(files);
  expect((await list({ path: join(cwd, 'src/deep') })).heading).toEqual([
    `src/deep in ${cwd}: 2 files below it.`,
  ]);
});

test.runIf(process.platform === 'linux')(
  'list_directory counts names that are not UTF-8 without listing them',
  async () => {
    const { list, cwd } = await project({ 'ok.txt': '', '\ufffd.txt': '', 'src/a.ts': '' });
    const at = (...bytes: number[]) =>
      Buffer.concat([Buffer.from(`${cwd}/`), Buffer.of(...bytes), Buffer.from('.txt')]);
    for (const name of [at(0xff), at(0xfe)]) await writeFile(name, '');
    await mkdir(at(0xfd));
    const { lines, heading } = await list();
    expect(lines).toEqual(['src/ (1 file)', '  a.ts 0 B', 'ok.txt 0 B', '\ufffd.txt 0 B']);
    expect(heading).toEqual([
      expect.stringContaining(': 5 files below it.'),
      'Not listed: 3 entries whose names are not UTF-8.',
    ]);
  },
);
