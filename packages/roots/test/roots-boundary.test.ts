/** The client's roots as a boundary for a server of one's own. */
import { rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readInside, rootsBoundary, rootsResolver } from 'mcp-actors/roots';
import type { RootsReport } from 'mcp-actors';
import { describe, expect, test } from 'vitest';
import { reportOf, toolError, undeclared } from './fake-context.ts';
import { rootAt } from './root-at.ts';
import { temporaryDirectory } from './temporary-directory.ts';

const uri = 'file:///not-resolved';

async function twoRoots(): Promise<{
  readonly one: string;
  readonly two: string;
  readonly report: RootsReport;
}> {
  const directory = await temporaryDirectory({
    'one/a.txt': 'in one',
    'two/a.txt': 'in two',
    'two/package.json': '{}',
  });
  const [one, two] = [join(directory, 'one'), join(directory, 'two')];
  return { one, two, report: reportOf([rootAt(one), rootAt(two, 'api')]) };
}

describe('the primary root', () => {
  test('is the first usable root, and all roots are inside', async () => {
    const { one, two, report } = await twoRoots();
    const bad = { uri: 'http://x/', problem: { code: 'NOT_A_FILE_URI', message: 'no' } };
    const boundary = await rootsBoundary({ ...report, roots: [bad, ...report.roots] });
    expect(boundary.base.path).toBe(one);
    expect(boundary.directories.map(({ path }) => path)).toEqual([one, two]);
    expect(String(await readInside(boundary, 'a.txt'))).toBe('in one');
    expect(String(await readInside(boundary, join(two, 'a.txt')))).toBe('in two');
  });

  test.each([
    [{ name: 'api' }],
    [{ marker: 'package.json' }],
    [{ marker: ['Cargo.toml', 'package.json'] }],
  ])('is the requested one: %j', async (primary) => {
    const { two, report } = await twoRoots();
    const boundary = await rootsBoundary(report, { primary });
    expect(boundary.base.path).toBe(two);
    expect(boundary.directories).toHaveLength(2);
  });

  test.each([
    [{ name: 'web' }, 'is named "web"'],
    [{ marker: 'Cargo.toml' }, 'contains "Cargo.toml"'],
    [{ marker: ['a', 'b'] }, 'contains "a" or "b"'],
    [{ marker: [] }, 'contains '],
  ])('reports all roots if none matches: %j', async (primary, wanted) => {
    const { one, two, report } = await twoRoots();
    const error = await toolError(rootsBoundary(report, { primary }));
    expect(error.code).toBe('NO_PRIMARY_ROOT');
    expect(error.message).toContain(wanted);
    expect(error.message).toContain(one);
    expect(error.message).toContain(`"api" (${two})`);
  });

  test('ignores a marker linked outside and a removed root', async () => {
    const { one, two, report } = await twoRoots();
    await symlink(join(two, 'package.json'), join(one, 'package.json'));
    const primary = { marker: 'package.json' };
    expect((await rootsBoundary(report, { primary })).base.path).toBe(two);
    await rm(two, { recursive: true });
    expect((await toolError(rootsBoundary(report, { primary }))).code).toBe('NO_PRIMARY_ROOT');
  });
});

describe('without a root that can be used', () => {
  const fault = { code: 'NOT_FOUND', message: '"/x" does not exist' };
  test.each([
    [undeclared, 'the client does not support roots'],
    [reportOf([]), 'an empty list'],
    [reportOf([{ uri, problem: fault }]), 'the client\'s only root is unusable: "/x" does'],
    [reportOf([], { status: 'failed', problem: 'timed out' }), 'roots/list failed: timed out'],
  ])('explains why no root is usable: %#', async (report, why) => {
    const error = await toolError(rootsBoundary(report));
    expect(error.code).toBe('NO_ROOTS');
    expect(error.message).toContain(why);
  });

  test('limits the length of the error', async () => {
    const roots = Array.from({ length: 10_000 }, () => ({ uri, problem: fault }));
    const { message } = await toolError(rootsBoundary(reportOf(roots)));
    expect(message).toContain('and 9980 more');
    expect(message.length).toBeLessThan(2000);
  });

  test('names the missing resolver of a server', async () => {
    await expect(rootsBoundary(reportOf([{ uri }]))).rejects.toThrow(
      new TypeError(
        'The root "file:///not-resolved" was not resolved to a directory: define the server with resolveRoots: rootsResolver()',
      ),
    );
  });
});

test('reads a whole file up to its limit', async () => {
  const directory = await temporaryDirectory({ 'a.txt': 'x'.repeat(10) });
  const roots = await rootsResolver()([rootAt(directory)], new AbortController().signal);
  const boundary = await rootsBoundary(reportOf(roots));
  expect(await readInside(boundary, 'a.txt', { maxBytes: 10 })).toHaveLength(10);
  const error = await toolError(readInside(boundary, 'a.txt', { maxBytes: 9 }));
  expect([error.code, error.message]).toEqual(['TOO_LARGE', '"a.txt" must be at most 9 bytes']);
  await writeFile(join(directory, 'large'), Buffer.alloc(1024 * 1024 + 1));
  expect((await toolError(readInside(boundary, 'large'))).code).toBe('TOO_LARGE');
  expect((await toolError(readInside(boundary, '../a.txt'))).code).toBe('OUTSIDE_ROOTS');
  expect((await toolError(readInside(boundary, '.'))).code).toBe('NOT_A_FILE');
});
