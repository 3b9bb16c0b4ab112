/**
 * Hands `server.json` to the official registry: `npm run release -- registry validate`, or `registry publish` in the workflow.
 * The registry's own program is one of Go's modules, and Go checks what it downloads against its public list of sums.
 */
import { must, rehearse, run } from './command.ts';
import type { Run } from './command.ts';
import { registryFile } from './shelf.ts';

const publisher = 'github.com/modelcontextprotocol/registry/cmd/publisher@v1.8.1';

const steps = {
  validate: [['validate', registryFile]],
  // GitHub says whose workflow this is, and that is who owns the name.
  publish: [
    ['login', 'github-oidc'],
    ['publish', `--file=${registryFile}`],
  ],
};

/** @throws {Error} the registry refuses */
export async function askRegistry(what: string, by: Run = run): Promise<void> {
  if (what !== 'validate' && what !== 'publish') {
    throw new TypeError(`Write validate or publish, not ${JSON.stringify(what)}`);
  }
  for (const args of steps[what]) await must(by, 'go', ['run', publisher, ...args]);
}

export async function step([what = '', ...flags]: readonly string[]): Promise<void> {
  await askRegistry(what, flags.includes('--dry-run') ? rehearse : run);
}
