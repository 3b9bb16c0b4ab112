/**
 * Cost of an open page: `npm run lab -- page [SECONDS ROUNDS]`.
 *
 * One process of the built command with `--inspect` receives 1,000 messages per second, each in a
 * write of its own. Its page is alternately closed and open for the given seconds, so that other
 * load affects both equally. Measures CPU time of all threads from the kernel's accounting; this
 * process reads the page like a browser. Linux only.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { get } from 'node:http';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { cpuMsOf } from './accounting.ts';

const rate = 1000;
const [seconds = 4, rounds = 10] = process.argv.slice(2).map(Number);
const command = fileURLToPath(new URL('../../packages/cli/dist/cli.js', import.meta.url));

const child = spawn(process.execPath, [command, 'workspace', '--inspect'], {
  stdio: ['pipe', 'pipe', 'pipe'],
});
const pid = child.pid as number;
const url = await new Promise<string>((resolve) => {
  createInterface(child.stderr).on('line', (line) => {
    const found = /http:\S+/.exec(line)?.[0];
    if (found !== undefined) resolve(found);
  });
});
let answered = (): void => {};
createInterface(child.stdout).on('line', (line) => {
  if (line.includes('"result"')) answered();
});
let nextId = 0;

function send(message: object): void {
  child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
}

const clientInfo = { name: 'bench', version: '1' };
const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo };
send({ id: 'init', method: 'initialize', params });
send({ method: 'notifications/initialized' });
await once(child.stdout, 'data');

function cpuMicros(): number {
  const ms = cpuMsOf(pid);
  if (ms === undefined) throw new Error('This needs procfs: it runs on Linux alone');
  return ms * 1000;
}

let rateReached = Infinity;

/**
 * Sends at the rate for a while; returns the server's CPU time per message, µs. The next message
 * waits until it is due and the last one is answered: otherwise messages would share chunks of
 * input on a busy machine and become cheaper.
 */
async function flood(method: string, forSeconds: number): Promise<number> {
  const [before, begun, count] = [cpuMicros(), performance.now(), forSeconds * rate];
  for (let sent = 0; sent < count; sent++) {
    while (performance.now() - begun < (sent * 1000) / rate) await new Promise(setImmediate);
    nextId += 1;
    const answer = new Promise<void>((resolve) => {
      answered = resolve;
    });
    send({ id: nextId, method });
    await answer;
  }
  rateReached = Math.min(rateReached, (1000 * count) / (performance.now() - begun));
  return (cpuMicros() - before) / count;
}

/** Reads the page's stream; returns a function that closes it. */
async function openPage(): Promise<() => Promise<void>> {
  const request = get(`${url}updates`);
  const [response] = (await once(request, 'response')) as [NodeJS.ReadableStream];
  let received = 0;
  response.on('data', (chunk: Buffer) => {
    received += chunk.length;
  });
  response.on('error', () => {});
  request.on('error', () => {});
  while (received === 0) await once(response, 'data');
  return async () => {
    const closed = new Promise((resolve) => response.once('close', resolve));
    request.destroy();
    await closed;
  };
}

const middle = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;

console.log('| message | page closed | page open | more |');
console.log('|---|---|---|---|');
for (const method of ['ping', 'tools/list']) {
  // Warm up both variants.
  await flood(method, 3);
  const leave = await openPage();
  await flood(method, 3);
  await leave();
  const [closed, open]: [number[], number[]] = [[], []];
  for (let round = 0; round < rounds; round++) {
    closed.push(await flood(method, seconds));
    const close = await openPage();
    open.push(await flood(method, seconds));
    await close();
  }
  const more = 100 * (middle(open) / middle(closed) - 1);
  console.log(
    `| ${method} | ${middle(closed).toFixed(1)} µs | ${middle(open).toFixed(1)} µs | ${more.toFixed(0)} % |`,
  );
  const list = (values: readonly number[]) => values.map((cost) => cost.toFixed(0)).join(' ');
  console.error(`closed: ${list(closed)}\nopen: ${list(open)}`);
}
console.error(`The slowest round reached ${rateReached.toFixed(0)} messages a second`);
child.stdin.end();
await once(child, 'exit');
