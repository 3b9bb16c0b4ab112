/** Searches with a ripgrep process that does not exit when killed. */
import type * as childProcess from 'node:child_process';
import { once } from 'node:events';
import { chmod, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import type { RootDirectory } from 'mcp-actors/roots';
import { ripgrep } from '../src/search/ripgrep.ts';
import { findBinary } from '../src/search/ripgrep-binary.ts';
import { countedFiles } from '../src/search/ripgrep-output.ts';
import { searchTextTool } from '../src/tools/search-text.ts';
import { createWorkspace } from '../src/project/workspace.ts';
import { kill } from '../../processes/test/process-table.ts';
import { callTool, fakeContext, toolError } from '../../roots/test/fake-context.ts';
import { readSearchAnswer } from './read-answer.ts';
import { rootDirectory } from '../../roots/test/root-at.ts';
import { temporaryDirectory } from '../../roots/test/temporary-directory.ts';

/** Processes that ignore signals; `end` terminates them after all. */
const unreachable = vi.hoisted(() => ({
  started: undefined as { end(): Promise<void> }[] | undefined,
}));

vi.mock('../src/search/ripgrep-binary.ts', () => ({ findBinary: vi.fn() }));
vi.mock('node:child_process', async (importOriginal) => {
  const original = await importOriginal<typeof childProcess>();
  const spawn = (...args: Parameters<typeof original.spawn>) => {
    const child = original.spawn(...args);
    if (unreachable.started === undefined) return child;
    const kill = child.kill.bind(child);
    const gone = once(child, 'close');
    const end = async () => {
      kill('SIGKILL');
      await gone;
    };
    unreachable.started.push({ end });
    // Signals to threads blocked in the kernel are accepted but have no effect.
    child.kill = () => true;
    return child;
  };
  return { ...original, spawn };
});

/**
 * A substitute for ripgrep that reports a matching file and then hangs, together with a child on
 * the same pipes.
 */
async function hangingProgram(): Promise<void> {
  const directory = await temporaryDirectory({
    rg: `#!/bin/sh
trap '' TERM INT HUP PIPE
sleep 600 &
echo $! >> "$(dirname "$0")/children"
printf './a.txt\\0001\\n'
wait
`,
  });
  await chmod(join(directory, 'rg'), 0o755);
  vi.mocked(findBinary).mockResolvedValue(join(directory, 'rg'));
  onTestFinished(async () => {
    const children = await readFile(join(directory, 'children'), 'utf8');
    for (const pid of children.split('\n').filter(Boolean)) kill(Number(pid));
  });
}

/** Runs the program and counts the files it reported. */
async function countFiles(root: RootDirectory, onFile: () => Promise<void>, deadline: AbortSignal) {
  const { signal } = new AbortController();
  let files = 0;
  for await (const counted of ripgrep({
    args: [],
    root,
    signal,
    deadline,
    records: countedFiles(),
  })) {
    files += counted.length;
    await onFile();
  }
  return files;
}

describe.runIf(process.platform !== 'win32')('search deadline', () => {
  test('ends a search whose pipes stay open', async () => {
    await hangingProgram();
    const cwd = await temporaryDirectory({ 'a.txt': 'needle' });
    const tool = searchTextTool(createWorkspace({ cwd, home: '/nobody', searchTimeoutMs: 300 }));
    const { text } = await callTool(tool, { pattern: 'needle' }, fakeContext());
    const { heading, problems } = readSearchAnswer(text);
    expect(heading[0]).toBe('No matches so far.');
    expect(heading[1]).toContain('Timed out before anything was searched');
    expect(problems).toEqual([expect.stringContaining('timed out after 300 ms')]);
  });

  test('ends a search whose process cannot be killed, at most eight times', async () => {
    await hangingProgram();
    const root = rootDirectory(await temporaryDirectory());
    const deadline = new AbortController();
    const started: { end(): Promise<void> }[] = [];
    unreachable.started = started;
    onTestFinished(async () => {
      unreachable.started = undefined;
      await Promise.all(started.map(async (child) => await child.end()));
    });
    let named = 0;
    const onFile = async () => {
      named += 1;
      if (named === 8) deadline.abort(new Error('The time is over'));
    };
    const runs = Array.from({ length: 8 }, () => countFiles(root, onFile, deadline.signal));
    expect(await Promise.all(runs)).toEqual([1, 1, 1, 1, 1, 1, 1, 1]);

    const next = async () => {
      const end = new AbortController();
      return await countFiles(root, async () => end.abort(new Error('Enough')), end.signal);
    };
    const error = await toolError(next());
    expect(error.code).toBe('SEARCH_UNAVAILABLE');
    expect(error.message).toContain('8 earlier searches hang');
    expect(started).toHaveLength(8);

    await started[0]?.end();
    expect(await next()).toBe(1);
  });
});
