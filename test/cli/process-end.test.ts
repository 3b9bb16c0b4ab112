import { EventEmitter } from 'node:events';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { endWithProcess } from '../../src/cli/process-end.ts';
import type { Fact } from '../../src/actors/facts.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** A process that only remembers how it was ended. */
class FakeProcess extends EventEmitter {
  readonly exits: unknown[] = [];
  exit(code?: unknown): never {
    this.exits.push(code);
    return undefined as never;
  }
}

function start() {
  const host = new FakeProcess();
  const shutdowns: string[] = [];
  const logged: Fact[] = [];
  const log = {
    report: (fact: Fact) => void logged.push(fact),
    close: () => Promise.resolve(),
  };
  const session = { shutdown: (reason: string) => void shutdowns.push(reason) };
  const end = endWithProcess(session, log, 2000, host as unknown as NodeJS.Process);
  return { host, shutdowns, logged, end };
}

test('the first signal ends the session, and not the process', () => {
  const { host, shutdowns, logged, end } = start();
  host.emit('SIGTERM', 'SIGTERM');
  expect(shutdowns).toEqual(['SIGTERM']);
  expect(host.exits).toEqual([]);
  expect(logged).toMatchObject([{ name: 'process.signalled', details: { signal: 'SIGTERM' } }]);
  expect(end.exitCode({ kind: 'shutdown', reason: 'SIGTERM' })).toBe(0);
});

test.each([
  ['SIGTERM', 'SIGTERM', 143],
  ['SIGTERM', 'SIGINT', 130],
  ['SIGINT', 'SIGTERM', 143],
])('%s and then %s ends the process at once with %d', (first, second, code) => {
  const { host, shutdowns } = start();
  host.emit(first, first);
  host.emit(second, second);
  expect(shutdowns).toHaveLength(1);
  expect(host.exits).toEqual([code]);
});

test.each([
  ['uncaughtException', 'uncaught exception'],
  ['unhandledRejection', 'unhandled rejection'],
])(
  '%s is logged and ends the session with exit code 1; more of them are logged',
  (event, origin) => {
    const { host, shutdowns, logged, end } = start();
    host.emit(event, new Error('boom'));
    host.emit(event, 'not even an error');
    expect(shutdowns).toEqual([origin]);
    expect(logged).toMatchObject([
      { name: 'process.failed', level: 'error', message: `${origin}: boom` },
      { name: 'process.failed', level: 'error', message: `${origin}: not even an error` },
    ]);
    expect(end.exitCode({ kind: 'shutdown', reason: origin })).toBe(1);
  },
);

test('a session that does not end in its time is left behind', async () => {
  const { host, logged } = start();
  host.emit('SIGINT', 'SIGINT');
  await vi.advanceTimersByTimeAsync(2999);
  expect(host.exits).toEqual([]);
  await vi.advanceTimersByTimeAsync(1);
  expect(host.exits).toEqual([1]);
  expect(logged.at(-1)).toMatchObject({ name: 'process.abandoned', level: 'error' });
});

test.each([
  [{ kind: 'input-ended' }, 0],
  [{ kind: 'output-broken', error: new Error('EPIPE') }, 0],
  [{ kind: 'shutdown', reason: 'test' }, 0],
  [{ kind: 'failure', error: new Error('bug') }, 1],
] as const)('a session that ended by %j gives exit code %d', (cause, code) => {
  expect(start().end.exitCode(cause)).toBe(code);
});
