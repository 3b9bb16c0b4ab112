import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { searchTextTool } from '../../src/tools/search-text.ts';
import { createWorkspace } from '../../src/project/workspace.ts';
import { callTool, fakeContext, toolError } from '../../../roots/test/fake-context.ts';
import type { readAnswer } from '../read-answer.ts';
import { temporaryDirectory, writeAlike } from '../../../roots/test/temporary-directory.ts';
import { found, placesOf, searchProject } from './search-project.ts';

describe('search_text: patterns', () => {
  test('takes a pattern literally, or as a regular expression on request', async () => {
    const { search } = await searchProject({ 'a.txt': 'a.c\nabc\n' });
    expect(await found(search({ pattern: 'a.c' }))).toEqual(['a.txt:1']);
    expect(await found(search({ pattern: 'a.c', regex: true }))).toEqual(['a.txt:1', 'a.txt:2']);
  });

  test.each(['--files', '-e', '--pre=sh', '-', '--', '$(id)', '; id', '"', "'", '\\', '項'])(
    'never treats a pattern as an option or command: %j',
    async (pattern) => {
      const { search } = await searchProject({ 'a.txt': `x ${pattern} y\nother\n` });
      expect(await found(search({ pattern }))).toEqual(['a.txt:1']);
    },
  );

  test('matches case-sensitively, insensitively or smartly', async () => {
    const { search } = await searchProject({ 'a.txt': 'Word\nword\n' });
    expect(await found(search({ pattern: 'word' }))).toHaveLength(2);
    expect(await found(search({ pattern: 'Word' }))).toEqual(['a.txt:1']);
    expect(await found(search({ pattern: 'Word', case: 'insensitive' }))).toHaveLength(2);
    expect(await found(search({ pattern: 'word', case: 'sensitive' }))).toEqual(['a.txt:2']);
  });

  test.each([
    ['a(', true, 'SEARCH_FAILED', /unclosed group/],
    ['(?=a)', true, 'SEARCH_FAILED', /look-around[^]* is not supported$/],
    ['', false, 'INVALID_PATTERN', /line/],
    ['a\nb', false, 'INVALID_PATTERN', /line/],
    ['a\0b', false, 'INVALID_PATTERN', /NUL/],
    ['a{1000}{1000}{1000}', true, 'SEARCH_FAILED', /size/],
  ])('refuses the pattern %j with a reason', async (pattern, regex, code, message) => {
    const { search } = await searchProject({ 'a.txt': 'a' });
    const error = await toolError(search({ pattern, regex }));
    expect(error.code).toBe(code);
    expect(error.message).toMatch(message);
  });
});

describe('search_text: results', () => {
  test('lists files in path order with line numbers and context', async () => {
    const { search, cwd } = await searchProject({
      'b.txt': 'needle\n',
      'a.txt': 'one\ntwo é needle\nthree\nfour\n',
    });
    expect(await search({ pattern: 'needle', contextLines: 1 })).toEqual({
      heading: [`2 matching lines in 2 of 2 files in ${cwd}.`],
      lines: ['a.txt', '1- one', '2: two é needle', '3- three', '', 'b.txt', '1: needle'],
      cursor: undefined,
    });
  });

  test('separates groups of context', async () => {
    const { search } = await searchProject({ 'a.txt': 'needle\n1\n2\n3\n4\nneedle\n5\nneedle\n' });
    const { lines } = await search({ pattern: 'needle', contextLines: 1 });
    expect(lines).toEqual([
      ...['a.txt', '1: needle', '2- 1', '--'],
      ...['5- 4', '6: needle', '7- 5', '8: needle'],
    ]);
    expect((await search({ pattern: 'needle' })).lines).not.toContain('--');
  });

  test('returns equal results for equal calls with a limit', async () => {
    const names = Array.from({ length: 300 }, (_, index) => `${index % 7}/${index}.txt`);
    const { search, cwd } = await searchProject({});
    await writeAlike(cwd, names, 'needle');
    const answers = await Promise.all(
      [1, 2, 3, 4].map(async () => await search({ pattern: 'needle', limit: 10 })),
    );
    for (const answer of answers) expect(answer).toEqual(answers[0]);
    expect(placesOf(answers[0]?.lines ?? [])[0]).toBe('0/0.txt:1');
  });

  test('states the number of files searched without a match', async () => {
    const { search, cwd } = await searchProject({ 'a.txt': 'one' });
    expect(await search({ pattern: 'needle' })).toEqual({
      heading: [`No matches in 1 file of ${cwd}.`],
      lines: [],
      cursor: undefined,
    });
  });

  test('truncates a long line around the match', async () => {
    const { search } = await searchProject({
      'a.js': `${'😀'.repeat(2000)}needle${'x'.repeat(3000)}\n`,
    });
    const [, line = ''] = (await search({ pattern: 'needle' })).lines;
    expect(line).toMatch(/^1: ….*needle.*…$/u);
    expect(line.length).toBeLessThanOrEqual(505);
    expect(Buffer.from(line).toString()).toBe(line);
  });

  test('reports a line too long to search and continues', async () => {
    const { search } = await searchProject({
      'huge.js': `needle${'x'.repeat(3 * 1024 * 1024)}`,
      'small.js': 'needle',
    });
    const { lines, heading } = await search({ pattern: 'needle' });
    expect(lines).toEqual(['small.js', '1: needle']);
    expect(heading[1]).toBe('Not searched: "huge.js": line 1, longer than 256 KiB');
  });

  test('shows decodable parts of text in an unknown encoding', async () => {
    const { search } = await searchProject({
      'a.txt': Buffer.from('\x93caf\xe9\x94 needle\r\n', 'latin1'),
    });
    expect((await search({ pattern: 'needle' })).lines).toEqual([
      ...['a.txt', '1: \ufffdcaf\ufffd needle'],
    ]);
  });
});

describe('search_text: pages', () => {
  async function allOf(
    search: (args: object) => Promise<ReturnType<typeof readAnswer>>,
    args: object,
  ) {
    const pages = [await search(args)];
    for (let cursor = pages[0]?.cursor; cursor !== undefined; cursor = pages.at(-1)?.cursor) {
      pages.push(await search({ ...args, cursor }));
    }
    return pages;
  }

  const files = Object.fromEntries(
    Array.from({ length: 15 }, (_, index) => [
      `${'abc'[index % 3]}/${index}.txt`,
      'needle\nother\n'.repeat((index % 5) + 1),
    ]),
  );

  test.each([4, 7, 32])('adds up pages of %i lines to all lines', async (limit) => {
    const { search } = await searchProject(files);
    const whole = await found(search({ pattern: 'needle', limit: 1000 }));
    expect(whole).toHaveLength(45);
    const pages = await allOf(search, { pattern: 'needle', limit });
    for (const { lines } of pages) expect(placesOf(lines).length).toBeLessThanOrEqual(limit);
    expect(pages.flatMap(({ lines }) => placesOf(lines))).toEqual(whole);
  });

  test('limits pages in size', async () => {
    const { search } = await searchProject({ 'a.txt': `needle${'x'.repeat(490)}\n`.repeat(300) });
    const pages = await allOf(search, { pattern: 'needle', limit: 1000 });
    for (const { lines } of pages) expect(lines.join('\n').length).toBeLessThan(40_000);
    expect(pages.flatMap(({ lines }) => placesOf(lines))).toHaveLength(300);
  });

  test.each(['files', 'count'])('adds up pages of %s to all results', async (mode) => {
    const { search } = await searchProject(files);
    const whole = (await search({ pattern: 'needle', mode, limit: 1000 })).lines;
    expect(whole).toHaveLength(15);
    const pages = await allOf(search, { pattern: 'needle', mode, limit: 4 });
    expect(pages.flatMap(({ lines }) => lines)).toEqual(whole);
  });

  test('starts a page with the context of its own first match', async () => {
    const { search } = await searchProject({ 'a.txt': 'needle\n1\n2\n3\n4\nneedle\n5\n' });
    const { cursor, lines } = await search({ pattern: 'needle', limit: 1, contextLines: 1 });
    expect(lines).toEqual(['a.txt', '1: needle', '2- 1']);
    const next = await search({ pattern: 'needle', limit: 1, contextLines: 1, cursor });
    expect(next.lines).toEqual(['a.txt', '5- 4', '6: needle', '7- 5']);
  });

  test('needs no second walk for later pages and reads current file content', async () => {
    const { search, cwd } = await searchProject({ 'a.txt': 'needle\n', 'b.txt': 'needle\n' });
    const { cursor } = await search({ pattern: 'needle', limit: 1 });
    await writeFile(join(cwd, 'b.txt'), 'other\nneedle\n');
    await writeFile(join(cwd, 'c.txt'), 'needle\n');
    expect(await found(search({ pattern: 'needle', limit: 1, cursor }))).toEqual(['b.txt:2']);
  });

  test('refuses a cursor of another query', async () => {
    const { search } = await searchProject(files);
    const { cursor } = await search({ pattern: 'needle', limit: 1 });
    expect((await toolError(search({ pattern: 'other', cursor }))).code).toBe('INVALID_CURSOR');
  });
});

describe('search_text: modes', () => {
  const files = {
    'b.txt': 'needle\nneedle\nother\n',
    'a/x.txt': 'needle\n',
    'c.txt': 'other\n',
    'large.txt': `${'y'.repeat(99)}\n`.repeat(50_000) + 'needle\nneedle\nneedle',
  };

  test('mode files lists the files with matches', async () => {
    const { search, cwd } = await searchProject(files);
    expect(await search({ pattern: 'needle', mode: 'files' })).toEqual({
      heading: [`3 files with matches, of 4 files in ${cwd}.`],
      lines: ['a/x.txt', 'b.txt', 'large.txt'],
      cursor: undefined,
    });
  });

  test('mode count counts matching lines per file and in total beyond the limit', async () => {
    const { search, cwd } = await searchProject(files);
    const { heading, lines, cursor } = await search({ pattern: 'needle', mode: 'count', limit: 2 });
    expect(heading[0]).toBe(`6 matching lines in 3 of 4 files in ${cwd}.`);
    expect(lines).toEqual(['a/x.txt: 1', 'b.txt: 2']);
    const next = await search({ pattern: 'needle', mode: 'count', limit: 2, cursor });
    expect(next.lines).toEqual(['large.txt: 3']);
  });
});

test('search_text reports progress as matches are found', async () => {
  const { search, context } = await searchProject({ 'a.txt': 'needle\n'.repeat(3) });
  await search({ pattern: 'needle' });
  expect(context.reported.map(({ progress }) => progress)).toEqual([1, 2, 3]);
});

test('search_text cancelled while running rejects with the reason of its signal', async () => {
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
