/** What a lock of servers says, and what it takes for a change. */
import { mkdtemp, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import {
  lockServer,
  lockedEntry,
  readLockFile,
  serverDifferences,
  toolDifferences,
} from '../../src/hosts/servers-lock.ts';

const small = { name: 'small', version: '1.0.0' };
const tool = (name: string) => ({ name, description: `Says ${name}` });

test.each<[entry: object, locked: object]>([
  [{ transport: () => {} }, {}],
  [{ command: 'node' }, { command: 'node', args: [] }],
  [{ url: 'https://u:s3cret@a.example/mcp?k=s3cret#s3cret' }, { url: 'https://a.example/mcp' }],
])('locks the server %j without its secrets', (entry, locked) => {
  expect(lockedEntry(entry as never)).toEqual(locked);
});

test('produces the same lock for any order of tools', () => {
  const tools = ['b', 'a', 'c'].map(tool);
  const locked = lockServer({ command: 'node' }, small, tools);
  expect(locked).toMatchObject(small);
  expect(Object.keys(locked.tools)).toEqual(['a', 'b', 'c']);
  const turned = lockServer({ command: 'node' }, small, tools.toReversed());
  expect(JSON.stringify(turned)).toBe(JSON.stringify(locked));
});

test('reports new tools of any name, and no missing ones for a partial list', () => {
  const { tools } = lockServer({ command: 'node' }, small, [tool('a'), tool('b')]);
  const added = { kind: 'new', tool: 'constructor', what: [] };
  const listed = [tool('a'), { name: 'constructor' }];
  expect(toolDifferences(tools, listed, false)).toEqual([added]);
  expect(toolDifferences(tools, listed, true)).toEqual([
    added,
    { kind: 'gone', tool: 'b', what: [] },
  ]);
});

test('reports no difference for an unchanged server', () => {
  const locked = lockServer({ command: 'node' }, small, [tool('a')]);
  expect(serverDifferences(locked, locked, [tool('a')])).toEqual([]);
  const updated = { ...locked, version: '1.0.1' };
  expect(serverDifferences(locked, updated, [tool('a')])).toEqual([
    { kind: 'changed', what: ['version'] },
  ]);
});

test('rejects an unreadable lock instead of ignoring it', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'lock-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  expect(await readLockFile(join(folder, 'no.json'))).toBeUndefined();
  const refused = { code: 'CONFIG_INVALID' };
  await expect(readLockFile(folder)).rejects.toMatchObject(refused);
  const file = join(folder, 'mcp-lock.json');
  const of = (servers: unknown) => ({ lockVersion: 1, servers });
  for (const content of [
    ...[null, [], 5, { lockVersion: 2, servers: {} }, { lockVersion: 1 }, of([]), of('a')],
    ...[of({ a: 5 }), of({ a: {} }), of({ a: { tools: 'b' } }), of({ a: { tools: { b: 5 } } })],
    of({ a: { tools: { b: { description: 5 } } } }),
  ]) {
    await writeFile(file, JSON.stringify(content));
    await expect(readLockFile(file), JSON.stringify(content)).rejects.toThrow(
      'it is not a lock file',
    );
  }
  await writeFile(file, JSON.stringify(of({ a: { tools: { b: { description: 'c' } } } })));
  expect(await readLockFile(file)).toMatchObject({ lockVersion: 1 });
  await truncate(file, 16 * 1024 ** 2 + 1);
  await expect(readLockFile(file)).rejects.toThrow('it is longer than 16777216 characters');
});
