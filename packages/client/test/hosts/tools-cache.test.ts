import { mkdir, mkdtemp, readFile, readdir, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { defaultCacheFolder, toolsCache } from '../../src/hosts/tools-cache.ts';

async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'tools-cache-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  return folder;
}

const entry = { command: 'node', args: ['a.js'], env: { TOKEN: 'hunter2', B: '1' } };
const owner = { entry, caller: '' };
const tools = { tools: [{ name: 'echo', inputSchema: {} }], date: '2026-01-01T00:00:00.000Z' };

describe('the cache of tools', () => {
  test('returns tools only for the same entry and caller', async () => {
    const folder = await temporaryFolder();
    const cache = toolsCache(folder);
    expect(await cache.read(owner)).toBeUndefined();
    expect(await cache.write(owner, tools)).toBe(true);
    const reordered = { env: { B: '1', TOKEN: 'hunter2' }, args: ['a.js'], command: 'node' };
    expect(await toolsCache(folder).read({ entry: reordered, caller: '' })).toEqual(tools);
    const other = { ...entry, env: { TOKEN: 'other', B: '1' } };
    expect(await cache.read({ entry: other, caller: '' })).toBeUndefined();
    expect(await cache.read({ entry, caller: 'bob' })).toBeUndefined();
  });

  test.skipIf(process.platform === 'win32')(
    'can be read by its owner alone, and names no secret',
    async () => {
      const folder = join(await temporaryFolder(), 'inside');
      await toolsCache(folder).write(owner, tools);
      const [name = ''] = await readdir(folder);
      expect((await stat(folder)).mode & 0o777).toBe(0o700);
      expect((await stat(join(folder, name))).mode & 0o777).toBe(0o600);
      expect(name + (await readFile(join(folder, name), 'utf8'))).not.toContain('hunter2');
    },
  );

  test.each(['', '{', '[]', 'null', '{"date":"x","tools":[{}]}', '{"tools":[]}'])(
    'takes a file that says %j for none',
    async (text) => {
      const folder = await temporaryFolder();
      const cache = toolsCache(folder);
      await cache.write(owner, tools);
      const [name = ''] = await readdir(folder);
      await writeFile(join(folder, name), text);
      expect(await cache.read(owner)).toBeUndefined();
    },
  );

  test('keeps the newest 256 files', async () => {
    const folder = await temporaryFolder();
    // Neither the first nor the last that are made, nor by their names.
    const old = ['60', '120', '180', '240'].map((name) => `${name}.json`);
    for (let count = 1; count < 260; count++) await writeFile(join(folder, `${count}.json`), '{}');
    for (const name of old) await utimes(join(folder, name), 1, 1);
    await toolsCache(folder).write(owner, tools);
    const names = await readdir(folder);
    expect(names).toHaveLength(256);
    expect(names.filter((name) => old.includes(name))).toEqual([]);
  });

  test('reports a failed write and leaves no file behind', async () => {
    const folder = await temporaryFolder();
    await writeFile(join(folder, 'file'), '');
    expect(await toolsCache(join(folder, 'file')).write(owner, tools)).toBe(false);
    const long = { ...tools, tools: [{ name: 'x'.repeat(5 * 1024 ** 2) }] };
    expect(await toolsCache(folder).write(owner, long)).toBe(false);
    expect(await readdir(folder)).toEqual(['file']);
    await toolsCache(join(folder, 'cache')).write(owner, tools);
    const names = await readdir(join(folder, 'cache'));
    const path = join(folder, 'cache', String(names[0]));
    await rm(path);
    await mkdir(path);
    expect(await toolsCache(join(folder, 'cache')).write(owner, tools)).toBe(false);
    expect(await readdir(join(folder, 'cache'))).toEqual(names);
  });
});

test("is in the system's cache folder", () => {
  expect(defaultCacheFolder({ XDG_CACHE_HOME: '/c' }, 'linux')).toBe('/c/mcp-actors/tools');
  expect(defaultCacheFolder({}, 'linux')).toMatch(/\/\.cache\/mcp-actors\/tools$/);
  expect(defaultCacheFolder({ LOCALAPPDATA: 'L' }, 'win32')).toBe(join('L', 'mcp-actors', 'tools'));
  const local = join('AppData', 'Local', 'mcp-actors', 'tools');
  expect(defaultCacheFolder({}, 'win32').endsWith(local)).toBe(true);
  expect(defaultCacheFolder({}, 'darwin')).toMatch(/Library\/Caches\/mcp-actors\/tools$/);
});
