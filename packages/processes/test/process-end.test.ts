import { EventEmitter } from 'node:events';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { endWithProcess, exitProcess, serveToEnd } from '../../serve/src/process-end.ts';
import type { Fact } from '../../../src/actors/facts.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** A process that only remembers how it was ended. */
class FakeProcess extends EventEmitter {
  readonly pid = 4711;
  readonly exits: unknown[] = [];
  /** What waits for the operating system. */
  active: string[] = ['PipeWrap', 'Timeout'];
  getActiveResourcesInfo(): string[] {
    return this.active;
  }
  /** As the kernel does it: only a signal that nobody listens to ends the process. */
  kill(pid: number, signal: string): true {
    if (pid === this.pid && this.listenerCount(signal) === 0) this.exits.push(signal);
    return true;
  }
  exit(code?: unknown): never {
    this.exits.push(code);
    return undefined as never;
  }
}

function start() {
  const host = new FakeProcess();
  const shutdowns: string[] = [];
  const drains: number[] = [];
  const logged: Fact[] = [];
  const log = {
    report: (fact: Fact) => void logged.push(fact),
    close: () => Promise.resolve(),
  };
  const session = {
    shutdown: (reason: string, drainTimeoutMs: number) => {
      shutdowns.push(reason);
      drains.push(drainTimeoutMs);
    },
  };
  const end = endWithProcess(session, log, 2000, host as unknown as NodeJS.Process);
  return { host, shutdowns, drains, log, logged, end };
}

test('ends only the session on the first signal', async () => {
  const { host, shutdowns, drains, logged, end } = start();
  host.emit('SIGTERM', 'SIGTERM');
  expect(shutdowns).toEqual(['SIGTERM']);
  expect(drains).toEqual([2000]);
  expect(host.exits).toEqual([]);
  expect(logged).toMatchObject([{ name: 'process.signalled', details: { signal: 'SIGTERM' } }]);
  expect(await end.exitCode({ kind: 'shutdown', reason: 'SIGTERM' })).toBe(0);
});

test('handles a signal once even if added listeners receive it, as in Deno', async () => {
  const { host, shutdowns } = start();
  host.on('newListener', (name, listener: (name: unknown) => void) => listener(name));
  host.emit('SIGTERM', 'SIGTERM');
  await vi.advanceTimersByTimeAsync(0);
  expect(shutdowns).toEqual(['SIGTERM']);
  expect(host.exits).toEqual([]);
});

test.each([
  ['SIGTERM', 'SIGTERM', 143],
  ['SIGTERM', 'SIGINT', 130],
  ['SIGINT', 'SIGTERM', 143],
  ['SIGHUP', 'SIGHUP', 129],
])('%s followed by %s exits immediately with %d', async (first, second, code) => {
  const { host, shutdowns } = start();
  host.emit(first, first);
  host.emit(second, second);
  await vi.advanceTimersByTimeAsync(0);
  expect(shutdowns).toHaveLength(1);
  expect(host.exits).toEqual([code]);
});

test.each([
  ['uncaughtException', 'uncaught exception'],
  ['unhandledRejection', 'unhandled rejection'],
])(
  '%s is logged and ends the session with exit code 1; repetitions are logged',
  async (event, origin) => {
    const { host, shutdowns, logged, end } = start();
    host.emit(event, new Error('boom'));
    host.emit(event, 'not even an error');
    expect(shutdowns).toEqual([origin]);
    expect(logged).toMatchObject([
      { name: 'process.failed', level: 'error', message: `${origin}: boom` },
      { name: 'process.failed', level: 'error', message: `${origin}: not even an error` },
    ]);
    expect(await end.exitCode({ kind: 'shutdown', reason: origin })).toBe(1);
  },
);

test('exits without a session that exceeds its timeout', async () => {
  const { host, logged } = start();
  host.emit('SIGINT', 'SIGINT');
  await vi.advanceTimersByTimeAsync(2349);
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
] as const)('a session that ended by %j gives exit code %d', async (cause, code) => {
  expect(await start().end.exitCode(cause)).toBe(code);
});

test('logs the error of a failed session', async () => {
  vi.spyOn(process, 'on').mockReturnValue(process);
  const { log, logged } = start();
  const error = new Error('bug');
  const closed = Promise.resolve({ kind: 'failure', error } as const);
  const code = serveToEnd({ closed, shutdown: () => {} }, log, 1000);
  await vi.advanceTimersByTimeAsync(100);
  expect(await code).toBe(1);
  expect(logged[0]).toMatchObject({ name: 'session.failed', level: 'error', details: { error } });
});

test('kills the process if a hanging file request would block its exit', async () => {
  const { host, logged, end } = start();
  const exits: unknown[] = [];
  host.on('exit', (code) => exits.push(code));
  host.active.push('FSReqPromise');
  const code = end.exitCode({ kind: 'input-ended' });
  await vi.advanceTimersByTimeAsync(300);
  expect(await code).toBe(0);
  expect(logged).toMatchObject([{ name: 'process.abandoned', level: 'error' }]);
  void exitProcess(0, host as unknown as NodeJS.Process);
  // It has had its time, and gets no more.
  await vi.advanceTimersByTimeAsync(0);
  expect(host.exits[0]).toBe('SIGTERM');
  // Who writes at the exit has done so.
  expect(exits).toEqual([0]);
});

test('exits normally after a file request that ends in time', async () => {
  const { host, logged, end } = start();
  host.active.push('FSReqPromise');
  const code = end.exitCode({ kind: 'input-ended' });
  await vi.advanceTimersByTimeAsync(290);
  host.active = [];
  await vi.advanceTimersByTimeAsync(10);
  expect(await code).toBe(0);
  expect(logged).toEqual([]);
  await exitProcess(0, host as unknown as NodeJS.Process);
  expect(host.exits).toEqual([0]);
});

test('dies by the second signal while a file request hangs', async () => {
  const { host } = start();
  host.active.push('FSReqCallback');
  host.emit('SIGTERM', 'SIGTERM');
  host.emit('SIGINT', 'SIGINT');
  await vi.advanceTimersByTimeAsync(300);
  expect(host.exits[0]).toBe('SIGINT');
});
