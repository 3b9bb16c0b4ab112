/**
 * Measures one subject in the process that `main.ts` starts with `--expose-gc`, and prints a row of
 * its table.
 */
import { setImmediate } from 'node:timers/promises';
import { subjects } from './session-subjects.ts';

const [, , subject, ...flags] = process.argv;
const isQuick = flags.includes('--quick');
const open = subjects[subject]();

const kept = isQuick ? 500 : 2_000;
const rounds = isQuick ? 5 : 15;
const perRound = isQuick ? 200 : 500;
const closed = isQuick ? 2_000 : 10_000;

async function liveBytes() {
  // Some memory is only freed by finalizers of the first collection.
  for (let times = 0; times < 4; times++) {
    await setImmediate();
    globalThis.gc();
  }
  return process.memoryUsage().heapUsed;
}

async function openAndClose(count) {
  for (let at = 0; at < count; at++) await (await open())();
}

/** CPU time of all threads, µs. */
function cpuUs() {
  const { user, system } = process.cpuUsage();
  return user + system;
}

async function openingUs() {
  const perOpening = [];
  for (let round = 0; round < rounds; round++) {
    const opened = [];
    const before = cpuUs();
    for (let at = 0; at < perRound; at++) opened.push(await open());
    perOpening.push((cpuUs() - before) / perRound);
    for (const close of opened) await close();
    await liveBytes();
  }
  return perOpening.sort((one, other) => one - other)[rounds >> 1];
}

async function idleBytes() {
  const sessions = [];
  for (let at = 0; at < 20; at++) sessions.push(await open());
  const before = await liveBytes();
  for (let at = 0; at < kept; at++) sessions.push(await open());
  const bytes = ((await liveBytes()) - before) / kept;
  for (const close of sessions) await close();
  return bytes;
}

// Run until JIT compilation is done.
await openAndClose(kept);
const openUs = await openingUs();
const heapBytes = await idleBytes();
await openAndClose(kept);
const before = await liveBytes();
await openAndClose(closed);
const leftBytes = (await liveBytes()) - before;
const kibibytes = (bytes) => (bytes / 1024).toFixed(1);
console.log(
  `| ${subject} | ${openUs.toFixed(0)} | ${kibibytes(heapBytes)} | ${kibibytes(leftBytes)} after ${closed} |`,
);
process.exit(0);
