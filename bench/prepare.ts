/** What a run needs before it starts: the peers installed from their lockfile, and our own server as plain JavaScript. */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'esbuild';
import { benchFolder, buildFolder } from './servers.ts';

/**
 * Installs the peers, unless those of the lockfile are there already.
 *
 * @returns why they cannot be used, or undefined where they can
 */
export function installPeers(): string | undefined {
  const stamp = join(benchFolder, 'node_modules', '.bench-lock');
  const lock = createHash('sha256')
    .update(readFileSync(join(benchFolder, 'package-lock.json')))
    .digest('hex');
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === lock) return undefined;
  const flags = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
  const { status, stderr, error } = spawnSync('npm', ['ci', ...flags], {
    cwd: benchFolder,
    encoding: 'utf8',
    shell: process.platform === 'win32',
  });
  if (status !== 0) {
    return `npm ci in bench/ failed: ${error?.message ?? stderr.trim().split('\n')[0]}`;
  }
  writeFileSync(stamp, lock);
  return undefined;
}

/** Builds our server the way a user's compiler would: its own code alone, with the library beside it as it is published. */
export async function buildServer(): Promise<void> {
  await build({
    entryPoints: [join(benchFolder, 'servers', 'mcp-actors.ts')],
    outfile: join(buildFolder, 'mcp-actors.mjs'),
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    logLevel: 'warning',
    plugins: [
      {
        name: 'library-as-published',
        setup: ({ onResolve }) =>
          onResolve({ filter: /^mcp-actors$/ }, () => ({
            path: '../../dist/index.js',
            external: true,
          })),
      },
    ],
  });
}
