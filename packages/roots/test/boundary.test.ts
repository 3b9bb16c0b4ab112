import { createServer } from 'node:net';
import { rename, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import fc from 'fast-check';
import { describe, expect, onTestFinished, test } from 'vitest';
import { ToolError } from '../../../src/protocol/errors.ts';
import { resolveInside } from '../src/boundary.ts';
import { openChecked, openInside } from '../src/open-inside.ts';
import { toolError } from './fake-context.ts';
import { makeNamedPipe } from './named-pipe.ts';
import { boundaryAt, rootDirectory } from './root-at.ts';
import { readBytes } from '../src/open-inside.ts';
import { temporaryDirectory } from './temporary-directory.ts';

async function boundaryOf(files: Readonly<Record<string, string>> = {}) {
  const directory = await temporaryDirectory({
    'root/file.txt': 'inside',
    'root/sub/deep.txt': 'deep',
    'rootless/file.txt': 'outside',
    'secret.txt': 'outside',
    ...files,
  });
  const base = join(directory, 'root');
  return { directory, base, boundary: boundaryAt(base) };
}

describe('resolving', () => {
  test('resolves relative paths against the base and accepts absolute paths and URIs', async () => {
    const { base, boundary } = await boundaryOf();
    const path = join(base, 'sub/deep.txt');
    for (const given of ['sub/deep.txt', './sub/../sub/deep.txt', path, pathToFileURL(path).href]) {
      expect(await resolveInside(boundary, given)).toEqual({ path, exists: true });
    }
    expect(await resolveInside(boundary, '.')).toEqual({ path: base, exists: true });
  });

  test('accepts a path in any root', async () => {
    const { directory, base } = await boundaryOf();
    const roots = [base, join(directory, 'rootless')].map(rootDirectory);
    const boundary = { directories: roots, base: rootDirectory(base) };
    const path = join(directory, 'rootless/file.txt');
    expect(await resolveInside(boundary, path)).toEqual({ path, exists: true });
  });

  test.each([
    '../secret.txt',
    '../rootless/file.txt',
    '/etc/passwd',
    '/',
    '..',
    'sub/../../secret.txt',
    '../missing',
    '/proc/self/root/etc/passwd',
  ])('rejects %j and names the path and the roots', async (given) => {
    const { base, boundary } = await boundaryOf();
    const error = await toolError(resolveInside(boundary, given));
    expect(error.code).toBe('OUTSIDE_ROOTS');
    expect(error.message).toContain(JSON.stringify(given));
    expect(error.message).toContain(base);
  });

  test('rejects a path outside without revealing whether it exists', async () => {
    const { boundary } = await boundaryOf();
    const there = await toolError(resolveInside(boundary, '../secret.txt'));
    const absent = await toolError(resolveInside(boundary, '../absent.txt'));
    expect(there.message.replace('secret', 'absent')).toBe(absent.message);
  });

  test('rejects a link that leaves the roots and follows one within', async () => {
    const { directory, base, boundary } = await boundaryOf();
    await symlink(join(directory, 'secret.txt'), join(base, 'out.txt'));
    await symlink(directory, join(base, 'up'));
    await symlink('sub', join(base, 'within'));
    expect((await toolError(resolveInside(boundary, 'out.txt'))).code).toBe('OUTSIDE_ROOTS');
    expect((await toolError(resolveInside(boundary, 'up/secret.txt'))).code).toBe('OUTSIDE_ROOTS');
    expect((await toolError(resolveInside(boundary, 'up/absent/x'))).code).toBe('OUTSIDE_ROOTS');
    expect(await resolveInside(boundary, 'within/deep.txt')).toEqual({
      path: join(base, 'sub/deep.txt'),
      exists: true,
    });
  });

  test('judges a missing file by its nearest existing ancestor [BOUND-03]', async () => {
    const { base, boundary } = await boundaryOf();
    expect(await resolveInside(boundary, 'sub/new/a.txt')).toEqual({
      path: join(base, 'sub/new/a.txt'),
      exists: false,
    });
  });

  test('judges a dangling link by its target', async () => {
    const { directory, base, boundary } = await boundaryOf();
    await symlink(join(directory, 'not-yet'), join(base, 'out'));
    await symlink(join(base, 'sub/not-yet'), join(base, 'in'));
    expect((await toolError(resolveInside(boundary, 'out'))).code).toBe('OUTSIDE_ROOTS');
    expect((await toolError(resolveInside(boundary, 'out/below'))).code).toBe('OUTSIDE_ROOTS');
    expect(await resolveInside(boundary, 'in')).toEqual({
      path: join(base, 'sub/not-yet'),
      exists: false,
    });
  });

  test('accepts a root reached through a link', async () => {
    const { directory, base, boundary } = await boundaryOf();
    await symlink(base, join(directory, 'alias'));
    const path = join(base, 'file.txt');
    expect(await resolveInside(boundary, join(directory, 'alias/file.txt'))).toEqual({
      path,
      exists: true,
    });
  });

  test.each([
    ['', 'INVALID_PATH'],
    ['a\0b', 'INVALID_PATH'],
    ['x'.repeat(5000), 'INVALID_PATH'],
    ['x'.repeat(300), 'INVALID_PATH'],
    ['項'.repeat(1500), 'INVALID_PATH'],
    ['file:///a%00b', 'INVALID_PATH'],
    ['file://host/x', 'INVALID_PATH'],
  ])('%.20j is a ToolError with a code', async (given, code) => {
    const { boundary } = await boundaryOf();
    expect((await toolError(resolveInside(boundary, given))).code).toBe(code);
  });

  test('reports a loop of links', async () => {
    const { base, boundary } = await boundaryOf();
    await symlink('b', join(base, 'a'));
    await symlink('a', join(base, 'b'));
    const error = await toolError(resolveInside(boundary, 'a/x'));
    expect(error.code).toBe('INACCESSIBLE');
    expect(error.message).toContain('loop');
  });

  test('detects a removed root on use [ROOTS-22]', async () => {
    const { base, boundary } = await boundaryOf();
    await rm(base, { recursive: true });
    const error = await toolError(resolveInside(boundary, 'file.txt'));
    expect(error.code).toBe('ROOT_UNAVAILABLE');
    expect(error.message).toContain(base);
  });

  test('returns a path inside or a ToolError for any input', async () => {
    const { directory, base, boundary } = await boundaryOf();
    await symlink(directory, join(base, 'up'));
    await symlink('b', join(base, 'a'));
    await symlink('a', join(base, 'b'));
    const part = fc.constantFrom(
      '..',
      '.',
      '',
      'up',
      'a',
      'b',
      'sub',
      'file.txt',
      'deep.txt',
      'é',
      '\0',
      'x'.repeat(256),
    );
    const hostile = fc.oneof(
      fc.array(part, { maxLength: 6 }).map((parts) => parts.join('/')),
      fc.string({ unit: 'binary', maxLength: 30 }),
    );
    await fc.assert(
      fc.asyncProperty(hostile, async (given) => {
        try {
          const { path } = await resolveInside(boundary, given);
          expect(path === base || path.startsWith(`${base}/`)).toBe(true);
        } catch (error) {
          expect(error).toBeInstanceOf(ToolError);
        }
      }),
      { numRuns: 300 },
    );
  });
});

describe('opening', () => {
  test('opens a file inside', async () => {
    const { base, boundary } = await boundaryOf();
    const { handle, path, stats } = await openInside(boundary, 'file.txt');
    onTestFinished(async () => await handle.close());
    expect(path).toBe(join(base, 'file.txt'));
    expect(stats.size).toBe(6);
    expect(String(await readBytes(handle, 1000))).toBe('inside');
  });

  test.each(['descriptor', 'identity'] as const)(
    'detects a directory that became a link out after the check (%s)',
    async (locatedBy) => {
      const { directory, base, boundary } = await boundaryOf({ 'outside/deep.txt': 'secret' });
      const { path } = await resolveInside(boundary, 'sub/deep.txt');
      await rename(join(base, 'sub'), join(base, 'moved'));
      await symlink(join(directory, 'outside'), join(base, 'sub'));
      const error = await toolError(openChecked(boundary, path, { locatedBy }));
      expect(error.code).toBe('OUTSIDE_ROOTS');
    },
  );

  test('does not open a file that became a link after the check', async () => {
    const { directory, base, boundary } = await boundaryOf();
    const { path } = await resolveInside(boundary, 'file.txt');
    await rm(path);
    await symlink(join(directory, 'secret.txt'), join(base, 'file.txt'));
    expect((await toolError(openChecked(boundary, path))).code).toBe('INACCESSIBLE');
  });

  test('opens the same file by identity', async () => {
    const { boundary } = await boundaryOf();
    const { handle } = await openInside(boundary, 'file.txt', { locatedBy: 'identity' });
    expect(String(await readBytes(handle, 1000))).toBe('inside');
    await handle.close();
  });

  test('rejects non-regular files without blocking', async () => {
    const { base, boundary } = await boundaryOf();
    makeNamedPipe(join(base, 'pipe'));
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(join(base, 'socket'), resolve));
    onTestFinished(() => void server.close());
    for (const given of ['sub', '.', 'pipe', 'socket']) {
      expect((await toolError(openInside(boundary, given))).code).toBe('NOT_A_FILE');
    }
  });

  test('reports NOT_FOUND for a missing file, also below a file', async () => {
    const { boundary } = await boundaryOf();
    expect((await toolError(openInside(boundary, 'absent.txt'))).code).toBe('NOT_FOUND');
    expect((await toolError(openInside(boundary, 'file.txt/below'))).code).toBe('NOT_FOUND');
  });
});
