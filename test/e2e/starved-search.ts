/**
 * Lists the directory given as argument, first without free file descriptors, and then again.
 * Prints the outcomes.
 */
import { closeSync, openSync } from 'node:fs';
import { delimitedRecords } from '../../packages/workspace-server/src/search/ripgrep-output.ts';
import { ripgrep, ripgrepArguments } from '../../packages/workspace-server/src/search/ripgrep.ts';
import { rootDirectory } from '../../packages/roots/test/root-at.ts';

const root = rootDirectory(process.argv[2] ?? '');

async function list(): Promise<readonly string[] | string> {
  const args = [...ripgrepArguments, '--files', '--null', '--', './'];
  const signal = new AbortController().signal;
  const found: string[] = [];
  try {
    for await (const { bytes } of ripgrep({
      args,
      root,
      signal,
      records: delimitedRecords('\0'),
    })) {
      found.push(bytes.toString());
    }
    return found;
  } catch (error) {
    return String(error);
  }
}

const taken: number[] = [];
try {
  for (;;) taken.push(openSync('/dev/null', 'r'));
} catch {
  // No file descriptors are left.
}
const starved = await list();
// Leaves one descriptor for the directory, none for pipes of a child.
closeSync(taken.pop() ?? -1);
const hungry = await list();
for (const descriptor of taken) closeSync(descriptor);
process.stdout.write(JSON.stringify({ starved, hungry, fed: await list() }));
