import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const script = fileURLToPath(new URL('../../scripts/build.mjs', import.meta.url));

/** Bundles `dist/` before the tests, so that those that start real processes run the sources as they are. */
export default function setup(): void {
  execFileSync(process.execPath, [script, '--bundle-only'], { stdio: 'inherit' });
}
