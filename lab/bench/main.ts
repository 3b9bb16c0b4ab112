/**
 * `npm run lab -- bench`: installs, builds, measures and prints. Fails if our server or the floor
 * misbehaves; failures of peers are findings.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { installLocked } from '../../scripts/npm.ts';
import { benchClients, chartedOfClients } from './client/client-bench.ts';
import { readOptions, usage } from './options.ts';
import type { Options } from './options.ts';
import { publish } from './page.ts';
import { buildServers } from './prepare.ts';
import { showProfiles } from './profile.ts';
import { circumstances, loadNow, quietLoad, rowsOf } from './results.ts';
import type { Results } from './results.ts';
import { run } from './run.ts';
import type { Task } from './run.ts';
import { benchFolder, buildFolder, ourName, versionOf } from './servers.ts';
import type { Server } from './servers.ts';
import { sizes } from './sizes.ts';
import { taskSuite } from './suites.ts';
import { failuresOf, leadTableOf, tableOf } from './table.ts';
import { faultsOf } from './verdict.ts';

const say = (text: string): void => {
  process.stderr.write(`${text}\n`);
};

async function measure(options: Options): Promise<Results> {
  const missing = options.servers.some(({ isPeer }) => isPeer)
    ? installLocked(benchFolder)
    : undefined;
  if (missing !== undefined) say(`SKIPPED: the peers are not measured: ${missing}`);
  await buildServers(options.servers);
  const measured = options.servers.filter(({ isPeer }) => !isPeer || missing === undefined);
  const loadBefore = loadNow();
  if (loadBefore > quietLoad) {
    say(`The machine is busy (load ${loadBefore.toFixed(2)}): wall times are not to be trusted`);
  }
  const profile = options.profile === undefined ? undefined : resolve(options.profile);
  const extent = sizes[options.extent];
  const tasks = options.tasks.filter(isPossible);
  const outcomes = await run({
    servers: measured,
    tasks,
    sizes: { ...extent, rounds: options.rounds ?? extent.rounds },
    nodeFlags: profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profile}`],
    onStep: announce,
  });
  if (profile !== undefined) say(showProfiles(profile));
  return {
    circumstances: circumstances(
      loadBefore,
      Object.fromEntries(measured.map((server) => [nameOf(server), versionOf(server)])),
    ),
    rows: rowsOf(tasks, outcomes),
    failures: outcomes.flatMap(({ server, measure: name, failure }) =>
      failure === undefined ? [] : { server, measure: name, failure },
    ),
  };
}

/** Package measured; for our server, always itself, whatever its task store. */
const nameOf = ({ name, package: of }: Server) => (of === ourName ? ourName : name);

/** True if this machine has the requirements of a measure; otherwise prints the reason. */
function isPossible({ name, missing }: Task): boolean {
  const why = missing?.();
  if (why !== undefined) say(`SKIPPED: ${name}: ${why}`);
  return why === undefined;
}

let announced = '';

function announce(round: number, { name }: Task, _server: Server): void {
  const step = `round ${round}: ${name}`;
  if (step !== announced) say(step);
  announced = step;
}

function write(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

function show(results: Results): void {
  const { loadBefore, loadAfter } = results.circumstances;
  const load = `load ${loadBefore.toFixed(2)} before, ${loadAfter.toFixed(2)} after`;
  const parts = [tableOf(results), leadTableOf(results), failuresOf(results), load];
  process.stdout.write(`${parts.filter((part) => part !== '').join('\n\n')}\n`);
}

async function main(): Promise<number> {
  const args = process.argv.slice(2);
  if (args.includes('--client')) {
    const clients = benchClients(args.filter((arg) => arg !== '--client'));
    if (clients.publish) publish(clients.results, 'client', chartedOfClients);
    show(clients.results);
    return 0;
  }
  let options: Options;
  try {
    options = readOptions(process.argv.slice(2));
  } catch (error) {
    say(`${String(error)}\n\n${usage}`);
    return 2;
  }
  const results = await measure(options);
  const json = `${JSON.stringify(results, undefined, 2)}\n`;
  write(options.json ?? join(buildFolder, 'results.json'), json);
  const { suite } = options;
  if (options.publish) publish(results, suite.name, suite.charted);
  show(results);
  const faults = faultsOf(results, {
    isStrict: options.strict || suite === taskSuite,
    platform: process.platform,
  });
  for (const fault of faults) say(`FAILED: ${fault}`);
  return faults.length > 0 ? 1 : 0;
}

process.exitCode = await main();
