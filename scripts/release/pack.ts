/**
 * Makes the files of a release in `packed/`: the tarballs that are published, the bundle, and the entry for Docker's catalogue.
 * `npm run release -- pack`. What is tried and what is published are these files.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundleName, writeBundle } from './bundle.ts';
import { must, run } from './command.ts';
import { Edits } from './edits.ts';
import { factsOf } from './facts.ts';
import { publishedFolders } from './packages.ts';
import { catalogueEntry } from './shelf.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

export async function step(): Promise<void> {
  const packed = join(root, 'packed');
  const facts = factsOf(new Edits(root));
  rmSync(packed, { recursive: true, force: true });
  mkdirSync(packed);
  for (const folder of publishedFolders) {
    await must(run, 'npm', ['pack', '--silent', '--pack-destination', packed, `./${folder}`], {
      cwd: root,
    });
  }
  writeBundle(join(packed, bundleName(facts.version)));
  if (facts.address === undefined) {
    console.error('No entry for the catalogue of Docker: the repository has no address');
  } else {
    const commit = execFileSync('git', ['rev-parse', 'HEAD'], {
      cwd: root,
      encoding: 'utf8',
    }).trim();
    const entry = catalogueEntry(facts, facts.address, commit);
    writeFileSync(join(packed, 'docker-catalogue-server.yaml'), entry);
  }
}
