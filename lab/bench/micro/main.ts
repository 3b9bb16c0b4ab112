/**
 * `npm run lab -- micro`: costs of individual parts, in one process each, for comparing versions of
 * this code; and session costs beside the official SDKs.
 */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { build } from 'esbuild';
import { installLocked } from '../../../scripts/npm.ts';
import { benchFolder, buildFolder } from '../servers.ts';
import { subjectNames } from './subject-names.ts';

const missing = installLocked(benchFolder);
const flags = process.argv.slice(2);
if (missing === undefined) {
  await build({
    entryPoints: ['runner.mjs', 'session-cost.mjs'].map((name) => join(benchFolder, 'micro', name)),
    outdir: buildFolder,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    packages: 'external',
    format: 'esm',
    platform: 'node',
    target: 'node20',
    logLevel: 'warning',
  });
  if (!flags.includes('--sessions')) run('runner.mjs', flags);
  process.stdout.write(
    '\n| one session | CPU to open, µs | live heap while idle, KiB | left after all were closed, KiB |\n| --- | ---: | ---: | ---: |\n',
  );
  for (const name of subjectNames) run('session-cost.mjs', [name, ...flags], ['--expose-gc']);
} else {
  process.stderr.write(`SKIPPED: the micro-benchmarks' runner is missing: ${missing}\n`);
}

function run(name: string, args: readonly string[], nodeFlags: readonly string[] = []): void {
  const argv = [...nodeFlags, join(buildFolder, name), ...args];
  const { status } = spawnSync(process.execPath, argv, { stdio: 'inherit' });
  if (status !== 0) process.exitCode = status ?? 1;
}
