/**
 * `npm run lab -- soak`: the built command under mixed normal and hostile traffic for some minutes.
 * Fails on a leak, an unanswered call, a failed ordinary call, an improper exit, or a leftover
 * process; prints figures at the end. See docs/maintaining/soaking.md.
 */
import { randomUUID } from 'node:crypto';
import { rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { soakBridge } from './bridge.ts';
import { SoakClient } from './client.ts';
import { makeProject } from './project.ts';
import { modernActs } from './modern.ts';
import { acts as legacyActs, maxLineBytes, rootsOf } from './traffic.ts';
import { halvesOf, leaksIn, leastHeap, mebibytes, processesWith } from './vitals.ts';
import type { Vitals } from './vitals.ts';

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    seed: { type: 'string', default: '1' },
    bridge: { type: 'boolean', default: false },
    rounds: { type: 'string', default: '2000' },
  },
});
const [minutes, seed] = [Number(values.minutes), Number(values.seed)];
const bridgeRounds = Number(values.rounds);
if (!(minutes > 0) || !Number.isSafeInteger(seed) || !(bridgeRounds > 0)) {
  process.stderr.write(
    'Usage: npm run lab -- soak [--minutes N] [--seed INTEGER]\n       npm run lab -- soak --bridge [--rounds N] [--seed INTEGER]\n',
  );
  process.exit(2);
}
if (values.bridge) {
  const found = await soakBridge(bridgeRounds, randomOf(seed));
  for (const fault of found) process.stdout.write(`${fault}\n`);
  process.exit(found.length === 0 ? 0 : 1);
}

/** Both eras in one session. */
const acts = [...legacyActs, ...modernActs];

/** Number of rounds: two for warm-up, three early, three late. */
const fewestSamples = 8;

/** Low limits, so that a round reaches each of them. */
const bounds = [
  ['--log-level', 'silent'],
  ['--limit', `maxLineBytes=${maxLineBytes}`],
  ['--limit', 'maxOutboundBytes=1MiB'],
  ['--limit', 'readAheadBytes=64KiB'],
  ['--limit', 'maxSuspendedCalls=16'],
].flat();
const project = makeProject();
const mark = randomUUID();
const command = fileURLToPath(new URL('../../packages/cli/dist/cli.js', import.meta.url));
const client = new SoakClient(command, ['workspace', ...bounds, project], {
  MCP_ACTORS_SOAK: mark,
});
client.onRequest = (id) => client.send({ jsonrpc: '2.0', id, result: rootsOf(project, ['a']) });

const faults: string[] = [];
const samples: Vitals[] = [];
let rounds = 0;
try {
  await client.request('initialize', {
    protocolVersion: '2025-11-25',
    capabilities: { roots: { listChanged: true } },
    clientInfo: { name: 'soak', version: '1' },
  });
  client.notify('notifications/initialized');
  await soak();
} catch (error) {
  faults.push(String((error as Error).message));
}
const exit = await client.close();
if (exit !== '0') faults.push(`THE END: the server ended with ${exit}, not with 0`);
const orphans = processesWith(mark);
if (orphans && orphans.length > 0) faults.push(`ORPHANS: ${orphans.join(', ')}`);
rmSync(project, { recursive: true });
if (samples.length >= fewestSamples) faults.push(...leaksIn(samples));
else faults.push(`TOO SHORT: ${samples.length} rounds; to find a leak takes ${fewestSamples}`);
report();
process.exitCode = faults.length === 0 ? 0 : 1;

/** Rounds of all acts, each in a different order. */
async function soak(): Promise<void> {
  const random = randomOf(seed);
  const endsAt = performance.now() + minutes * 60_000;
  while (performance.now() < endsAt || samples.length < fewestSamples) {
    for (const act of shuffled(random)) {
      await act.play(client, project);
      await client.ping();
    }
    rounds++;
    samples.push(await client.vitals());
  }
}

function shuffled(random: () => number) {
  return acts
    .map((act) => ({ act, at: random() }))
    .toSorted((one, other) => one.at - other.at)
    .map(({ act }) => act);
}

/** Seeded numbers from 0 to 1 (mulberry32). */
function randomOf(start: number): () => number {
  let state = start;
  return () => {
    state = (state + 0x6d_2b_79_f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

function report(): void {
  const { asked, answered, refused, cancelled, raw } = client.counts;
  const [early, late] = halvesOf(samples);
  const last = samples.at(-1);
  const lines = [
    `soaked for ${minutes} min: ${rounds} rounds of ${acts.length} acts, seed ${seed}`,
    `requests: ${asked} asked, ${answered} answered (${refused} with an error), ${cancelled} cancelled; ${raw} lines were no messages`,
    `longest ping: ${client.longestPingMs.toFixed(0)} ms`,
    `live heap: ${mebibytes(leastHeap(early))} early, ${mebibytes(leastHeap(late))} late; memory at most ${mebibytes(Math.max(...samples.map(({ rssBytes }) => rssBytes)))}`,
    `alive at the last round's end: ${JSON.stringify(last?.resources ?? {})}`,
    `end: exit ${exit}, ${orphans ? `${orphans.length} processes left` : 'the system does not tell which processes are left'}`,
    ...faults,
    faults.length === 0 ? 'soak: passed' : 'soak: FAILED',
  ];
  process.stdout.write(`${lines.join('\n')}\n`);
}
