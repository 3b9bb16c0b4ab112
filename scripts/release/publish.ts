/**
 * Publishes the packed files on npm: `npm run release -- publish [--dry-run]`. First everything is checked once more; what npm
 * has already is left alone, so a release that stopped half way can be run again.
 */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { must, run } from './command.ts';
import type { Run } from './command.ts';
import { Edits } from './edits.ts';
import { faultsOfRelease } from './faults.ts';
import type { ReleaseOccasion } from './faults.ts';
import { manifestIn, publishedFolders } from './packages.ts';
import type { Manifest } from './packages.ts';

interface Publication {
  readonly edits: Edits;
  /** The folder of the tarballs. */
  readonly packed: string;
  readonly occasion: ReleaseOccasion;
  readonly isDry: boolean;
  readonly by?: Run;
}

/** @throws {Error} something keeps the release: nothing is published; or npm refuses a package */
export async function publishPacked({
  edits,
  packed,
  occasion,
  isDry,
  by = run,
}: Publication): Promise<void> {
  const faults = await faultsOfRelease(edits, occasion);
  if (faults.length > 0) throw new Error(`Nothing is published:\n- ${faults.join('\n- ')}`);
  for (const folder of publishedFolders) {
    const { name, version } = edits.readJson<Manifest>(manifestIn(folder));
    const known = await by('npm', ['view', `${name}@${version}`, 'version'], { isAsked: true });
    if (known.status === 0 && known.output.trim() === version) {
      console.log(`${name}@${version} is on npm`);
      continue;
    }
    // As npm calls it.
    const tarball = `${name.replace('@', '').replace('/', '-')}-${version}.tgz`;
    const how = isDry ? ['--dry-run'] : ['--provenance'];
    await must(by, 'npm', ['publish', join(packed, tarball), '--access', 'public', ...how]);
  }
}

export async function step(args: readonly string[]): Promise<void> {
  const root = fileURLToPath(new URL('../..', import.meta.url));
  await publishPacked({
    edits: new Edits(root),
    packed: join(root, 'packed'),
    occasion: { workflowOf: process.env['GITHUB_REPOSITORY'] },
    isDry: args.includes('--dry-run'),
  });
}
