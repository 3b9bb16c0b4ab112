import { symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { findFilesTool } from '../../../src/workspace/tools/find-files.ts';
import { createWorkspace } from '../../../src/workspace/project/workspace.ts';
import { callTool, fakeContext, reportOf, toolError } from '../fake-context.ts';
import { rootAt } from '../root-at.ts';
import { temporaryDirectory } from '../temporary-directory.ts';
import type { Files } from '../temporary-directory.ts';

interface Found {
  readonly files: readonly string[];
  readonly nextCursor?: string;
  readonly problems: readonly string[];
  readonly root: { readonly path: string; readonly source: string; readonly note?: string };
}

async function project(files: Files) {
  const cwd = await temporaryDirectory(files);
  const tool = findFilesTool(createWorkspace({ cwd: '/', home: '/nobody' }));
  const context = fakeContext(reportOf([rootAt(cwd)]));
  return { cwd, context, find: (args: object) => callTool<Found>(tool, args, context) };
}

const filesOf = async (call: Promise<{ structured: Found }>) => (await call).structured.files;

test('files come sorted, without what is ignored or hidden', async () => {
  const { find, cwd } = await project({
    '.gitignore': '*.log\nnode_modules/\n',
    '.env': '',
    'b.ts': '',
    'a.log': '',
    'src/a.ts': '',
    'node_modules/x/index.ts': '',
  });
  const { structured, text } = await find({});
  expect(structured).toEqual({
    root: { path: cwd, name: expect.any(String), source: 'roots' },
    files: ['b.ts', 'src/a.ts'],
    problems: [],
  });
  expect(text).toBe('b.ts\nsrc/a.ts');
});

test('a glob does not bring back what is ignored or hidden', async () => {
  const { find } = await project({
    '.gitignore': '*.log\nbuild/\n',
    'a.log': '',
    '.hidden.ts': '',
    'build/a.ts': '',
    'src/a.ts': '',
  });
  expect(await filesOf(find({ globs: ['*.log'] }))).toEqual([]);
  expect(await filesOf(find({ globs: ['*.ts'] }))).toEqual(['src/a.ts']);
  expect(await filesOf(find({ globs: ['build/*.ts'] }))).toEqual([]);
  expect(await filesOf(find({ globs: ['*.ts'], hidden: true }))).toEqual([
    '.hidden.ts',
    'src/a.ts',
  ]);
});

test('globs include and exclude', async () => {
  const { find } = await project({
    'a.ts': '',
    'a.test.ts': '',
    'src/b.ts': '',
    'docs/x/y.md': '',
    '-n.ts': '',
  });
  expect(await filesOf(find({ globs: ['*.ts', '!*.test.ts', '!/-n.ts'] }))).toEqual([
    'a.ts',
    'src/b.ts',
  ]);
  expect(await filesOf(find({ globs: ['docs'] }))).toEqual(['docs/x/y.md']);
  expect(await filesOf(find({ globs: ['!docs', '!src/'] }))).toEqual([
    '-n.ts',
    'a.test.ts',
    'a.ts',
  ]);
  expect(await filesOf(find({ globs: ['-n.ts'] }))).toEqual(['-n.ts']);
  expect(await filesOf(find({ globs: ['--pre=touch x'] }))).toEqual([]);
  expect(await filesOf(find({ globs: ['{src,docs}/**'] }))).toEqual(['docs/x/y.md', 'src/b.ts']);
});

test('the git directory is never listed', async () => {
  const { find } = await project({ '.git/config': '', '.github/x.yml': '' });
  expect(await filesOf(find({ hidden: true }))).toEqual(['.github/x.yml']);
});

test('symbolic links are not followed', async () => {
  const { find, cwd } = await project({ 'a.ts': '' });
  await symlink('/etc', join(cwd, 'etc'));
  await symlink('/etc/passwd', join(cwd, 'passwd'));
  expect(await filesOf(find({}))).toEqual(['a.ts']);
});

test('pages join to the whole list, whatever the names', async () => {
  const names = ['a b.f', 'a/x.f', 'a-b/x.f', 'a.f', 'line\nbreak.f', 'é.f', '項/目.f', 'z.f'];
  const { find } = await project(Object.fromEntries(names.map((name) => [name, ''])));
  const whole = await filesOf(find({}));
  expect(whole.toSorted()).toEqual(names.toSorted());
  const pages = await pagesOf(find, { limit: 3 });
  for (const { files } of pages) expect(files.length).toBeLessThanOrEqual(3);
  expect(pages.flatMap(({ files }) => files)).toEqual(whole);
});

async function pagesOf(find: (args: object) => Promise<{ structured: Found }>, args: object) {
  const pages: Found[] = [];
  let cursor: { cursor?: string } = {};
  do {
    const { structured } = await find({ ...args, ...cursor });
    pages.push(structured);
    cursor = structured.nextCursor === undefined ? {} : { cursor: structured.nextCursor };
  } while (cursor.cursor !== undefined);
  return pages;
}

test.runIf(process.platform === 'linux')(
  'names that are not UTF-8 are counted, and hide no others',
  async () => {
    const names = Array.from(
      { length: 60 },
      (_, index) => `caf${String.fromCodePoint(0xc0 + index)}.ts`,
    );
    const { find, cwd } = await project(Object.fromEntries(names.map((name) => [name, ''])));
    for (const byte of [0x80, 0xc3, 0xc4, 0xe9, 0xff]) {
      const name = Buffer.concat([Buffer.from('caf'), Buffer.of(byte), Buffer.from('.ts')]);
      await writeFile(Buffer.concat([Buffer.from(`${cwd}/`), name]), '');
    }
    for (const limit of [1, 7, 64, 65]) {
      const pages = await pagesOf(find, { globs: ['*.ts'], limit });
      expect(pages.flatMap(({ files }) => files).toSorted()).toEqual(names.toSorted());
      const counted = pages
        .flatMap(({ problems }) => problems)
        .map((problem) => Number.parseInt(problem, 10));
      expect(counted.reduce((sum, count) => sum + count, 0)).toBe(5);
    }
    const { text, structured } = await find({ globs: ['*.ts'] });
    expect(structured.problems).toEqual([
      '5 files with names that are not UTF-8, such as "caf\ufffd.ts"',
    ]);
    expect(text).toContain('Not listed: 5 files with names that are not UTF-8');
    expect((await find({ globs: ['*.md'] })).structured.problems).toEqual([]);
  },
);

test('all pages of a listing cost a small multiple of one walk', async () => {
  const count = 3000;
  const { find, context } = await project(
    Object.fromEntries(
      Array.from({ length: count }, (_, index) => [`${index % 7}/${index}.f`, '']),
    ),
  );
  const pages = await pagesOf(find, { limit: 30 });
  expect(new Set(pages.flatMap(({ files }) => files)).size).toBe(count);
  expect(pages).toHaveLength(count / 30);
  // Each walk reports at its end how many files it has seen.
  const ends = context.reported.filter(({ message }) => /^\d+ files found$/.test(message ?? ''));
  expect(ends.length).toBeGreaterThan(0);
  expect(ends.reduce((sum, { progress }) => sum + progress, 0)).toBeLessThan(6 * count);
});

test('the last page has no cursor, though it is full', async () => {
  const { find } = await project({ a: '', b: '' });
  expect((await find({ limit: 2 })).structured.nextCursor).toBeUndefined();
  expect((await find({ limit: 1 })).structured.nextCursor).toEqual(expect.any(String));
});

test('a cursor of another query, and one that is none, are refused', async () => {
  const { find } = await project({ a: '', b: '' });
  const { nextCursor } = (await find({ limit: 1 })).structured;
  expect((await toolError(find({ limit: 1, cursor: nextCursor, hidden: true }))).code).toBe(
    'INVALID_CURSOR',
  );
  expect((await toolError(find({ cursor: 'nonsense' }))).code).toBe('INVALID_CURSOR');
});

test('a glob that is none is refused with a reason', async () => {
  const { find } = await project({ a: '' });
  const error = await toolError(find({ globs: ['a['] }));
  expect(error.code).toBe('INVALID_GLOB');
  expect(error.message).toContain('not closed');
});

test('progress is reported while many files are listed', async () => {
  const { find, context } = await project(
    Object.fromEntries(Array.from({ length: 1200 }, (_, index) => [`${index}.f`, ''])),
  );
  await find({ limit: 2000 });
  const reported = context.reported.map(({ progress }) => progress);
  expect(reported.slice(0, 2)).toEqual([500, 1000]);
  expect(reported).toEqual(reported.toSorted((left, right) => left - right));
});

test('a cancelled listing rejects with the reason of its signal', async () => {
  const cwd = await temporaryDirectory({ a: '' });
  const tool = findFilesTool(createWorkspace({ cwd, home: '/nobody' }));
  const reason = new Error('cancelled');
  const context = fakeContext(undefined, AbortSignal.abort(reason));
  await expect(callTool(tool, {}, context)).rejects.toBe(reason);
});
