import { symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { readRootsResult } from '../../../src/protocol/roots.ts';
import type { Root } from '../../../src/protocol/roots.ts';
import { rootsResolver } from '../src/resolve-roots.ts';
import type { DirectoryProbe } from '../src/directory-check.ts';
import { rootDirectory } from './root-at.ts';
import { temporaryDirectory } from './temporary-directory.ts';

const never = new AbortController().signal;
const uriOf = (path: string) => pathToFileURL(path).href;

function rootAt(path: string): Root {
  return { uri: uriOf(path) };
}

describe('on a real disk', () => {
  test('adds the real path of a directory and keeps its name', async () => {
    const directory = await temporaryDirectory({ 'real/': '' });
    await symlink(join(directory, 'real'), join(directory, 'link'));
    const root = { uri: uriOf(join(directory, 'link')), name: 'Mine' };
    expect(await rootsResolver()([root], never)).toEqual([
      { ...root, ...rootDirectory(join(directory, 'real')) },
    ]);
  });

  test('reports the reason of each unusable entry in order [ROOTS-21]', async () => {
    const directory = await temporaryDirectory({ 'a/': '', 'file.txt': 'x' });
    await symlink(join(directory, 'loop'), join(directory, 'loop'));
    const reading = readRootsResult({
      roots: [
        { uri: 'https://example.com/' },
        { uri: uriOf(join(directory, 'missing')) },
        { uri: uriOf(join(directory, 'file.txt')) },
        { uri: uriOf(join(directory, 'file.txt', 'below')) },
        { uri: uriOf(join(directory, 'a')) },
        { uri: 'file://host/x' },
        { uri: uriOf(join(directory, 'loop')) },
        { uri: uriOf(`${directory}/${'x'.repeat(5000)}`) },
        'nonsense',
        { uri: `${uriOf(join(directory, 'a'))}/./` },
      ],
    });
    const resolved = await rootsResolver()(reading.ok ? reading.roots : [], never);
    expect(resolved.map(({ problem }) => problem?.code)).toEqual([
      'NOT_A_FILE_URI',
      'NOT_FOUND',
      'NOT_A_DIRECTORY',
      'NOT_A_DIRECTORY',
      undefined,
      'UNPARSABLE',
      'INACCESSIBLE',
      'INACCESSIBLE',
      'MALFORMED',
      'DUPLICATE',
    ]);
    expect(resolved.filter(({ path }) => path !== undefined)).toHaveLength(1);
    expect(resolved[1]?.problem?.message).toContain(join(directory, 'missing'));
  });

  test('uses the first of two links to one directory', async () => {
    const directory = await temporaryDirectory({ 'real/': '' });
    await symlink(join(directory, 'real'), join(directory, 'link'));
    const roots = [rootAt(join(directory, 'link')), rootAt(join(directory, 'real'))];
    const [first, second] = await rootsResolver()(roots, never);
    expect(first?.path).toBe(join(directory, 'real'));
    expect(second?.problem).toMatchObject({ code: 'DUPLICATE' });
    expect(second?.problem?.message).toContain('link');
  });

  test('resolves ten thousand entries in order', async () => {
    const directory = await temporaryDirectory({ 'a/': '' });
    const roots = Array.from({ length: 10_000 }, (_, index) =>
      rootAt(index === 7777 ? join(directory, 'a') : join(directory, `missing-${index}`)),
    );
    const resolved = await rootsResolver({ totalTimeoutMs: 60_000 })(roots, never);
    expect(resolved.map(({ uri }) => uri)).toEqual(roots.map(({ uri }) => uri));
    expect(resolved.filter(({ path }) => path !== undefined)).toEqual([
      { uri: uriOf(join(directory, 'a')), ...rootDirectory(join(directory, 'a')) },
    ]);
  });
});

describe('on a disk that does not answer', () => {
  afterEach(() => void vi.useRealTimers());

  const hangsAt =
    (dead: string): DirectoryProbe =>
    async (path) =>
      path.startsWith(dead)
        ? await new Promise(() => undefined)
        : { directory: path, identity: path };

  test('times out a dead mount and resolves the rest', async () => {
    vi.useFakeTimers();
    const resolver = rootsResolver({ probe: hangsAt('/dead'), windows: false });
    const pending = resolver([rootAt('/dead'), rootAt('/alive')], never);
    await vi.advanceTimersByTimeAsync(2000);
    expect(await pending).toEqual([
      expect.objectContaining({ problem: expect.objectContaining({ code: 'TIMED_OUT' }) }),
      { uri: 'file:///alive', path: '/alive', identity: '/alive' },
    ]);
    expect(vi.getTimerCount()).toBe(0);
  });

  test('respects the concurrency limit', async () => {
    vi.useFakeTimers();
    let running = 0;
    let most = 0;
    const probe: DirectoryProbe = async (path) => {
      running += 1;
      most = Math.max(most, running);
      await new Promise((resolve) => setTimeout(resolve, 10));
      running -= 1;
      return { directory: path, identity: path };
    };
    const roots = Array.from({ length: 100 }, (_, index) => rootAt(`/r${index}`));
    const pending = rootsResolver({ probe, windows: false })(roots, never);
    await vi.advanceTimersByTimeAsync(1000);
    expect((await pending).every(({ path }) => path !== undefined)).toBe(true);
    expect(most).toBe(32);
  });

  test('stops a long list on a dead mount at the total timeout', async () => {
    vi.useFakeTimers();
    const roots = Array.from({ length: 10_000 }, (_, index) => rootAt(`/dead/${index}`));
    const pending = rootsResolver({ probe: hangsAt('/dead'), windows: false })(roots, never);
    await vi.advanceTimersByTimeAsync(12_000);
    const codes = new Set((await pending).map(({ problem }) => problem?.code));
    expect(codes).toEqual(new Set(['TIMED_OUT']));
  });

  test('rejects with the abort reason without waiting for the disk', async () => {
    const controller = new AbortController();
    const pending = rootsResolver({ probe: hangsAt('/dead'), windows: false, timeoutMs: 5 })(
      [rootAt('/dead')],
      controller.signal,
    );
    const reason = new Error('the session ended');
    controller.abort(reason);
    await expect(pending).rejects.toBe(reason);
    await expect(rootsResolver()([], controller.signal)).rejects.toBe(reason);
  });
});
