/** What scripts and tests ask of npm: packages of exact versions, outside the dependencies. */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Codes of npm's for a registry that cannot be reached and a cache that has not everything. */
export const outOfReach =
  /\b(ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENOTCACHED|ENETUNREACH)\b/;

/** npm's, which is a script on Windows. */
const shell = process.platform === 'win32';

/**
 * Installs what a folder's lockfile says, unless it is there already.
 *
 * @returns why it cannot be installed, or undefined if it is
 */
export function installLocked(folder: string): string | undefined {
  const stamp = join(folder, 'node_modules', '.installed-lock');
  const lock = createHash('sha256')
    .update(readFileSync(join(folder, 'package-lock.json')))
    .digest('hex');
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === lock) return undefined;
  const flags = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
  const options = { cwd: folder, encoding: 'utf8', shell } as const;
  const { status, stderr, error } = spawnSync('npm', ['ci', ...flags], options);
  if (status !== 0) return `npm ci failed: ${error?.message ?? firstLine(stderr)}`;
  writeFileSync(stamp, lock);
  return undefined;
}

/** A runtime that npm has as a package, and how it tells the path of its program. */
export interface RuntimePackage {
  /** With its exact version. */
  readonly package: string;
  readonly tellPath: readonly [program: string, ...args: string[]];
}

/**
 * Has npm fetch a runtime, or find it in its cache.
 *
 * @returns the path of its program, or why there is none
 */
export function fetchRuntime({ package: name, tellPath }: RuntimePackage): {
  readonly path?: string;
  readonly missing?: string;
} {
  const args = ['exec', '--yes', `--package=${name}`, '--', ...tellPath];
  const { status, stdout, stderr, error } = spawnSync('npm', args, { encoding: 'utf8', shell });
  const path = stdout?.trim() ?? '';
  if (status === 0 && existsSync(path)) return { path };
  return { missing: `${name} could not be fetched: ${error?.message ?? firstLine(stderr)}` };
}

function firstLine(stderr: string): string {
  const lines = stderr.trim().split('\n');
  return lines.find((line) => line.startsWith('npm error')) ?? lines[0] ?? '';
}
