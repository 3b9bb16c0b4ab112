/** Resource limits of a search, for any files and patterns. */
import { randomBytes } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { searchTextTool } from '../src/tools/search-text.ts';
import type { Boundary } from 'mcp-actors/roots';
import { findCounts, findLines } from '../src/search/text-search.ts';
import type { TextSearchRun } from '../src/search/text-search.ts';
import { createWorkspace } from '../src/project/workspace.ts';
import type { WorkspaceSources } from '../src/project/workspace.ts';
import { callTool, fakeContext, toolError } from '../../roots/test/fake-context.ts';
import { peakOfRipgrep } from './peak-memory.ts';
import { readSearchAnswer } from './read-answer.ts';
import { boundaryAt } from '../../roots/test/root-at.ts';
import {
  temporaryDirectory,
  writeAlike,
  writeFiles,
} from '../../roots/test/temporary-directory.ts';

const mebibyte = 1024 * 1024;
const mostBytes = 100 * mebibyte;

function searchIn(cwd: string, sources: Partial<WorkspaceSources> = {}) {
  const tool = searchTextTool(createWorkspace({ cwd, home: '/nobody', ...sources }));
  return async (args: object, signal?: AbortSignal) =>
    readSearchAnswer((await callTool(tool, args, fakeContext(undefined, signal))).text);
}

describe.runIf(process.platform === 'linux')('memory of ripgrep', () => {
  const minified = Buffer.alloc(8 * mebibyte, 'var abc=function(x){return x+1};');
  const oneLine = Buffer.alloc(4_000_000, 'x');
  const words = Buffer.from(
    'The quick brown fox jumps over the lazy dog 0123456789. '.repeat(70_000),
  );
  const coins = Buffer.from(
    randomBytes(600_000).map((byte, at) => (at % 2000 === 0 ? 10 : 97 + (byte & 1))),
  );

  test.each([
    ['a line of 20 MiB that matches everywhere', [Buffer.alloc(20 * mebibyte, 'x')], 'x'],
    ['a line of 110 MiB', [Buffer.alloc(110 * mebibyte, 'x')], 'y'],
    ['a minified line of 8 MiB', [minified], 'abc'],
    ['many lines consisting of matches', [`${'x'.repeat(250_000)}\n`.repeat(18)], 'x'],
    ['many large files', Array.from({ length: 24 }, () => oneLine), 'x'],
    ['many large files without a match', Array.from({ length: 24 }, () => oneLine), 'y'],
    ['a heavy expression', Array.from({ length: 8 }, () => words), '[\\w\\s]{50,150}q{3}'],
    [
      'another heavy expression',
      Array.from({ length: 8 }, () => words),
      '(?:\\pL{1,30}.{0,40}){1,4}\\d{12}',
    ],
    // Without a limit, each position in this text would add a state to the automaton.
    ['an expression of many states', [coins], 'a[ab]{40}c|b[ab]{50}d'],
  ])('stays below 100 MiB: %s', async (_, contents, pattern) => {
    const cwd = await temporaryDirectory(
      Object.fromEntries(contents.map((content, index) => [`file${index}.txt`, content])),
    );
    const search = searchIn(cwd);
    let peak = 0;
    // On a busy machine ripgrep may exit before it is sampled; repeat such runs.
    while (peak < mebibyte) {
      peak = await peakOfRipgrep(async () => await search({ pattern, regex: true, limit: 1 }));
    }
    expect(peak).toBeLessThan(mostBytes);
  });
});

test('refuses a pattern that would compile to hundreds of megabytes', async () => {
  const search = searchIn(await temporaryDirectory({ 'a.txt': 'needle' }));
  const error = await toolError(search({ pattern: '\\w{2000}', regex: true }));
  expect(error.message).toContain('size limit of 10485760');
});

describe('size limit of ignore rules', () => {
  /** The given number of bytes of the most expensive patterns for ripgrep. */
  const rules = (bytes: number) => {
    const lines: string[] = [];
    for (let size = 0; size < bytes; size += lines.at(-1)?.length ?? 0) {
      lines.push(`dir${lines.length}/f*o${lines.length}[ab].x\n`);
    }
    return lines.join('');
  };

  test.runIf(process.platform === 'linux')(
    'ends a search before oversized rules are compiled',
    async () => {
      const cwd = await temporaryDirectory({ '.gitignore': rules(4 * mebibyte), 'a.txt': 'x' });
      const search = searchIn(cwd);
      const peak = await peakOfRipgrep(async () => {
        const error = await toolError(search({ pattern: 'x' }));
        expect(error.code).toBe('SEARCH_FAILED');
        expect(error.message).toContain('"./.gitignore"');
      });
      expect(peak).toBeLessThan(mostBytes);
    },
  );

  test.runIf(process.platform === 'linux')(
    'counts rules in a directory with line breaks in its name',
    async () => {
      const cwd = await temporaryDirectory({
        'x\nrg: y\nz/.gitignore': rules(mebibyte),
        'x\nrg: y\nz/a.txt': 'x',
      });
      const error = await toolError(searchIn(cwd)({ pattern: 'x' }));
      expect(error.message).toContain('"./x\\nrg: y\\nz/.gitignore" and the ignore files above it');
    },
  );

  test('adds up along a path, not across siblings', async () => {
    // Only the size counts: comments cost ripgrep nothing.
    const part = `${'#'.repeat(29_999)}\n`;
    const cwd = await temporaryDirectory({
      '.gitignore': part,
      'a/.gitignore': part,
      'b/.gitignore': part,
      'c/.gitignore': part,
      'b/b.txt': 'needle',
    });
    const search = searchIn(cwd);
    expect((await search({ pattern: 'needle' })).matchingLines).toBe(1);
    await writeFiles(cwd, { 'b/c/.ignore': part });
    const error = await toolError(search({ pattern: 'needle' }));
    expect(error.message).toContain('"./b/c/.ignore"');
  });

  test.runIf(process.platform === 'linux')(
    'allows rules up to the limit at bounded memory',
    async () => {
      const cwd = await temporaryDirectory({ '.gitignore': rules(64 * 1024 - 100), 'a.txt': 'x' });
      const search = searchIn(cwd);
      const peak = await peakOfRipgrep(async () => {
        expect((await search({ pattern: 'x' })).matchingLines).toBe(1);
      });
      expect(peak).toBeLessThan(mostBytes);
    },
  );
});

describe('content omitted from a search', () => {
  test('reports lines over 256 KiB and searches the rest of the file', async () => {
    const long = `needle${'x'.repeat(300_000)}\n`;
    const line = `${'y'.repeat(99)}\n`;
    const cwd = await temporaryDirectory({
      'large.txt': `needle 1\n${long}${line.repeat(50_000)}needle 50003\n${long}needle`,
    });
    const found = await searchIn(cwd)({ pattern: 'needle', contextLines: 1 });
    expect(found.files.map(({ path }) => path)).toEqual(['large.txt']);
    const matches = found.files[0]?.lines.filter(({ match }) => match);
    expect(matches?.map((match) => match.line)).toEqual([1, 50_003, 50_005]);
    expect(found.problems).toEqual(['"large.txt": line 2 and 1 more, longer than 256 KiB']);
  });

  test.runIf(process.platform !== 'win32')(
    'searches a large file with line breaks in its name',
    async () => {
      const large = `${'y'.repeat(99)}\n`.repeat(50_000);
      const cwd = await temporaryDirectory({ 'a\nb\nc.txt': `${large}needle` });
      const found = await searchIn(cwd)({ pattern: 'needle' });
      expect(found.files.map(({ path }) => path)).toEqual([String.raw`a\u000ab\u000ac.txt`]);
      expect(found.problems).toEqual([]);
    },
  );

  test('counts problems beyond the listed ones', async () => {
    const long = `needle${'x'.repeat(300_000)}`;
    const names = Array.from({ length: 25 }, (_, index) => `${index}.txt`);
    const cwd = await temporaryDirectory(Object.fromEntries(names.map((name) => [name, long])));
    const { problems } = await searchIn(cwd)({ pattern: 'needle' });
    expect(problems).toHaveLength(21);
    expect(problems.at(-1)).toBe('and 5 more');
  });

  test('reports an overlong line even if its placeholder would match', async () => {
    const cwd = await temporaryDirectory({ 'a.txt': `x\n${'y'.repeat(300_000)}\n\n` });
    const found = await searchIn(cwd)({ pattern: '^$', regex: true });
    expect(found.files[0]?.lines.map(({ line }) => line)).toEqual([3]);
    expect(found.problems).toHaveLength(1);
  });

  test('searches a line of exactly 256 KiB at any offset', async () => {
    const line = `${'x'.repeat(256 * 1024 - 7)}needle\n`;
    const cwd = await temporaryDirectory({ 'a.txt': `${'short\n'.repeat(7)}${line}${line}end\n` });
    const found = await searchIn(cwd)({ pattern: 'needle' });
    expect(found.files[0]?.lines.map(({ line: at }) => at)).toEqual([8, 9]);
    expect(found.problems).toEqual([]);
  });

  test('searches small and large files in other encodings', async () => {
    const text = `needle é\n${'other line 項\n'.repeat(180_000)}needle\n`;
    const cwd = await temporaryDirectory({
      'small.txt': Buffer.from('\ufeffone\nneedle é\n', 'utf16le'),
      'large.txt': Buffer.from(`\ufeff${text}`, 'utf16le'),
      'mark.txt': '\ufeffneedle\n',
    });
    const { files } = await searchIn(cwd)({ pattern: '^needle', regex: true });
    expect(files.map(({ path, lines }) => [path, lines.map(({ line }) => line)])).toEqual([
      ['large.txt', [1, 180_002]],
      ['mark.txt', [1]],
      ['small.txt', [2]],
    ]);
    expect(files[0]?.lines[0]?.text).toBe('needle é');
  });

  test('omits a large binary file, but not a large file with ignored siblings', async () => {
    const filler = `${'z'.repeat(100)}\n`.repeat(50_000);
    const cwd = await temporaryDirectory({
      '.gitignore': '*.log',
      'large.bin': `needle\0${filler}`,
      'large.log': `needle\n${filler}`,
      'large.txt': `needle\n${filler}`,
      'src/large.ts': `needle\n${filler}`,
    });
    const search = searchIn(cwd);
    const pathsOf = async (args: object) =>
      (await search({ pattern: 'needle', ...args })).files.map(({ path }) => path);
    expect(await pathsOf({})).toEqual(['large.txt', 'src/large.ts']);
    expect(await pathsOf({ globs: ['src/**'] })).toEqual(['src/large.ts']);
  });

  test('does not mix context lines of different files', async () => {
    const cwd = await temporaryDirectory({
      'a.txt': 'one\nneedle\n',
      'b.txt': 'needle\ntwo',
      'c.txt': 'three\nneedle',
    });
    const { files } = await searchIn(cwd)({ pattern: 'needle', contextLines: 3 });
    expect(files.map(({ path, lines }) => [path, lines.map(({ line }) => line)])).toEqual([
      ['a.txt', [1, 2]],
      ['b.txt', [1, 2]],
      ['c.txt', [1, 2]],
    ]);
  });
});

function searchOf(boundary: Boundary, paths: readonly string[]): TextSearchRun {
  const never = new AbortController().signal;
  return {
    boundary,
    paths,
    patternArgs: ['--regexp=needle'],
    large: new Set(),
    afterLine: 0,
    contextLines: 0,
    limit: 1_000_000,
    signal: never,
    deadline: never,
    onProblem: () => {},
    onMatch: () => {},
  };
}

describe('search timeout', () => {
  afterEach(() => void vi.useRealTimers());

  test('returns and reports partial results', async () => {
    const cwd = await temporaryDirectory({ 'a.txt': 'needle\n'.repeat(200_000) });
    const deadline = new AbortController();
    const run: TextSearchRun = {
      ...searchOf(boundaryAt(cwd), ['a.txt']),
      deadline: deadline.signal,
      onMatch: () => deadline.abort(new Error('The time is over')),
    };
    const { endedBy, matchingLines, next } = await findLines(run);
    expect(endedBy).toBe('time');
    expect(matchingLines).toBeGreaterThan(0);
    expect(next).toEqual({ path: 'a.txt', line: matchingLines });
  });

  test('stops with a cursor to continue from', async () => {
    const names = Array.from({ length: 2000 }, (_, index) => `${10_000 + index}${'x'.repeat(90)}`);
    const cwd = await temporaryDirectory({ [names[1999] ?? '']: 'needle' });
    await writeAlike(cwd, names.slice(0, 1999), 'other');
    const deadline = new AbortController();
    const paths = {
      *[Symbol.iterator]() {
        for (const [index, name] of names.entries()) {
          if (index === 1000) deadline.abort(new Error('The time is over'));
          yield name;
        }
      },
    };
    const run = {
      ...searchOf(boundaryAt(cwd), names),
      deadline: deadline.signal,
      paths: Object.assign([...names], { [Symbol.iterator]: paths[Symbol.iterator] }),
    };
    const found = await findCounts(run, false);
    expect(found).toMatchObject({ files: [], endedBy: 'time' });
    const reached = names.indexOf(found.next?.path ?? '');
    expect(reached).toBeGreaterThan(50);
    expect(reached).toBeLessThan(1000);
    const rest = await findCounts(searchOf(boundaryAt(cwd), names.slice(reached + 1)), false);
    expect(rest.files).toEqual([{ path: names[1999], matchingLines: 1 }]);
  });

  test('times out after 20 s by default or a configured time', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const cwd = await temporaryDirectory();
    for (const [sources, ms] of [
      [{}, 20_000],
      [{ searchTimeoutMs: 500 }, 500],
    ] as const) {
      const workspace = createWorkspace({ cwd, home: '/nobody', ...sources });
      const entered = await workspace.enter(fakeContext(), undefined);
      const ended = workspace.search(entered, fakeContext(), async (_, deadline) => {
        // Pending file system calls have their own timeout, which has not expired.
        while (vi.getTimerCount() > 1) await setImmediate();
        return await new Promise<Error>((resolve) => {
          deadline.addEventListener('abort', () => resolve(deadline.reason as Error));
          vi.advanceTimersByTime(ms - 1);
          expect(deadline.aborted).toBe(false);
          vi.advanceTimersByTime(1);
        });
      });
      expect((await ended).message).toContain(`${ms} ms`);
      expect(vi.getTimerCount()).toBe(0);
    }
  });
});

describe('concurrent searches', () => {
  /** Searches of two sessions that run until told to end. */
  async function held(count: number) {
    const cwd = await temporaryDirectory();
    const sessions = [0, 1].map(() => createWorkspace({ cwd, home: '/nobody' }));
    const ends: (() => void)[] = [];
    const signals = Array.from({ length: count }, () => new AbortController());
    const searches = signals.map(async ({ signal }, index) => {
      const context = fakeContext(undefined, signal);
      const workspace = sessions[index % 2] ?? sessions[0];
      const entered = await workspace?.enter(context, undefined);
      if (entered === undefined) return;
      await workspace?.search(
        entered,
        context,
        async () => await new Promise<void>((resolve) => void ends.push(resolve)),
      );
    });
    await expect.poll(() => ends).toHaveLength(Math.min(count, 4));
    return { ends, signals, searches };
  }

  test('limits concurrent searches to four across sessions, and starts the next when one ends', async () => {
    const { ends, searches } = await held(6);
    expect(ends).toHaveLength(4);
    ends[0]?.();
    await Promise.race(searches);
    await expect.poll(() => ends).toHaveLength(5);
    ends[1]?.();
    await expect.poll(() => ends).toHaveLength(6);
    for (const end of ends) end();
    await Promise.all(searches);
  });

  test('keeps the slots of running searches when a waiting one is cancelled', async () => {
    const { ends, signals, searches } = await held(6);
    const settled = Promise.allSettled(searches);
    const reason = new Error('cancelled');
    for (const { signal } of signals) expect(signal.aborted).toBe(false);
    // Which ones are waiting is invisible from outside: running ones ignore their signals.
    for (const controller of signals) controller.abort(reason);
    await expect.poll(() => ends).toHaveLength(4);
    for (const end of ends) end();
    const results = await settled;
    expect(results.filter(({ status }) => status === 'rejected')).toEqual([
      { status: 'rejected', reason },
      { status: 'rejected', reason },
    ]);
    const again = await held(4);
    for (const end of again.ends) end();
    await Promise.all(again.searches);
  });

  test('reports a timeout while waiting for a slot', async () => {
    const { ends, searches } = await held(4);
    const search = searchIn(await temporaryDirectory(), { searchTimeoutMs: 1 });
    expect((await toolError(search({ pattern: 'x' }))).code).toBe('SEARCH_TIMED_OUT');
    for (const end of ends) end();
    await Promise.all(searches);
  });
});
