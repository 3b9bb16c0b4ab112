import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { ripgrep, ripgrepArguments } from '../src/search/ripgrep.ts';
import type { RipgrepEnd, RipgrepRun } from '../src/search/ripgrep.ts';
import { delimitedRecords } from '../src/search/ripgrep-output.ts';
import type { RipgrepRecord } from '../src/search/ripgrep-output.ts';
import { countTurns, workFor } from '../../../test/actors/busy-loop.ts';
import { toolError } from '../../roots/test/fake-context.ts';
import { rootDirectory } from '../../roots/test/root-at.ts';
import { temporaryDirectory } from '../../roots/test/temporary-directory.ts';

const never = new AbortController().signal;

function searching(
  cwd: string,
  pattern: string,
  rest: Partial<RipgrepRun<RipgrepRecord>> = {},
): RipgrepRun<RipgrepRecord> {
  const args = [...ripgrepArguments, '--json', `--regexp=${pattern}`, '--', './'];
  return {
    args,
    root: rootDirectory(cwd),
    signal: never,
    records: delimitedRecords('\n'),
    ...rest,
  };
}

async function all(
  run: RipgrepRun<RipgrepRecord>,
): Promise<{ texts: string[]; cut: boolean[]; end: RipgrepEnd | undefined }> {
  const texts: string[] = [];
  const cut: boolean[] = [];
  let end: RipgrepEnd | undefined;
  const onEnd = (given: RipgrepEnd) => void (end = given);
  for await (const record of ripgrep({ ...run, onEnd })) {
    texts.push(record.bytes.toString());
    cut.push(record.cut);
  }
  return { texts, cut, end };
}

/** Ripgrep child processes of this process. */
function children(): string[] {
  // Column names that every `ps` supports.
  const listed = execFileSync('ps', ['-A', '-o', 'ppid=,comm='], { encoding: 'utf8' });
  return listed
    .split('\n')
    .flatMap((line) => (Number.parseInt(line, 10) === process.pid ? [line] : []))
    .filter((line) => /\brg$/.test(line.trim()) || line.includes('<defunct>'));
}

/** More output than a pipe holds, so that an unread ripgrep blocks. */
const manyLines = 'needle in a line\n'.repeat(20_000);

test('ripgrep yields records one by one, then the outcome', async () => {
  const cwd = await temporaryDirectory({ 'a.txt': 'one\nneedle\n' });
  const { texts, end } = await all(searching(cwd, 'needle'));
  expect(texts.map((text) => JSON.parse(text).type)).toEqual(['begin', 'match', 'end', 'summary']);
  expect(end).toEqual({ problems: [] });
});

test('ripgrep treats no matches as a success', async () => {
  const cwd = await temporaryDirectory({ 'a.txt': 'one' });
  const { texts } = await all(searching(cwd, 'needle'));
  expect(texts).toHaveLength(1);
});

test('ripgrep exits before a loop left early continues', async () => {
  const cwd = await temporaryDirectory({ 'a.txt': manyLines });
  for await (const record of ripgrep(searching(cwd, 'needle'))) {
    expect(record.cut).toBe(false);
    expect(children()).toHaveLength(1);
    break;
  }
  expect(children()).toEqual([]);
});

test('ripgrep exits on an aborted signal, and the loop throws its reason', async () => {
  const cwd = await temporaryDirectory({ 'a.txt': manyLines });
  const controller = new AbortController();
  const reason = new Error('cancelled');
  const reading = (async () => {
    for await (const { cut } of ripgrep(searching(cwd, 'needle', { signal: controller.signal }))) {
      expect(cut).toBe(false);
      controller.abort(reason);
    }
  })();
  await expect(reading).rejects.toBe(reason);
  expect(children()).toEqual([]);
});

test('ripgrep lets the event loop turn however long records take to process', async () => {
  const cwd = await temporaryDirectory({ 'a.txt': 'needle\n'.repeat(100) });
  const turns = countTurns();
  const recordsOfTurn = new Map<number, number>();
  for await (const { bytes } of ripgrep(searching(cwd, 'needle'))) {
    if (bytes.length > 0) workFor(1);
    recordsOfTurn.set(turns.now(), (recordsOfTurn.get(turns.now()) ?? 0) + 1);
  }
  expect(Math.max(...recordsOfTurn.values())).toBeLessThanOrEqual(6);
});

test('ripgrep exits at the deadline, and the loop ends with complete records and the reason', async () => {
  // Records much longer than a read, so that the last one is certainly incomplete.
  const cwd = await temporaryDirectory({ 'a.txt': `needle${'x'.repeat(500_000)}\n`.repeat(20) });
  const deadline = new AbortController();
  let end: RipgrepEnd | undefined;
  const run = searching(cwd, 'needle', {
    deadline: deadline.signal,
    onEnd: (given) => void (end = given),
  });
  let records = 0;
  for await (const { bytes } of ripgrep(run)) {
    if (!bytes.includes('"match"')) continue;
    expect(JSON.parse(bytes.toString())).toMatchObject({ type: 'match' });
    records += 1;
    deadline.abort(new Error('too late'));
  }
  expect(records).toBeGreaterThan(0);
  expect(end).toEqual({ problems: ['too late'] });
  expect(children()).toEqual([]);
});

test('ripgrep is killed when this process exits', async () => {
  const cwd = await temporaryDirectory({ 'a.txt': manyLines });
  const before = process.listeners('exit');
  const reading = (async () => {
    for await (const { cut } of ripgrep(searching(cwd, 'needle'))) {
      expect(cut).toBe(false);
      for (const listener of process.listeners('exit')) if (!before.includes(listener)) listener(0);
    }
  })();
  expect((await toolError(reading)).message).toContain('ripgrep ended with code null');
  expect(process.listeners('exit')).toEqual(before);
});

test('ripgrep exits after an error in the loop', async () => {
  const cwd = await temporaryDirectory({ 'a.txt': manyLines });
  const fault = new Error('in the loop');
  const reading = (async () => {
    for await (const { bytes } of ripgrep(searching(cwd, 'needle')))
      if (bytes.length > 0) throw fault;
  })();
  await expect(reading).rejects.toBe(fault);
  expect(children()).toEqual([]);
});

test('ripgrep does not start if the signal is already aborted', async () => {
  const reason = new Error('too late');
  const run = searching('/', 'x', { signal: AbortSignal.abort(reason) });
  await expect(all(run)).rejects.toBe(reason);
});

test("ripgrep ignores the user's configuration file", async () => {
  const cwd = await temporaryDirectory({ 'a.txt': 'needle\n', '.ripgreprc': '--invert-match\n' });
  vi.stubEnv('RIPGREP_CONFIG_PATH', join(cwd, '.ripgreprc'));
  const { texts } = await all(searching(cwd, 'needle'));
  expect(texts.map((text) => JSON.parse(text).type)).toEqual(['begin', 'match', 'end', 'summary']);
});

describe('ripgrep failures', () => {
  test("reports an invalid pattern with ripgrep's message", async () => {
    const error = await toolError(all(searching(await temporaryDirectory(), 'a(')));
    expect(error.code).toBe('SEARCH_FAILED');
    expect(error.message).toContain('unclosed group');
  });

  test('throws ToolErrors for a missing directory and an overlong argument', async () => {
    expect((await toolError(all(searching('/nowhere/at/all', 'x')))).code).toBe('ROOT_UNAVAILABLE');
    const long = searching(await temporaryDirectory(), 'x'.repeat(300_000));
    expect((await toolError(all(long))).code).toBe('SEARCH_FAILED');
  });

  test('reports unreadable files as problems beside the results', async () => {
    const cwd = await temporaryDirectory({ 'a.txt': 'needle' });
    const run = searching(cwd, 'needle');
    const { end, texts } = await all({ ...run, args: [...run.args, './missing'] });
    expect(texts.length).toBeGreaterThan(1);
    expect(end?.problems).toEqual(['"missing" does not exist']);
  });
});

test('ripgrep truncates a record over 4 MiB and keeps the following ones intact', async () => {
  const line = `needle ${'x'.repeat(5 * 1024 * 1024)}`;
  const cwd = await temporaryDirectory({ 'a.txt': `${line}\nneedle\n` });
  const { texts, cut } = await all(searching(cwd, 'needle'));
  expect(cut).toEqual([false, true, false, false, false]);
  expect(texts[1]).toHaveLength(4 * 1024 * 1024);
  expect(JSON.parse(texts[2] ?? '')).toMatchObject({ type: 'match', data: { line_number: 2 } });
});
