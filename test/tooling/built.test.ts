/** A build is left out only where it would make what is there. */
import { appendFile, copyFile, mkdir, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, test } from 'vitest';
import { temporaryDirectory } from '../../packages/roots/test/temporary-directory.ts';

interface Built {
  sourcesHash(): Promise<string>;
  isBuilt(sources: string): Promise<boolean>;
  keepBuilt(sources: string): Promise<void>;
}

const scripts = join(import.meta.dirname, '../../scripts');

/** A small repository that has just been built, and its own copy of the script. */
async function repository(): Promise<{ readonly root: string; readonly built: Built }> {
  const root = await temporaryDirectory({
    'package.json': '{}',
    'src/index.ts': 'export const a = 1;',
    'packages/cli/package.json': '{}',
    'packages/cli/src/cli.ts': 'export {};',
    'packages/cli/dist/cli.js': 'export {};',
    'packages/inspector/dist/index.js': 'export {};',
    'packages/openapi/dist/index.js': 'export {};',
    'dist/index.js': 'export const a = 1;',
    'dist/types/index.d.ts': 'export const a = 1;',
  });
  await mkdir(join(root, 'scripts'));
  for (const name of ['built.mjs', 'replace-file.mjs']) {
    await copyFile(join(scripts, name), join(root, 'scripts', name));
  }
  const url = pathToFileURL(join(root, 'scripts', 'built.mjs')).href;
  const built = (await import(/* @vite-ignore */ url)) as Built;
  return { root, built };
}

const isAsBuilt = async ({ sourcesHash, isBuilt }: Built): Promise<boolean> =>
  isBuilt(await sourcesHash());

async function write(root: string, path: string): Promise<void> {
  await mkdir(dirname(join(root, path)), { recursive: true });
  await writeFile(join(root, path), 'new');
}

describe('the build cache', () => {
  test('exists only after a build', async () => {
    const { built } = await repository();
    expect(await isAsBuilt(built)).toBe(false);
    await built.keepBuilt(await built.sourcesHash());
    expect(await isAsBuilt(built)).toBe(true);
  });

  test.each([
    ['a source', 'src/index.ts'],
    ['a source of a package', 'packages/cli/src/cli.ts'],
    ['a manifest', 'packages/cli/package.json'],
    ['the script of the build', 'scripts/replace-file.mjs'],
    ['what was built', 'packages/inspector/dist/index.js'],
    ['what was built of another package', 'packages/openapi/dist/index.js'],
  ])('is invalidated when %s changes or disappears', async (_what, path) => {
    const { root, built } = await repository();
    const sources = await built.sourcesHash();
    await built.keepBuilt(sources);
    await appendFile(join(root, path), ' ');
    expect(await isAsBuilt(built)).toBe(false);
    await rm(join(root, path));
    expect(await isAsBuilt(built)).toBe(false);
  });

  test.each([
    ['a source', 'src/new/new.ts'],
    ['the lockfile of what is installed', 'node_modules/.package-lock.json'],
    ['a file that no build has made', 'dist/chunks/left.js'],
  ])('is invalidated when %s is added', async (_what, path) => {
    const { root, built } = await repository();
    await built.keepBuilt(await built.sourcesHash());
    await write(root, path);
    expect(await isAsBuilt(built)).toBe(false);
  });

  test('is invalidated by a source change during the build', async () => {
    const { root, built } = await repository();
    const before = await built.sourcesHash();
    await appendFile(join(root, 'src/index.ts'), ' ');
    await built.keepBuilt(before);
    expect(await isAsBuilt(built)).toBe(false);
  });

  test.each([
    ['declarations, which every whole build makes', 'dist/types/other.d.ts'],
    ['what another build is writing', 'dist/index.js.1.tmp'],
    ['a test', 'test/new.test.ts'],
  ])('is independent of %s', async (_what, path) => {
    const { root, built } = await repository();
    await built.keepBuilt(await built.sourcesHash());
    await write(root, path);
    expect(await isAsBuilt(built)).toBe(true);
  });
});
