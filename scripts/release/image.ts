/** Builds the image for two kinds of processors and pushes it to GitHub's registry: `npm run release -- image [--dry-run]`. */
import { fileURLToPath } from 'node:url';
import { registryName } from './address.ts';
import { must, rehearse, run } from './command.ts';
import type { Run } from './command.ts';
import { Edits } from './edits.ts';
import { factsOf } from './facts.ts';
import type { Facts } from './facts.ts';
import { imageOf } from './shelf.ts';

/**
 * @param folder of the Dockerfile
 * @throws {Error} the repository has no address, or docker refuses
 */
export async function pushImage(facts: Facts, folder: string, by: Run = run): Promise<void> {
  const { address, version, description, license } = facts;
  if (address === undefined)
    throw new Error('The repository has no address: `npm run release -- check`');
  const image = imageOf(address.owner);
  const labels = {
    // By this one the official registry knows whose image it is.
    'io.modelcontextprotocol.server.name': registryName(address),
    'org.opencontainers.image.description': description,
    'org.opencontainers.image.licenses': license,
    'org.opencontainers.image.source': address.url,
    'org.opencontainers.image.version': version,
  };
  await must(by, 'docker', [
    'buildx',
    'build',
    '--platform=linux/amd64,linux/arm64',
    ...Object.entries(labels).map(([name, value]) => `--label=${name}=${value}`),
    `--tag=${image}:${version}`,
    `--tag=${image}:latest`,
    '--push',
    folder,
  ]);
}

export async function step(args: readonly string[]): Promise<void> {
  const root = fileURLToPath(new URL('../..', import.meta.url));
  await pushImage(factsOf(new Edits(root)), root, args.includes('--dry-run') ? rehearse : run);
}
