/** `npm run bench:micro`: what the parts cost, in one process. Numbers for comparing two versions of this code, not two servers. */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { build } from 'esbuild';
import { installPeers } from '../prepare.ts';
import { benchFolder, buildFolder } from '../servers.ts';

const missing = installPeers();
if (missing === undefined) {
  const outfile = join(buildFolder, 'micro.mjs');
  await build({
    entryPoints: [join(benchFolder, 'micro', 'runner.mjs')],
    outfile,
    bundle: true,
    packages: 'external',
    format: 'esm',
    platform: 'node',
    target: 'node20',
    logLevel: 'warning',
  });
  const args = [outfile, ...process.argv.slice(2)];
  process.exitCode = spawnSync(process.execPath, args, { stdio: 'inherit' }).status ?? 1;
} else {
  process.stderr.write(`SKIPPED: the micro-benchmarks' runner is missing: ${missing}\n`);
}
