/** Lists the directory that is its argument, first while this process has no file descriptor left, and then again. Prints what came of it. */
import { closeSync, openSync } from 'node:fs';
import { markedRecords } from '../../packages/workspace-server/src/search/ripgrep-output.ts';
import { ripgrep, ripgrepArguments } from '../../packages/workspace-server/src/search/ripgrep.ts';
import { rootDirectory } from '../../packages/roots/test/root-at.ts';

const root = rootDirectory(process.argv[2] ?? '');

async function list(): Promise<readonly string[] | string> {
  const args = [...ripgrepArguments, '--files', '--null', '--', './'];
  const signal = new AbortController().signal;
  const found: string[] = [];
  try {
    for await (const { bytes } of ripgrep({ args, root, signal, records: markedRecords('\0') })) {
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
  // None is left.
}
const starved = await list();
// One for the directory, none for the pipes of a child.
closeSync(taken.pop() ?? -1);
const hungry = await list();
for (const descriptor of taken) closeSync(descriptor);
process.stdout.write(JSON.stringify({ starved, hungry, fed: await list() }));
