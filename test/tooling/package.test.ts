import { execFile } from 'node:child_process';
import { access, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';

const root = fileURLToPath(new URL('../../', import.meta.url));
const run = promisify(execFile);

const manifestShape = z.object({
  version: z.string(),
  exports: z.record(z.string(), z.union([z.string(), z.object({ default: z.string() })])),
  peerDependencies: z.record(z.string(), z.string()),
  devDependencies: z.record(z.string(), z.string()),
});
const manifest = manifestShape.parse(
  JSON.parse(await readFile(join(root, 'package.json'), 'utf8')),
);

describe('the npm package', () => {
  const entries = Object.entries(manifest.exports).map(([name, target]) => ({
    name,
    path: typeof target === 'string' ? target : target.default,
  }));

  it.each(entries)('contains the file of the export $name', async ({ path }) => {
    await expect(access(join(root, path))).resolves.toBeUndefined();
  });

  it('declares the types of every export', async () => {
    const config = z
      .object({ include: z.array(z.string()) })
      .parse(JSON.parse(await readFile(join(root, 'tsconfig.build.json'), 'utf8')));
    const { compilerOptions } = z
      .object({
        compilerOptions: z.object({ paths: z.record(z.string(), z.tuple([z.string()])) }),
      })
      .parse(JSON.parse(await readFile(join(root, 'tsconfig.json'), 'utf8')));
    const sources = entries
      .filter(({ path }) => path.endsWith('.js'))
      .map(({ name }) =>
        compilerOptions.paths[name.replace('.', 'mcp-actors')]?.[0].replace('./', ''),
      );
    expect(
      sources.filter((source) => source === undefined || !config.include.includes(source)),
    ).toEqual([]);
  });

  it('has an executable command with a Node shebang in a separate package', async () => {
    const folder = join(root, 'packages', 'cli');
    const { bin } = z
      .object({ bin: z.record(z.string(), z.string()) })
      .parse(JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')));
    expect(Object.keys(bin)).toEqual(['mcp-actors']);
    for (const path of Object.values(bin)) {
      const { mode } = await stat(join(folder, path));
      expect(mode & 0o111).toBe(0o111);
      expect(await readFile(join(folder, path), 'utf8')).toMatch(/^#!\/usr\/bin\/env node\n(?!#!)/);
    }
  });

  it('can be imported by its own name', async () => {
    const script = "console.log(Object.keys(await import('mcp-actors')).length > 0)";
    const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', script], {
      cwd: root,
    });
    expect(stdout.trim()).toBe('true');
  });

  it('is tested with the peer dependencies that it requires', () => {
    const missing = Object.keys(manifest.peerDependencies).filter(
      (name) => !(name in manifest.devDependencies),
    );
    expect(missing).toEqual([]);
  });

  it('bundles RxJS as ES modules without CommonJS', async () => {
    const bundle = await readFile(join(root, 'dist', 'index.js'), 'utf8');
    expect(bundle).not.toMatch(/from ["']rxjs|require\(["']rxjs|rxjs\/dist\/cjs/);
  });
});
