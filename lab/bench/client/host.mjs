/**
 * Process of one client: `node --expose-gc host.mjs SUBJECT WAY SIZES`. Prints its measurements as
 * JSON.
 */
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const [subject, way, sizesText] = process.argv.slice(2);
const sizes = JSON.parse(sizesText);
const { open } = await import(`./subjects/${subject}.mjs`);
const pathOf = (path) => fileURLToPath(new URL(path, import.meta.url));
const launched = { command: process.execPath, args: [pathOf('server.mjs')] };
const text = 'x'.repeat(64);

/** CPU time of the process since then, µs. */
function cpuSince(before) {
  const { user, system } = process.cpuUsage(before);
  return user + system;
}

/** CPU time of the client's process per call, µs. */
async function cpuPerCall(calls, run) {
  const before = process.cpuUsage();
  await run();
  return cpuSince(before) / calls;
}

async function echo(client, asked = client.call('echo', text)) {
  const { content } = await asked;
  if (content[0]?.text !== text) throw new Error('The answer is not that of its call');
}

/** @param lanes number of calls in flight */
async function echoes(client, calls, lanes, one = echo) {
  let left = calls;
  const lane = async () => {
    while (left-- > 0) await one(client);
  };
  await Promise.all(Array.from({ length: lanes }, lane));
}

function heapBytes() {
  for (let times = 0; times < 3; times++) globalThis.gc();
  return process.memoryUsage().heapUsed;
}

const withClient = async (server, era, use) => {
  const client = await open(server, { era, maxPending: 2 * sizes.atOnce });
  const found = await use(client);
  await client.close();
  return found;
};

/** Sequential calls are optimized separately, so they need their own warm-up. */
async function inFlight(client, prefix, lanes) {
  await echoes(client, sizes.warmUp, lanes);
  await echoes(client, sizes.warmUp, 1);
  return {
    [`${prefix}.1.cpu`]: await cpuPerCall(sizes.sequential, () =>
      echoes(client, sizes.sequential, 1),
    ),
    [`${prefix}.${lanes}.cpu`]: await cpuPerCall(sizes.calls, () =>
      echoes(client, sizes.calls, lanes),
    ),
  };
}

/** Measures operations other than plain calls, `times` as often. */
async function besides(client, metric, one, times = 1) {
  const calls = times * sizes.calls;
  await echoes(client, times * sizes.warmUp, 256, one);
  return { [metric]: await cpuPerCall(calls, () => echoes(client, calls, 256, one)) };
}

async function listed(client) {
  const tools = await client.list();
  if (tools.length !== 4) throw new Error('The list is not that of the server');
}

async function pendingBytes(client) {
  const before = heapBytes();
  const held = Array.from({ length: sizes.pending }, () => client.call('hold', text));
  for (const call of held) call.catch(() => {});
  // They have been written once a later request is answered.
  await echo(client);
  held.length = 0;
  return (heapBytes() - before) / sizes.pending;
}

const ways = {
  connect: async () => {
    const startedAt = performance.now();
    const used = process.cpuUsage();
    return withClient(launched, 'legacy', () => ({
      'connect.ms': performance.now() - startedAt,
      'connect.cpu': cpuSince(used) / 1000,
    }));
  },
  stdio: () =>
    withClient(launched, 'legacy', async (client) => ({
      ...(await inFlight(client, 'call', 256)),
      'call.atOnce.cpu': await cpuPerCall(sizes.atOnce, () =>
        Promise.all(Array.from({ length: sizes.atOnce }, () => echo(client))),
      ),
      'pending.bytes': await pendingBytes(client),
    })),
  structured: () =>
    withClient(launched, 'legacy', (client) =>
      besides(client, 'structured.256.cpu', () => echo(client, client.checked('measure', text))),
    ),
  tasks: () =>
    withClient(launched, 'legacy', (client) =>
      besides(client, 'task.256.cpu', () => echo(client, client.task('later', text))),
    ),
  lists: () =>
    withClient(launched, 'modern', (client) => besides(client, 'list.256.cpu', listed, 10)),
  enveloped: () => withClient(launched, 'modern', (client) => inFlight(client, 'enveloped', 256)),
  http: () => overHttp('legacy', 'http'),
  'http-enveloped': () => overHttp('modern', 'http-enveloped'),
};

async function overHttp(era, prefix) {
  const server = spawn(process.execPath, [pathOf('../servers/floor-http.mjs')], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const line = await new Promise((resolve) => server.stdout.once('data', resolve));
  const url = String(line).trim();
  return withClient({ url }, era, (client) => inFlight(client, prefix, 64)).finally(() =>
    server.kill(),
  );
}

const found = await ways[way]();
process.stdout.write(`${JSON.stringify(found)}\n`);
process.exit(0);
