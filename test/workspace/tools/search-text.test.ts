import { symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { searchTextTool } from '../../../src/workspace/tools/search-text.ts';
import type { TextSearch } from '../../../src/workspace/search/text-search.ts';
import { createWorkspace } from '../../../src/workspace/project/workspace.ts';
import { callTool, fakeContext, toolError } from '../fake-context.ts';
import { temporaryDirectory } from '../temporary-directory.ts';
import type { Files } from '../temporary-directory.ts';

async function project(files: Files) {
  const cwd = await temporaryDirectory(files);
  const tool = searchTextTool(createWorkspace({ cwd, home: '/nobody' }));
  const context = fakeContext();
  return { cwd, context, search: (args: object) => callTool<TextSearch>(tool, args, context) };
}

const found = async (call: Promise<{ structured: TextSearch }>) =>
  (await call).structured.files.flatMap(({ path, lines }) =>
    lines.map(({ line }) => `${path}:${line}`),
  );

describe('patterns', () => {
  test('a literal is literal, a regular expression is one', async () => {
    const { search } = await project({ 'a.txt': 'a.c\nabc\n' });
    expect(await found(search({ pattern: 'a.c' }))).toEqual(['a.txt:1']);
    expect(await found(search({ pattern: 'a.c', regex: true }))).toEqual(['a.txt:1', 'a.txt:2']);
  });

  test.each(['--files', '-e', '--pre=sh', '-', '--', '$(id)', '; id', '"', "'", '\\', '項'])(
    '%j is searched for, never an option or a command',
    async (pattern) => {
      const { search } = await project({ 'a.txt': `x ${pattern} y\nother\n` });
      expect(await found(search({ pattern }))).toEqual(['a.txt:1']);
    },
  );

  test('case is sensitive, insensitive, or as the pattern has it', async () => {
    const { search } = await project({ 'a.txt': 'Word\nword\n' });
    expect(await found(search({ pattern: 'word' }))).toHaveLength(2);
    expect(await found(search({ pattern: 'Word' }))).toEqual(['a.txt:1']);
    expect(await found(search({ pattern: 'Word', case: 'insensitive' }))).toHaveLength(2);
    expect(await found(search({ pattern: 'word', case: 'sensitive' }))).toEqual(['a.txt:2']);
  });

  test.each([
    ['a(', true, 'SEARCH_FAILED', /unclosed group/],
    ['(?=a)', true, 'SEARCH_FAILED', /look-around/],
    ['', false, 'INVALID_PATTERN', /line/],
    ['a\nb', false, 'INVALID_PATTERN', /line/],
    ['a\0b', false, 'INVALID_PATTERN', /NUL/],
    ['a{1000}{1000}{1000}', true, 'SEARCH_FAILED', /size/],
  ])('%j is refused with a reason', async (pattern, regex, code, message) => {
    const { search } = await project({ 'a.txt': 'a' });
    const error = await toolError(search({ pattern, regex }));
    expect(error.code).toBe(code);
    expect(error.message).toMatch(message);
  });
});

describe('results', () => {
  test('lines have their numbers, columns and context, and files are sorted', async () => {
    const { search, cwd } = await project({
      'b.txt': 'needle\n',
      'a.txt': 'one\ntwo é needle\nthree\nfour\n',
    });
    const { structured, text } = await search({ pattern: 'needle', contextLines: 1 });
    expect(structured).toEqual({
      root: { path: cwd, name: expect.any(String), source: 'cwd' },
      files: [
        {
          path: 'a.txt',
          lines: [
            { line: 1, text: 'one', match: false },
            { line: 2, text: 'two é needle', match: true, column: 7 },
            { line: 3, text: 'three', match: false },
          ],
        },
        { path: 'b.txt', lines: [{ line: 1, text: 'needle', match: true, column: 1 }] },
      ],
      matchingLines: 2,
      problems: [],
    });
    expect(text).toContain('a.txt\n1- one\n2: two é needle\n3- three\n');
    expect(text).toContain(`Working in ${cwd}`);
  });

  test('no match is a result', async () => {
    const { search } = await project({ 'a.txt': 'one' });
    const { structured, text } = await search({ pattern: 'needle' });
    expect(structured).toMatchObject({ files: [], matchingLines: 0 });
    expect(structured.truncated).toBeUndefined();
    expect(text).toContain('No matches');
  });

  test('the limit counts matching lines, and says that there are more', async () => {
    const { search } = await project({ 'a.txt': 'x\nneedle\nneedle\nafter\nneedle\n' });
    const two = (await search({ pattern: 'needle', limit: 2, contextLines: 1 })).structured;
    expect(two).toMatchObject({ matchingLines: 2, truncated: 'limit' });
    expect(two.files[0]?.lines.map(({ line }) => line)).toEqual([1, 2, 3, 4]);
    const three = (await search({ pattern: 'needle', limit: 3 })).structured;
    expect(three.matchingLines).toBe(3);
    expect(three.truncated).toBeUndefined();
  });

  test('a long line is cut around the match and says so', async () => {
    const { search } = await project({ 'a.js': `${'😀'.repeat(2000)}needle${'x'.repeat(3000)}\n` });
    const { files } = (await search({ pattern: 'needle' })).structured;
    const [line] = files[0]?.lines ?? [];
    expect(line?.text).toContain('needle');
    expect(line?.text.length).toBeLessThanOrEqual(502);
    expect(Buffer.from(line?.text ?? '').toString()).toBe(line?.text);
    expect(line?.column).toBe(4001);
    expect(line?.omitted).toBeGreaterThan(6000);
  });

  test('a line too long to read is named, and the search goes on', async () => {
    const { search } = await project({
      'huge.js': `needle${'x'.repeat(3 * 1024 * 1024)}`,
      'small.js': 'needle',
    });
    const { structured } = await search({ pattern: 'needle' });
    expect(structured.files.map(({ path }) => path)).toEqual(['small.js']);
    expect(structured.problems).toEqual([expect.stringContaining('huge.js')]);
  });

  test('a result is bounded in size', async () => {
    const { search } = await project({ 'a.txt': `needle${'x'.repeat(490)}\n`.repeat(1000) });
    const { structured } = await search({ pattern: 'needle', limit: 1000 });
    expect(structured.truncated).toBe('size');
    expect(structured.matchingLines).toBeGreaterThan(300);
  });

  test('bytes that are no UTF-8 are shown as far as they can be', async () => {
    const { search } = await project({ 'a.txt': Buffer.from('caf\xe9 needle\r\n', 'latin1') });
    const { files } = (await search({ pattern: 'needle' })).structured;
    expect(files[0]?.lines).toEqual([
      { line: 1, text: 'caf\ufffd needle', match: true, column: 6 },
    ]);
  });
});

describe('files', () => {
  test('ignored, hidden and binary ones and links are left out, with and without globs', async () => {
    const { search, cwd } = await project({
      '.gitignore': '*.log',
      'a.log': 'needle',
      '.b.txt': 'needle',
      'c.bin': 'needle\0',
      'd.txt': 'needle',
      'src/e.ts': 'needle',
    });
    const elsewhere = await temporaryDirectory({ 'f.txt': 'needle' });
    await symlink(elsewhere, join(cwd, 'link'));
    await symlink(join(elsewhere, 'f.txt'), join(cwd, 'f.txt'));
    expect(await found(search({ pattern: 'needle' }))).toEqual(['d.txt:1', 'src/e.ts:1']);
    expect(await found(search({ pattern: 'needle', globs: ['*.log'] }))).toEqual([]);
    expect(await found(search({ pattern: 'needle', globs: ['*.txt'] }))).toEqual(['d.txt:1']);
    expect(await found(search({ pattern: 'needle', globs: ['src/**'] }))).toEqual(['src/e.ts:1']);
    expect(await found(search({ pattern: 'needle', globs: ['!src'] }))).toEqual(['d.txt:1']);
    expect(await found(search({ pattern: 'needle', hidden: true }))).toEqual([
      '.b.txt:1',
      'd.txt:1',
      'src/e.ts:1',
    ]);
  });
});

test('progress is reported as matches are found', async () => {
  const { search, context } = await project({ 'a.txt': 'needle\n'.repeat(3) });
  await search({ pattern: 'needle' });
  expect(context.reported.map(({ progress }) => progress)).toEqual([1, 2, 3]);
});

test('a search cancelled while it runs rejects with the reason of its signal', async () => {
  const cwd = await temporaryDirectory({ 'a.txt': 'needle\n'.repeat(200_000) });
  const tool = searchTextTool(createWorkspace({ cwd, home: '/nobody' }));
  const controller = new AbortController();
  const reason = new Error('cancelled');
  const context = {
    ...fakeContext(undefined, controller.signal),
    progress: () => controller.abort(reason),
  };
  await expect(callTool(tool, { pattern: 'needle', limit: 1000 }, context)).rejects.toBe(reason);
});
