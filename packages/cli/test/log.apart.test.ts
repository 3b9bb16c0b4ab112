import {
  closeSync,
  constants,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough, Writable } from 'node:stream';
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { createLog, logVerbosities } from '../../diagnostics/src/log/log.ts';
import type { LogThreshold } from 'mcp-actors/serve';
import type { Fact } from 'mcp-actors';
import { humanForm, jsonForm } from '../../diagnostics/src/log/log-line.ts';
import { fileSink } from '../src/log-file.ts';
import { defaultReport } from '../../../src/server/session/default-report.ts';
import { streamSink } from '../../serve/src/stderr-sink.ts';
import { UsageError } from '../src/command.ts';
import { makeNamedPipe } from '../../roots/test/named-pipe.ts';

const fact = (changes: Partial<Fact> = {}): Fact => ({
  level: 'warning',
  name: 'frame.invalid',
  message: 'no JSON',
  ...changes,
});

beforeEach(() => {
  vi.useFakeTimers({ now: Date.UTC(2025, 10, 25, 12) });
});
afterEach(() => {
  expect(vi.getTimerCount()).toBe(0);
  vi.useRealTimers();
});

/** A log into an array; `full` is asked before each line. */
function memoryLog(level: LogThreshold, full = () => false) {
  const lines: { readonly [field: string]: unknown }[] = [];
  const sink = {
    write(line: string) {
      if (full()) return false;
      lines.push(JSON.parse(line) as { readonly [field: string]: unknown });
      return true;
    },
    flush: () => Promise.resolve(),
  };
  const log = createLog({ level, form: jsonForm, sink, state: () => 'rootsKnown' });
  return { log, lines };
}

describe('a line', () => {
  test('is one JSON object with the time, the level, the event, the state and the details', async () => {
    const { log, lines } = memoryLog('debug');
    log.report(fact({ details: { bytes: 3, token: 'hunter2' } }));
    await log.close();
    expect(lines).toEqual([
      {
        time: '2025-11-25T12:00:00.000Z',
        level: 'warning',
        event: 'frame.invalid',
        message: 'no JSON',
        session: 'rootsKnown',
        details: { bytes: 3, token: '[redacted]' },
      },
    ]);
  });

  test("for a person is short, and holds no control characters of a peer's", () => {
    const line = humanForm({
      time: Date.UTC(2025, 10, 25, 12),
      level: 'warning',
      event: 'frame.invalid',
      session: 'rootsKnown',
      message: 'bad \u001b[2J\n\u009bframe',
      details: { bytes: 3 },
    });
    expect(line).toBe(
      '12:00:00.000 warning frame.invalid [rootsKnown] bad \\u001b[2J\\u000a\\u009bframe {"bytes":3}\n',
    );
  });

  test('is bounded, however much it is to tell', () => {
    const details = Object.fromEntries(
      Array.from({ length: 50 }, (_, i) => [`k${i}`, 'x'.repeat(5000)]),
    );
    const line = jsonForm({
      time: 0,
      level: 'info',
      event: 'e',
      message: 'm'.repeat(1e6),
      details,
    });
    expect(line.length).toBeLessThan(20_000);
    JSON.parse(line);
  });
});

describe('the level', () => {
  test.each(logVerbosities)('%s lets pass what is at least as grave', async (level) => {
    const { log, lines } = memoryLog(level);
    for (const of of ['debug', 'info', 'warning', 'error'] as const)
      log.report(fact({ level: of }));
    await log.close();
    expect(lines.map((line) => line['level'])).toEqual(
      logVerbosities.slice(logVerbosities.indexOf(level), -1),
    );
  });
});

describe('the rate', () => {
  test('of one fact is limited, and a summary follows by itself', () => {
    const { log, lines } = memoryLog('debug');
    for (let i = 0; i < 1000; i += 1) log.report(fact());
    log.report(fact({ name: 'session.closed' }));
    expect(lines).toHaveLength(21);
    vi.advanceTimersByTime(1000);
    expect(lines).toHaveLength(22);
    expect(lines.at(-1)).toMatchObject({
      event: 'log.suppressed',
      level: 'warning',
      message: '980 more frame.invalid in the last second',
      details: { of: 'frame.invalid', count: 980 },
    });
    log.report(fact());
    expect(lines).toHaveLength(23);
    vi.advanceTimersByTime(1000);
    expect(lines).toHaveLength(23);
  });

  test('leaves no summary behind at the end', async () => {
    const { log, lines } = memoryLog('debug');
    for (let i = 0; i < 21; i += 1) log.report(fact());
    await log.close();
    expect(lines.at(-1)).toMatchObject({ message: '1 more frame.invalid in the last second' });
  });

  test('does not count what the level keeps back', async () => {
    const { log, lines } = memoryLog('warning');
    for (let i = 0; i < 100; i += 1) log.report(fact({ level: 'debug' }));
    await log.close();
    expect(lines).toEqual([]);
  });
});

describe('a sink', () => {
  test('that takes nothing costs lines, which are counted once it takes some again', async () => {
    let isFull = true;
    const { log, lines } = memoryLog('debug', () => isFull);
    log.report(fact());
    log.report(fact());
    isFull = false;
    log.report(fact({ message: 'third' }));
    log.report(fact({ message: 'fourth' }));
    await log.close();
    expect(lines.map((line) => line['event'])).toEqual([
      'log.lost',
      'frame.invalid',
      'frame.invalid',
    ]);
    expect(lines[0]).toMatchObject({ details: { count: 2 } });
  });

  test('over a stream that breaks loses lines and hurts nobody', async () => {
    const stream = new Writable({ write: (_chunk, _encoding, done) => done(new Error('EPIPE')) });
    const sink = streamSink(stream);
    expect(sink.write('a\n')).toBe(true);
    await new Promise((resolve) => stream.once('close', resolve));
    expect(sink.write('b\n')).toBe(false);
    await sink.flush();
  });

  test('over a stream that nobody reads keeps a bounded backlog, and its flush gives up', async () => {
    const stream = new PassThrough({ highWaterMark: 1 });
    const sink = streamSink(stream);
    const line = `${'x'.repeat(10_000)}\n`;
    let taken = 0;
    while (sink.write(line) && taken < 1000) taken += 1;
    expect(taken).toBeLessThan(120);
    const flushed = sink.flush();
    await vi.advanceTimersByTimeAsync(250);
    await flushed;
  });

  test('over a file appends, for its owner alone', () => {
    const directory = mkdtempSync(join(tmpdir(), 'mcp-actors-'));
    const path = join(directory, 'log');
    fileSink(path).write('a\n');
    fileSink(path).write('b\n');
    expect(readFileSync(path, 'utf8')).toBe('a\nb\n');
    expect(statSync(path).mode & 0o777).toBe(0o600);
    rmSync(directory, { recursive: true });
  });

  test('over a file that cannot be written is a clear error', () => {
    const open = (path: string) => () => fileSink(path);
    expect(open(tmpdir())).toThrow(UsageError);
    expect(open(tmpdir())).toThrow(/^--log-file: ".*" cannot be written: EISDIR/);
    expect(open(join(tmpdir(), 'no', 'such', 'file'))).toThrow(/ENOENT/);
  });

  test('over what is no file and no character device is refused; a character device is not', () => {
    const directory = mkdtempSync(join(tmpdir(), 'mcp-actors-'));
    onTestFinished(() => rmSync(directory, { recursive: true }));
    const pipe = join(directory, 'pipe');
    makeNamedPipe(pipe);
    const { O_RDONLY, O_NONBLOCK } = constants;
    const reader = openSync(pipe, O_RDONLY | O_NONBLOCK);
    expect(() => fileSink(pipe)).toThrow(
      /^--log-file: ".*pipe" must be a file or a character device$/,
    );
    closeSync(reader);
    expect(fileSink('/dev/null').write('a\n')).toBe(true);
  });
});

test('a log says its threshold, so that what it would not log need not be made', () => {
  for (const level of logVerbosities) expect(memoryLog(level).log.report.threshold).toBe(level);
  expect(defaultReport.threshold).toBe('warning');
});
