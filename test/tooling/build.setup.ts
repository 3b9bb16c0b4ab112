import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const script = fileURLToPath(new URL('../../scripts/build.mjs', import.meta.url));

/** Bundles `dist/` before the tests, so that those that start real processes run the sources as they are. */
export default function setup(): void {
  const entries = ['index.ts', 'cli.ts', 'testing/index.ts'];
  if (!entries.every((path) => existsSync(new URL(`../../src/${path}`, import.meta.url)))) return;
  execFileSync(process.execPath, [script, '--bundle-only'], { stdio: 'inherit' });
}
