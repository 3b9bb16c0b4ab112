/** Real paths while something hangs. */
import { closeSync, constants, openSync } from 'node:fs';
import { realpath as systemRealpath, symlink } from 'node:fs/promises';
import type * as fs from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { open, realpath, stat } from '../src/disk/disk.ts';
import { systemCode } from '../src/disk/fs-error.ts';
import { makeNamedPipe } from './named-pipe.ts';
import { temporaryDirectory } from './temporary-directory.ts';

/** What lies on a volume of its own, which never answers. */
const dead = vi.hoisted(() => ({
  directory: undefined as string | undefined,
  asked: 0,
  onAsked: () => {},
}));

vi.mock('../src/disk/volumes.ts', () => ({
  volumeOf: (path: string) => (isDead(path) ? 'dead' : 'alive'),
}));

vi.mock('node:fs/promises', async (importOriginal) => {
  const original = await importOriginal<typeof fs>();
  return {
    ...original,
    lstat: async (path: string) => {
      if (!isDead(path)) return await original.lstat(path);
      dead.asked += 1;
      dead.onAsked();
      return await new Promise<never>(() => {});
    },
  };
});

function isDead(path: string): boolean {
  return dead.directory !== undefined && path.startsWith(dead.directory);
}

const outcome = async (promise: Promise<string>) =>
  await promise.catch((error: unknown) => systemCode(error));

describe.runIf(process.platform === 'linux')('while something hangs', () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'hrtime'] });
  });
  afterEach(() => {
    dead.directory = undefined;
    vi.useRealTimers();
  });

  /** Opens a pipe that nobody writes to, and waits until that is given up. */
  async function hang(directory: string): Promise<void> {
    const pipe = join(directory, 'pipe');
    makeNamedPipe(pipe);
    onTestFinished(() => closeSync(openSync(pipe, constants.O_RDWR | constants.O_NONBLOCK)));
    const opening = open(pipe, constants.O_RDONLY);
    const given = expect(opening).rejects.toMatchObject({ code: 'ETIMEDOUT' });
    await vi.advanceTimersByTimeAsync(5000);
    await given;
  }

  test('resolves the same real path as the system', async () => {
    const base = await temporaryDirectory({ 'a/b/file': '', 'c/': '' });
    await stat(base);
    await hang(base);
    const links = [
      ['a/up', '..'],
      ['c/down', '../a/up/a/b'],
      ['absolute', join(base, 'c/down')],
      ['chain', 'absolute/file'],
      ['loop', 'other'],
      ['other', 'loop'],
      ['dangling', 'a/nothing'],
    ] as const;
    for (const [link, target] of links) await symlink(target, join(base, link));
    const paths = ['', 'a/b/file', 'a/up/c', 'c/down/file', 'absolute', 'chain', 'loop'];
    for (const path of [...paths, 'dangling', 'nothing', 'a/b/file/x', 'chain/x'].map((name) =>
      join(base, name),
    )) {
      expect([path, await outcome(realpath(path))]).toEqual([
        path,
        await outcome(systemRealpath(path)),
      ]);
    }
    expect(await realpath('/')).toBe('/');
  });

  test('charges a link onto a dead volume to that volume', async () => {
    const base = await temporaryDirectory({ 'dead/': '', file: '' });
    await stat(base);
    await hang(base);
    for (const name of ['1', '2', '3']) await symlink(join(base, 'dead', name), join(base, name));
    dead.directory = join(base, 'dead');
    const asked = new Promise<void>((resolve) => (dead.onAsked = resolve));
    const reading = outcome(realpath(join(base, '1')));
    await asked;
    await vi.advanceTimersByTimeAsync(5000);
    expect(await reading).toBe('ETIMEDOUT');
    // The others are refused at once, without a question.
    for (const name of ['2', '3']) {
      expect(await outcome(realpath(join(base, name)))).toBe('ETIMEDOUT');
    }
    expect(dead.asked).toBe(1);
    expect(await realpath(join(base, 'file'))).toBe(join(base, 'file'));
  });
});
