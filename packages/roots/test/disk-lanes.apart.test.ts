import { closeSync, constants, openSync, readFileSync, readdirSync } from 'node:fs';
import { open, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { DiskLanes } from '../src/disk/disk-lanes.ts';
import { describeFsError } from '../src/disk/fs-error.ts';
import { mountPointsOf, volumeOf } from '../src/disk/volumes.ts';
import { makeNamedPipe } from './named-pipe.ts';
import { temporaryDirectory } from './temporary-directory.ts';

const timeoutMs = 1000;

/** Lanes over operations that return when a test says so. The volume of `/a/x` is `a`. */
function lanesOf() {
  const lanes = new DiskLanes({ volumeOf: (path) => path.split('/')[1] ?? '', timeoutMs });
  const started: string[] = [];
  const ends = new Map<string, (result: string) => void>();
  const discarded: string[] = [];
  const outcomes = new Map<string, string>();
  /** Begins an operation; `outcomes` has what comes of it. */
  const begin = (path: string) => {
    void lanes
      .run(
        path,
        () => {
          started.push(path);
          return new Promise<string>((resolve) => ends.set(path, resolve));
        },
        (late) => discarded.push(late),
      )
      .then(
        (result) => outcomes.set(path, result),
        (error: unknown) => outcomes.set(path, describeFsError(error).code),
      );
  };
  const end = async (path: string) => {
    ends.get(path)?.(`${path} read`);
    await vi.advanceTimersByTimeAsync(0);
  };
  /** A volume that has answered once. */
  const answering = async (volume: string) => {
    begin(`/${volume}/first`);
    await end(`/${volume}/first`);
    started.length = 0;
  };
  return { begin, end, answering, started, discarded, outcomes };
}

const expire = async () => await vi.advanceTimersByTimeAsync(timeoutMs);

describe('operations that hang', () => {
  beforeEach(() => {
    vi.useFakeTimers();
    return () => {
      expect(vi.getTimerCount()).toBe(0);
      vi.useRealTimers();
    };
  });

  test('use one thread on an untried volume and fail its queue', async () => {
    const { begin, started, outcomes } = lanesOf();
    for (const name of ['1', '2', '3']) begin(`/dead/${name}`);
    await expire();
    begin('/dead/4');
    await vi.advanceTimersByTimeAsync(0);
    expect(started).toEqual(['/dead/1']);
    expect([...outcomes.values()]).toEqual(['TIMED_OUT', 'TIMED_OUT', 'TIMED_OUT', 'TIMED_OUT']);
  });

  test('use at most two threads per volume and reject the rest', async () => {
    const { begin, answering, started, outcomes } = lanesOf();
    await answering('dead');
    outcomes.clear();
    for (const name of ['1', '2', '3', '4', '5']) begin(`/dead/${name}`);
    expect(started).toEqual(['/dead/1', '/dead/2']);
    expect(outcomes.size).toBe(0);
    await expire();
    expect(outcomes.size).toBe(5);
    begin('/dead/6');
    await vi.advanceTimersByTimeAsync(0);
    expect(outcomes.get('/dead/6')).toBe('TIMED_OUT');
    expect(started).toHaveLength(2);
  });

  test('do not delay other volumes', async () => {
    const { begin, end, answering, outcomes } = lanesOf();
    await answering('alive');
    for (const path of ['/dead/1', '/dead/2', '/gone/1', '/gone/2', '/lost/1']) begin(path);
    await expire();
    await expire();
    for (const name of ['1', '2', '3']) begin(`/alive/${name}`);
    for (const name of ['1', '2', '3']) await end(`/alive/${name}`);
    expect(outcomes.get('/alive/3')).toBe('/alive/3 read');
  });

  test('never use more than three threads, none of the last for an untried volume', async () => {
    const { begin, started, outcomes } = lanesOf();
    for (const volume of ['a', 'b', 'c', 'd', 'e']) {
      for (const name of ['1', '2', '3']) begin(`/${volume}/${name}`);
    }
    expect(started).toEqual(['/a/1', '/b/1', '/c/1']);
    await expire();
    expect(started).toHaveLength(3);
    expect(outcomes.size).toBe(15);
    begin('/new/1');
    await vi.advanceTimersByTimeAsync(0);
    expect(outcomes.get('/new/1')).toBe('TIMED_OUT');
  });

  test('leave a thread free even on volumes that have answered', async () => {
    const { begin, end, answering, started, outcomes } = lanesOf();
    for (const volume of ['a', 'b', 'alive']) await answering(volume);
    for (const path of ['/a/1', '/a/2', '/b/1', '/b/2']) begin(path);
    expect(started).toEqual(['/a/1', '/a/2', '/b/1']);
    begin('/alive/1');
    await end('/alive/1');
    expect(outcomes.get('/alive/1')).toBe('/alive/1 read');
    await expire();
  });

  test('are not retried while hanging, unlike other paths of the volume', async () => {
    const { begin, end, answering, started, outcomes } = lanesOf();
    await answering('home');
    begin('/home/link-to-dead');
    await expire();
    begin('/home/link-to-dead');
    begin('/home/file');
    await end('/home/file');
    expect(started).toEqual(['/home/link-to-dead', '/home/file']);
    expect(outcomes.get('/home/file')).toBe('/home/file read');
  });

  test('free their thread when they return and discard late results', async () => {
    const { begin, end, answering, started, discarded, outcomes } = lanesOf();
    await answering('slow');
    for (const name of ['1', '2']) begin(`/slow/${name}`);
    await expire();
    await end('/slow/1');
    await end('/slow/2');
    expect(discarded).toEqual(['/slow/1 read', '/slow/2 read']);
    begin('/slow/3');
    await end('/slow/3');
    expect([started.at(-1), outcomes.get('/slow/3')]).toEqual(['/slow/3', '/slow/3 read']);
  });

  test('do not include queued operations of a slow volume', async () => {
    const { begin, end, outcomes } = lanesOf();
    const names = Array.from({ length: 20 }, (_, index) => `/slow/${index}`);
    for (const name of names) begin(name);
    for (const name of names) {
      await vi.advanceTimersByTimeAsync(timeoutMs / 4);
      await end(name);
    }
    expect([...outcomes.values()]).toEqual(names.map((name) => `${name} read`));
  });

  test('treats a failed operation as an answer', async () => {
    const lanes = new DiskLanes({ volumeOf: () => 'a', timeoutMs });
    const fail = () => lanes.run('/x', () => Promise.reject(new Error('no such file')));
    for (let count = 0; count < 5; count += 1) await expect(fail()).rejects.toThrow('no such file');
  });
});

test('keeps the file system usable with really hanging threads', async () => {
  const names = ['dead/1', 'dead/2', 'dead/3', 'dead/4', 'dead/5'];
  const base = await temporaryDirectory({ 'dead/': '', 'alive/file': 'content' });
  const pipes = names.map((name) => join(base, name));
  for (const pipe of pipes) makeNamedPipe(pipe);
  onTestFinished(() => {
    const { O_RDWR, O_NONBLOCK } = constants;
    for (const pipe of pipes) closeSync(openSync(pipe, O_RDWR | O_NONBLOCK));
  });
  const volume = (path: string) => path.split('/').at(-2) ?? '';
  // Driven, so that on a busy machine nothing but the pipes is late.
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const lanes = new DiskLanes({ volumeOf: volume, timeoutMs });
  const hanging = Promise.allSettled(
    // Opened so, a pipe waits for a writer.
    pipes.map((pipe) =>
      lanes.run(
        pipe,
        () => open(pipe, 'r'),
        (late) => void late.close(),
      ),
    ),
  );
  await expire();
  const hung = await hanging;
  expect(hung.map(({ status }) => status)).toEqual(names.map(() => 'rejected'));
  const file = join(base, 'alive/file');
  expect(await lanes.run(file, () => readFile(file, 'utf8'))).toBe('content');
});

describe('a volume', () => {
  test('is the mount point, on Linux', () => {
    const table = [
      '22 1 0:21 / / rw - ext4 /dev/sda rw',
      '23 22 0:22 / /home rw - ext4 /dev/sdb rw',
      String.raw`24 23 0:23 / /home/ada/network\040share rw - nfs host:/x rw`,
    ].join('\n');
    expect(mountPointsOf(table)).toEqual(['/home/ada/network share', '/home', '/']);
  });

  test.runIf(process.platform === 'linux')('is the longest mount point above a path', () => {
    expect(volumeOf('/proc/self/status')).toBe('/proc');
    expect(volumeOf('/proc')).toBe('/proc');
    expect(volumeOf('/processes')).not.toBe('/proc');
  });
});

test('accesses the file system of the workspace only through lanes', () => {
  const sources = join(import.meta.dirname, '../../..');
  const direct = ['packages/roots/src', 'packages/workspace-server/src']
    .flatMap((folder) =>
      readdirSync(join(sources, folder), { recursive: true, encoding: 'utf8' }).map(
        (name) => `${folder}/${name.replaceAll('\\', '/')}`,
      ),
    )
    .filter((name) => name.endsWith('.ts'))
    .filter((name) =>
      /from 'node:fs(?:\/promises)?'/.test(readFileSync(join(sources, name), 'utf8')),
    )
    .filter((name) => {
      const text = readFileSync(join(sources, name), 'utf8');
      const imports = [...text.matchAll(/import (?!type)(.*) from 'node:fs(?:\/promises)?'/g)];
      return imports.some(([, names]) => names !== '{ constants }');
    });
  // The binary is ours, and /proc never waits.
  expect(direct.toSorted()).toEqual([
    'packages/roots/src/disk/disk.ts',
    'packages/roots/src/disk/volumes.ts',
    'packages/roots/src/root-directory.ts',
    'packages/workspace-server/src/search/ripgrep-binary.ts',
  ]);
});
