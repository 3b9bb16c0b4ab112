/** Selection of the files `search_text` searches. */
import { symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { callTool, fakeContext, reportOf } from '../../../roots/test/fake-context.ts';
import { readAnswer } from '../read-answer.ts';
import { rootAt } from '../../../roots/test/root-at.ts';
import { temporaryDirectory } from '../../../roots/test/temporary-directory.ts';
import { found, placesOf, searchProject } from './search-project.ts';

describe('search_text: files', () => {
  const files = {
    '.gitignore': '*.log\nout/\n',
    'a.log': 'needle',
    '.b.txt': 'needle',
    '.github/ci.yml': 'needle',
    'd.txt': 'needle',
    'out/f.ts': 'needle',
    'src/e.ts': 'needle',
  };

  test('omits ignored and hidden files, and says so', async () => {
    const { search } = await searchProject(files);
    expect(await found(search({ pattern: 'needle' }))).toEqual(['d.txt:1', 'src/e.ts:1']);
    expect(await found(search({ pattern: 'needle', globs: ['*.txt'] }))).toEqual(['d.txt:1']);
    expect(await found(search({ pattern: 'needle', globs: ['!src'] }))).toEqual(['d.txt:1']);
    const { lines, heading } = await search({ pattern: 'needle', globs: '*.log' });
    expect(lines).toEqual([]);
    expect(heading[1]).toMatch(/^Left out: 2 ignored \(a\.log, out\), 1 hidden \(\.github\); /);
  });

  test('searches ignored and hidden files on request', async () => {
    const { search } = await searchProject(files);
    expect(await found(search({ pattern: 'needle', hidden: true }))).toEqual([
      '.b.txt:1',
      '.github/ci.yml:1',
      'd.txt:1',
      'src/e.ts:1',
    ]);
    expect(await found(search({ pattern: 'needle', ignored: true }))).toEqual([
      'a.log:1',
      'd.txt:1',
      'out/f.ts:1',
      'src/e.ts:1',
    ]);
  });

  test('searches files at the start of a glob regardless of rules', async () => {
    const { search } = await searchProject(files);
    const globs = ['.b.txt', '.github/**', 'out/**', 'src/', 'a.log'];
    expect(await found(search({ pattern: 'needle', globs }))).toEqual([
      '.b.txt:1',
      '.github/ci.yml:1',
      'a.log:1',
      'out/f.ts:1',
      'src/e.ts:1',
    ]);
  });

  test('selects files by type', async () => {
    const { search } = await searchProject({
      'a.ts': 'needle',
      'b.tsx': 'needle',
      'c.js': 'needle',
    });
    expect(await found(search({ pattern: 'needle', type: 'ts' }))).toEqual(['a.ts:1', 'b.tsx:1']);
  });

  test('reports binary files only if they match', async () => {
    const { search } = await searchProject({
      'c.bin': 'needle\0',
      'd.bin': 'other\0',
      'e.txt': 'needle',
    });
    const { heading, lines } = await search({ pattern: 'needle' });
    expect(lines).toEqual(['e.txt', '1: needle']);
    expect(heading[0]).toContain('1 binary file matches, which cannot be shown: c.bin.');
    expect((await search({ pattern: 'needle', globs: '*.bin' })).heading[0]).toMatch(
      /^No matches in 2 files .* 1 binary file matches/,
    );
  });

  test('searches files after a binary one', async () => {
    const binary = Object.fromEntries(
      Array.from({ length: 30 }, (_, index) => [`${index}.bin`, `\0${'needle\n'.repeat(9)}`]),
    );
    const { search } = await searchProject({ ...binary, 'x.txt': 'needle' });
    expect(await found(search({ pattern: 'needle', limit: 2 }))).toEqual(['x.txt:1']);
  });

  test('searches a file with a NUL far from the start to the end', async () => {
    const filler = `${'x'.repeat(99)}\n`.repeat(700);
    const { search } = await searchProject({ 'late.txt': `needle\n${filler}\0\nneedle\n` });
    expect(await found(search({ pattern: 'needle' }))).toEqual(['late.txt:1', 'late.txt:703']);
  });

  test.runIf(process.getuid?.() !== 0)('reports files without read permission', async () => {
    const { search, cwd } = await searchProject({ 'b.txt': 'needle' });
    await writeFile(join(cwd, 'a.txt'), 'needle', { mode: 0 });
    const { heading, lines } = await search({ pattern: 'needle' });
    expect(lines).toEqual(['b.txt', '1: needle']);
    expect(heading.join()).toMatch(/a\.txt.*Permission denied/);
  });
});

describe('search_text: symbolic links', () => {
  test('searches each file once: under its own path, else the first link', async () => {
    const { search, cwd } = await searchProject({
      '.gitignore': 'out/\n',
      'src/a.ts': 'needle',
      'out/b.ts': 'needle',
    });
    await symlink('src', join(cwd, 'linked'));
    await symlink('src/a.ts', join(cwd, 'a.ts'));
    await symlink('out', join(cwd, 'to-out'));
    expect(await found(search({ pattern: 'needle' }))).toEqual(['src/a.ts:1', 'to-out/b.ts:1']);
    expect(await found(search({ pattern: 'needle', globs: 'a.ts' }))).toEqual(['src/a.ts:1']);
    expect(await found(search({ pattern: 'needle', globs: '/a.ts' }))).toEqual(['a.ts:1']);
    expect(await found(search({ pattern: 'needle', globs: 'linked/**' }))).toEqual([
      'linked/a.ts:1',
    ]);
  });

  test('follows links into another root but not beyond', async () => {
    const { cwd, tool } = await searchProject({ 'a.ts': 'needle' });
    const other = await temporaryDirectory({ 'b.ts': 'needle' });
    const outside = await temporaryDirectory({ 'c.ts': 'needle' });
    await symlink(other, join(cwd, 'other'));
    await symlink(outside, join(cwd, 'outside'));
    await symlink(join(outside, 'c.ts'), join(cwd, 'c.ts'));
    const context = fakeContext(reportOf([rootAt(cwd), rootAt(other)]));
    const { text } = await callTool(tool, { pattern: 'needle' }, context);
    const { lines, heading } = readAnswer(text);
    expect(placesOf(lines)).toEqual(['a.ts:1', 'other/b.ts:1']);
    expect(heading[1]).toContain('2 links to outside the roots (c.ts, outside)');
  });
});
