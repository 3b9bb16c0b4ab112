/** `npm run release -- check`: names what keeps a release from being published. Exits with 1 if anything does. */
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { Edits } from './edits.ts';
import { faultsOfRelease } from './faults.ts';

export async function step(args: readonly string[]): Promise<void> {
  const { values } = parseArgs({ args: [...args], options: { tag: { type: 'string' } } });
  const edits = new Edits(fileURLToPath(new URL('../..', import.meta.url)));
  const occasion = { tag: values.tag, workflowOf: process.env['GITHUB_REPOSITORY'] };
  const faults = await faultsOfRelease(edits, occasion);
  for (const fault of faults) console.error(`- ${fault}`);
  const count = `${faults.length} fault${faults.length === 1 ? '' : 's'}`;
  console.error(faults.length === 0 ? 'Nothing keeps the release' : count);
  process.exitCode = faults.length === 0 ? 0 : 1;
}
