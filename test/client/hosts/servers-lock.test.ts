/** What a lock of servers says, and what it takes for a change. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import {
  lockServer,
  lockedEntry,
  readLockFile,
  toolDifferences,
} from '../../../src/client/hosts/servers-lock.ts';

const small = { name: 'small', version: '1.0.0' };
const tool = (name: string) => ({ name, description: `Says ${name}` });

test.each<[entry: object, locked: object]>([
  [{ transport: () => {} }, {}],
  [{ command: 'node' }, { command: 'node', args: [] }],
  [{ url: 'https://u:s3cret@a.example/mcp?k=s3cret#s3cret' }, { url: 'https://a.example/mcp' }],
])('a server %j is locked as what it is, without its secrets', (entry, locked) => {
  expect(lockedEntry(entry as never)).toEqual(locked);
});

test('a lock is the same text, in whatever order a server lists its tools', () => {
  const tools = ['b', 'a', 'c'].map(tool);
  const locked = lockServer({ command: 'node' }, small, tools);
  expect(locked).toMatchObject(small);
  expect(Object.keys(locked.tools)).toEqual(['a', 'b', 'c']);
  const turned = lockServer({ command: 'node' }, small, tools.toReversed());
  expect(JSON.stringify(turned)).toBe(JSON.stringify(locked));
});

test('a tool is new whatever its name, and none is gone from a part of a list', () => {
  const { tools } = lockServer({ command: 'node' }, small, [tool('a'), tool('b')]);
  const added = { kind: 'new', tool: 'constructor', what: [] };
  const listed = [tool('a'), { name: 'constructor' }];
  expect(toolDifferences(tools, listed, false)).toEqual([added]);
  expect(toolDifferences(tools, listed, true)).toEqual([
    added,
    { kind: 'gone', tool: 'b', what: [] },
  ]);
});

test('a lock that cannot be read is not taken for none', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'lock-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  expect(await readLockFile(join(folder, 'no.json'))).toBeUndefined();
  await expect(readLockFile(folder)).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
});
