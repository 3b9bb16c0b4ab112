import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { findFilesTool } from '../../src/tools/find-files.ts';
import { createWorkspace } from '../../src/project/workspace.ts';
import { fakeContext, reportOf, toolError } from '../../../roots/test/fake-context.ts';
import { callTool } from '../../../roots/test/fake-context.ts';
import { readAnswer } from '../read-answer.ts';
import { rootAt } from '../../../roots/test/root-at.ts';
import { temporaryDirectory, writeAlike } from '../../../roots/test/temporary-directory.ts';
import type { Files } from '../../../roots/test/temporary-directory.ts';

async function project(files: Files) {
  const cwd = await temporaryDirectory(files);
  const tool = findFilesTool(createWorkspace({ cwd: '/', home: '/nobody' }));
  const context = fakeContext(reportOf([rootAt(cwd)]));
  const find = async (args: object = {}) => readAnswer((await callTool(tool, args, context)).text);
  const paths = async (args: object = {}) => (await find(args)).lines;
  return { cwd, context, tool, find, paths };
}

async function pagesOf(
  find: (args: object) => Promise<ReturnType<typeof readAnswer>>,
  args: object,
) {
  const pages = [await find(args)];
  for (let cursor = pages[0]?.cursor; cursor !== undefined; cursor = pages.at(-1)?.cursor) {
    pages.push(await find({ ...args, cursor }));
  }
  return pages;
}

test('find_files reports the number of paths and the root', async () => {
  const { find, cwd } = await project({ 'b.ts': '', 'src/a.ts': '' });
  expect(await find()).toEqual({
    heading: [`3 paths in ${cwd}.`],
    lines: ['b.ts', 'src/', 'src/a.ts'],
    cursor: undefined,
  });
});

test('find_files lists breadth first', async () => {
  const { paths } = await project({ 'a/b/c.ts': '', 'a/b.ts': '', 'z.ts': '', 'b/y.ts': '' });
  expect(await paths()).toEqual(['a/', 'b/', 'z.ts', 'a/b/', 'a/b.ts', 'b/y.ts', 'a/b/c.ts']);
});

describe('find_files: directories', () => {
  const files = {
    'packages/one/src/x.ts': '',
    'packages/two/package.json': '',
    'packages/README.md': '',
    'docs/x/y.md': '',
  };

  test('finds directories by a glob, like files', async () => {
    const { paths } = await project(files);
    expect(await paths({ globs: 'packages/*' })).toEqual([
      'packages/README.md',
      'packages/one/',
      'packages/two/',
    ]);
    expect(await paths({ globs: 'src' })).toEqual(['packages/one/src/', 'packages/one/src/x.ts']);
  });

  test('finds only directories by a wildcard with a trailing slash', async () => {
    const { paths } = await project(files);
    expect(await paths({ globs: 'packages/*/' })).toEqual(['packages/one/', 'packages/two/']);
    expect(await paths({ globs: '*/' })).toEqual([
      'docs/',
      'packages/',
      'docs/x/',
      'packages/one/',
      'packages/two/',
      'packages/one/src/',
    ]);
  });

  test('finds empty directories', async () => {
    const { paths, cwd } = await project({ ...files, '.gitignore': '*.log\n', 'logs/a.log': '' });
    await mkdir(join(cwd, 'packages/new/src'), { recursive: true });
    expect(await paths({ globs: 'packages/*/' })).toContain('packages/new/');
    expect(await paths({ globs: ['new', 'logs'] })).toEqual([
      'logs/',
      'packages/new/',
      'packages/new/src/',
    ]);
  });
});

describe('find_files: globs', () => {
  test('includes and excludes by globs', async () => {
    const { paths } = await project({
      'a.ts': '',
      'a.test.ts': '',
      'src/b.ts': '',
      'docs/x/y.md': '',
      '-n.ts': '',
    });
    expect(await paths({ globs: ['*.ts', '!*.test.ts', '!/-n.ts'] })).toEqual(['a.ts', 'src/b.ts']);
    expect(await paths({ globs: ['docs'] })).toEqual(['docs/', 'docs/x/', 'docs/x/y.md']);
    expect(await paths({ globs: ['!docs', '!src/'] })).toEqual(['-n.ts', 'a.test.ts', 'a.ts']);
    expect(await paths({ globs: ['-n.ts'] })).toEqual(['-n.ts']);
    expect(await paths({ globs: ['--pre=touch x'] })).toEqual([]);
    expect(await paths({ globs: ['{src,docs}/**'] })).toEqual([
      'docs/x/',
      'src/b.ts',
      'docs/x/y.md',
    ]);
  });

  test('accepts an absolute glob inside the root', async () => {
    const { paths, cwd } = await project({ 'src/a.ts': '', 'b.ts': '' });
    expect(await paths({ globs: `${cwd}/src/*.ts` })).toEqual(['src/a.ts']);
    expect(await paths({ globs: [`!${cwd}/src`] })).toEqual(['b.ts']);
  });

  test('reports a glob whose start does not exist', async () => {
    const { find } = await project({ 'a.ts': '' });
    const { heading, lines } = await find({ globs: 'sources/**/*.ts' });
    expect(lines).toEqual([]);
    expect(heading).toContain('"sources" does not exist.');
  });

  test('refuses invalid and climbing globs with a reason', async () => {
    const { find } = await project({ a: '' });
    const error = await toolError(find({ globs: ['a['] }));
    expect(error.code).toBe('INVALID_GLOB');
    expect(error.message).toContain('unclosed');
    expect((await toolError(find({ globs: '../*.ts' }))).message).toContain(
      'must not contain ".."',
    );
  });

  test('combines globs with a type', async () => {
    const { paths, find } = await project({ 'a.ts': '', 'a.tsx': '', 'src/b.ts': '', 'c.md': '' });
    expect(await paths({ type: 'ts' })).toEqual(['a.ts', 'a.tsx', 'src/b.ts']);
    expect(await paths({ type: ['ts', 'md'], globs: '/*' })).toEqual(['a.ts', 'a.tsx', 'c.md']);
    const error = await toolError(find({ type: 'typescrypt' }));
    expect(error.code).toBe('UNKNOWN_TYPE');
    expect(error.message).toContain('typescript');
  });
});

describe('find_files: ignored and hidden files', () => {
  const files = {
    '.gitignore': '*.log\nbuild/\n',
    '.env': '',
    '.git/config': '',
    '.github/ci.yml': '',
    'a.log': '',
    'a.ts': '',
    'build/o.ts': '',
  };

  test('omits ignored and hidden files, and explains how to include them', async () => {
    const { find } = await project(files);
    const { heading, lines } = await find();
    expect(lines).toEqual(['a.ts']);
    expect(heading[1]).toBe(
      'Left out: 2 ignored (a.log, build), 3 hidden (.env, .github, .gitignore); ignored: true and hidden: true include them, and so does a glob that starts with their path.',
    );
  });

  test('does not mention ignored files that the globs could not match', async () => {
    const { find } = await project(files);
    expect((await find({ globs: '*.md' })).heading[1]).toMatch(
      /^Left out: 1 ignored \(build\), 1 hidden \(.github\);/,
    );
    expect((await find({ globs: '/*.md' })).heading).toHaveLength(1);
    expect((await find({ globs: ['*.md', '!build', '!.github'] })).heading).toHaveLength(1);
  });

  test('includes ignored and hidden files on request, except the git directory', async () => {
    const { paths } = await project(files);
    expect(await paths({ ignored: true })).toEqual(['a.log', 'a.ts', 'build/', 'build/o.ts']);
    expect(await paths({ hidden: true })).toEqual([
      '.env',
      '.github/',
      '.gitignore',
      'a.ts',
      '.github/ci.yml',
    ]);
    expect((await paths({ hidden: true, ignored: true })).join()).not.toContain('.git/');
  });

  test('finds an ignored file by a glob that starts with its path, but not by a wildcard', async () => {
    const { paths } = await project(files);
    expect(await paths({ globs: '.env' })).toEqual(['.env']);
    expect(await paths({ globs: '.github/*.yml' })).toEqual(['.github/ci.yml']);
    expect(await paths({ globs: 'build/*.ts' })).toEqual(['build/o.ts']);
    expect(await paths({ globs: ['a.log', '*.ts'] })).toEqual(['a.log', 'a.ts']);
    expect(await paths({ globs: ['*.log', '.e*'] })).toEqual([]);
  });
});

describe('find_files: symbolic links', () => {
  async function linked() {
    const made = await project({ '.gitignore': 'out/\n', 'src/a.ts': '', 'out/b.ts': '' });
    const { cwd } = made;
    const elsewhere = await temporaryDirectory({ 'c.ts': '' });
    await symlink('src', join(cwd, 'to-src'));
    await symlink('src/a.ts', join(cwd, 'to-a.ts'));
    await symlink('out', join(cwd, 'to-out'));
    await symlink(elsewhere, join(cwd, 'away'));
    await symlink('nowhere', join(cwd, 'broken.ts'));
    await symlink('.', join(cwd, 'loop'));
    return made;
  }

  test('lists links, and below them the targets without another path', async () => {
    const { find } = await linked();
    const { lines, heading } = await find();
    expect(lines).toEqual([
      'loop/',
      'src/',
      'to-a.ts',
      'to-out/',
      'to-src/',
      'src/a.ts',
      'to-out/b.ts',
    ]);
    expect(heading[1]).toContain('1 links to outside the roots (away), 1 broken links (broken.ts)');
  });

  test('follows links where a glob names them', async () => {
    const { paths } = await linked();
    expect(await paths({ globs: 'to-src/*' })).toEqual(['to-src/a.ts']);
    expect(await paths({ globs: 'loop/src/*.ts' })).toEqual(['loop/src/a.ts']);
    expect(await paths({ globs: '*/a.ts' })).toEqual(['src/a.ts']);
  });

  test('follows links into another root, and refuses those outside all roots', async () => {
    const { cwd, tool } = await linked();
    const other = await temporaryDirectory({ 'd.ts': '', '.gitignore': '*.log', 'd.log': '' });
    await symlink(other, join(cwd, 'other'));
    const context = fakeContext(reportOf([rootAt(cwd), rootAt(other)]));
    const { text } = await callTool(tool, { globs: '*.ts' }, context);
    expect(readAnswer(text).lines).toContain('other/d.ts');
    const error = await toolError(callTool(tool, { globs: 'away/*' }, context));
    expect(error.code).toBe('OUTSIDE_ROOTS');
  });
});

describe('find_files: pages', () => {
  test('adds up pages to the whole list for any names', async () => {
    const names = [
      'a b.f',
      'a/x.f',
      'a-b/x.f',
      'a.f',
      'é.f',
      '項/目.f',
      '\u{1f600}.f',
      '\uffe5.f',
      'z.f',
    ];
    const { find, paths } = await project(Object.fromEntries(names.map((name) => [name, ''])));
    const whole = await paths();
    expect(whole.filter((path) => !path.endsWith('/')).toSorted()).toEqual(names.toSorted());
    for (const limit of [1, 3, 100]) {
      const pages = await pagesOf(find, { limit });
      for (const { lines } of pages) expect(lines.length).toBeLessThanOrEqual(limit);
      expect(pages.flatMap(({ lines }) => lines)).toEqual(whole);
    }
  });

  test('limits pages in size', async () => {
    const long = 'x'.repeat(200);
    const names = Array.from({ length: 400 }, (_, index) => `${long}${index}`);
    const { find, cwd } = await project({});
    await writeAlike(cwd, names, '');
    const pages = await pagesOf(find, { limit: 2000 });
    expect(pages.length).toBeGreaterThan(2);
    for (const { lines } of pages) expect(lines.join('\n').length).toBeLessThan(31_000);
    expect(pages.flatMap(({ lines }) => lines).toSorted()).toEqual(names.toSorted());
  });

  test('needs no second walk for later pages', async () => {
    const { find, context, cwd } = await project({});
    await writeAlike(
      cwd,
      Array.from({ length: 1200 }, (_, index) => `${index}.f`),
      '',
    );
    expect(await pagesOf(find, { limit: 100 })).toHaveLength(12);
    expect(context.reported.map(({ progress }) => progress)).toEqual([500, 1000]);
  });

  test('continues even after the cached walk was dropped', async () => {
    const files = Object.fromEntries(Array.from({ length: 9 }, (_, index) => [`${index}.f`, '']));
    const { find, cwd, context } = await project(files);
    const { cursor } = await find({ limit: 4 });
    const another = findFilesTool(createWorkspace({ cwd: '/', home: '/nobody' }));
    const { text } = await callTool(another, { limit: 4, cursor }, context);
    expect(readAnswer(text)).toMatchObject({
      heading: [`4 of 9 paths in ${cwd}, after 3.f.`, expect.stringContaining('There are more')],
      lines: ['4.f', '5.f', '6.f', '7.f'],
    });
  });

  test('gives the last page no cursor, even if full', async () => {
    const { find } = await project({ a: '', b: '' });
    expect((await find({ limit: 2 })).cursor).toBeUndefined();
    expect((await find({ limit: 1 })).cursor).toEqual(expect.any(String));
  });

  test('refuses a cursor of another query', async () => {
    const { find } = await project({ a: '', b: '' });
    const { cursor } = await find({ limit: 1 });
    expect((await toolError(find({ limit: 1, cursor, hidden: true }))).code).toBe('INVALID_CURSOR');
    expect((await toolError(find({ cursor: 'nonsense' }))).code).toBe('INVALID_CURSOR');
  });
});

test.runIf(process.platform === 'linux')(
  'find_files counts names that are not UTF-8 without hiding others',
  async () => {
    const names = ['caf\u00e9.ts', 'cafe.ts'];
    const { find, cwd } = await project(Object.fromEntries(names.map((name) => [name, ''])));
    for (const byte of [0x80, 0xff]) {
      const name = Buffer.concat([Buffer.from('caf'), Buffer.of(byte), Buffer.from('.ts')]);
      await writeFile(Buffer.concat([Buffer.from(`${cwd}/`), name]), '');
    }
    const { lines, heading } = await find({ globs: ['*.ts'] });
    expect(lines.toSorted()).toEqual(names.toSorted());
    expect(heading[1]).toContain(
      String.raw`2 with names that are not UTF-8 (caf\x80.ts, caf\xff.ts)`,
    );
    expect((await find({ globs: ['*.md'] })).heading).toHaveLength(1);
  },
);

test('find_files rejects a cancelled listing with the reason of its signal', async () => {
  const cwd = await temporaryDirectory({ a: '' });
  const tool = findFilesTool(createWorkspace({ cwd, home: '/nobody' }));
  const reason = new Error('cancelled');
  const context = fakeContext(undefined, AbortSignal.abort(reason));
  await expect(callTool(tool, {}, context)).rejects.toBe(reason);
});
