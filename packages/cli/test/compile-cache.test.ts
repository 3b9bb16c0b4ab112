import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync } from 'node:fs';
import * as nodeModule from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { keepCompiled } from '../src/compile-cache.ts';

const command = join(import.meta.dirname, '../dist/cli.js');

/** The folders that the cache was turned on with. */
function foldersOf(place: Partial<Parameters<typeof keepCompiled>[0]>): readonly string[] {
  const folders: string[] = [];
  const newer = { enableCompileCache: (folder: string) => folders.push(folder) };
  keepCompiled({ env: {}, platform: 'linux', home: () => '/home/user', ...place }, newer);
  return folders;
}

describe('what Node has compiled', () => {
  test("is kept in the user's own cache folder", () => {
    expect(foldersOf({})).toEqual(['/home/user/.cache/mcp-actors']);
    expect(foldersOf({ platform: 'darwin' })).toEqual(['/home/user/Library/Caches/mcp-actors']);
    expect(foldersOf({ env: { XDG_CACHE_HOME: '/caches' } })).toEqual(['/caches/mcp-actors']);
    expect(foldersOf({ env: { XDG_CACHE_HOME: 'caches' } })).toEqual([
      '/home/user/.cache/mcp-actors',
    ]);
  });

  test('is not kept where the user has no folder of their own', () => {
    const home = () => {
      throw new Error('no such user');
    };
    expect(foldersOf({ home })).toEqual([]);
    expect(foldersOf({ platform: 'win32' })).toEqual([]);
  });

  test('is not kept by a Node that cannot', () => {
    expect(() => keepCompiled(undefined, {})).not.toThrow();
  });

  test.runIf('enableCompileCache' in nodeModule)('is there after the first start', () => {
    const folder = mkdtempSync(join(tmpdir(), 'mcp-actors-cache-'));
    execFileSync(process.execPath, [command, '--version'], {
      env: { ...process.env, XDG_CACHE_HOME: folder },
    });
    expect(readdirSync(join(folder, 'mcp-actors'), { recursive: true }).length).toBeGreaterThan(1);
  });
});
