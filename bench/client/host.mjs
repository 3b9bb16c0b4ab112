/** One client's process: `node --expose-gc host.mjs SUBJECT SIZES`. Prints what it has measured of itself as JSON. */
import { fileURLToPath } from 'node:url';

const [subject, sizesText] = process.argv.slice(2);
const sizes = JSON.parse(sizesText);
const { open } = await import(`./subjects/${subject}.mjs`);
const server = fileURLToPath(new URL('server.mjs', import.meta.url));
const text = 'x'.repeat(64);

const found = {};

/** What a client's own process spends on each of `calls` calls, microseconds of processor time. */
async function cpuPerCall(calls, run) {
  const before = process.cpuUsage();
  await run();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / calls;
}

async function echo(client) {
  const { content } = await client.call('echo', text);
  if (content[0]?.text !== text) throw new Error('The answer is not that of its call');
}

/** @param lanes so many calls are in flight at once */
async function echoes(client, calls, lanes) {
  let left = calls;
  const lane = async () => {
    while (left-- > 0) await echo(client);
  };
  await Promise.all(Array.from({ length: lanes }, lane));
}

function heapBytes() {
  for (let times = 0; times < 3; times++) globalThis.gc();
  return process.memoryUsage().heapUsed;
}

const startedAt = performance.now();
const usedBefore = process.cpuUsage();
const client = await open(process.execPath, [server], { maxPending: 2 * sizes.atOnce });
found['connect.ms'] = performance.now() - startedAt;
const used = process.cpuUsage(usedBefore);
found['connect.cpu'] = (used.user + used.system) / 1000;

if (client.call) {
  await echoes(client, sizes.warmUp, 64);
  found['call.1.cpu'] = await cpuPerCall(sizes.sequential, () =>
    echoes(client, sizes.sequential, 1),
  );
  found['call.256.cpu'] = await cpuPerCall(sizes.calls, () => echoes(client, sizes.calls, 256));
  found['call.atOnce.cpu'] = await cpuPerCall(sizes.atOnce, () =>
    Promise.all(Array.from({ length: sizes.atOnce }, () => echo(client))),
  );
  const before = heapBytes();
  const held = Array.from({ length: sizes.pending }, () => client.call('hold', text));
  for (const call of held) call.catch(() => {});
  // They have been written once something asked later has its answer.
  await echo(client);
  held.length = 0;
  found['pending.bytes'] = (heapBytes() - before) / sizes.pending;
}
await client.close();
process.stdout.write(`${JSON.stringify(found)}\n`);
process.exit(0);
