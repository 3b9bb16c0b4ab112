/**
 * Runs the public conformance suite for the latest revision of each era: against the server
 * `examples/everything` over our own HTTP on loopback, and against the host
 * `examples/conformance/client.js`. `npm run lab -- conformance`, or one side: `npm run lab --
 * conformance client`. `npm run lab -- conformance bridge` compares servers behind a bridge with
 * themselves, `npm run lab -- conformance bridge everything/stdio` some of them. Exits with 1 if a
 * required scenario fails, or another fails without a known reason.
 */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { runBridge } from './bridge.ts';
import { runClient } from './client.ts';
import { differences, readOutcomes, readReport } from './report.ts';
import type { KnownReasons } from './report.ts';
import { fetchSuite, newestRelease, pinned, runAlone, runSuite } from './suite.ts';

/** Revisions, with known failures of scenarios they do not require. */
const revisions: { readonly [revision: string]: KnownReasons } = {
  '2025-11-25': {},
  '2026-07-28': {
    'tasks-status-notifications': 'the suite skips it: it checks nothing',
    'tasks-mrtr-composition':
      'it wants a call that asks first and becomes a task then; here it is a task from the start, and the task asks',
  },
};
/** Extension scenarios that no revision requires, but which must pass. */
const ofSkills = ['enumeration', 'directory', 'manifest'].map((name) => `sep-2640-skills-${name}`);
/** Time limit for the server to start, ms. */
const startTimeoutMs = 120_000;

const repository = fileURLToPath(new URL('../..', import.meta.url));

function startServer(): ChildProcess {
  return spawn(
    process.execPath,
    ['--import', 'tsx', 'examples/everything/http.ts', '--port', '0'],
    {
      cwd: repository,
      stdio: ['ignore', 'inherit', 'pipe'],
    },
  );
}

/** URL the server prints when listening; other output goes to stderr. */
function urlOf({ stderr }: ChildProcess, exited: Promise<unknown>): Promise<string> {
  if (!stderr) throw new Error('The server has no stderr');
  return new Promise((resolve, reject) => {
    createInterface({ input: stderr }).on('line', (line) => {
      if (line.startsWith('http://')) resolve(line);
      else console.error(line);
    });
    const late = setTimeout(
      () => reject(new Error(`The server has not started within ${startTimeoutMs} ms`)),
      startTimeoutMs,
    );
    late.unref();
    void exited.then(() => reject(new Error('The server has ended instead of starting')));
  });
}

const suite = fetchSuite(repository);

/** A newer release than the pinned one, if any. */
function findNewer(): { readonly release: string; readonly missing?: string } | undefined {
  try {
    const release = newestRelease();
    return release === pinned ? undefined : { release };
  } catch (error) {
    return { release: 'newest', missing: error instanceof Error ? error.message : String(error) };
  }
}

const newest = findNewer();

/** Reports differences in the newest release; they fail nothing. */
async function newer(which: readonly string[], output: string): Promise<readonly string[]> {
  if (newest === undefined) return [`  the suite ${pinned} is the newest release`];
  const { release, missing } = newest;
  if (missing !== undefined) return [`  whether there is a newer suite is not known: ${missing}`];
  const { output: said } = await runSuite(fetchSuite(repository, release), 'server', ...which);
  const lines = differences(readOutcomes(output), readOutcomes(said));
  const count = lines.length === 0 ? 'says the same' : `differs in ${lines.length} scenarios`;
  return [`  the suite ${release} ${count}`, ...lines.map((line) => `    ${line}`)];
}

async function checkServer(): Promise<readonly string[]> {
  const server = startServer();
  const exited = once(server, 'exit');
  const lines: string[] = [];
  try {
    const url = await urlOf(server, exited);
    for (const [revision, reasons] of Object.entries(revisions)) {
      const which = ['--url', url, '--requirements', revision];
      const { code, output } = await runSuite(suite, 'server', ...which);
      process.stdout.write(output);
      const passedAlone = await passingAlone(output, url, revision, reasons);
      const report = readReport(output, revision, reasons, passedAlone);
      lines.push(...report.lines, ...(await newer(which, output)));
      const isWhole = code === 0 || passedAlone.length > 0;
      if (!isWhole || !report.passed) process.exitCode = 1;
    }
    for (const scenario of ofSkills) lines.push(await checkAlone(scenario, url));
    return lines;
  } finally {
    server.kill('SIGTERM');
    await exited;
  }
}

/** Output of the failed scenarios, repeated at the end. */
const failures: string[] = [];

/** Runs a scenario that no revision requires. */
async function checkAlone(scenario: string, url: string): Promise<string> {
  const { passed, output } = await runAlone(suite, url, scenario, '2026-07-28');
  if (passed > 0) return `${scenario}: ${passed} checks passed`;
  process.exitCode = 1;
  failures.push(output);
  return `${scenario}: failed`;
}

/**
 * Repeats each failed scenario. Some of the suite's deadlines of a second are too short for a busy
 * machine.
 *
 * @returns the scenarios that passed this time
 */
async function passingAlone(
  output: string,
  url: string,
  revision: string,
  reasons: KnownReasons,
): Promise<readonly string[]> {
  const passing: string[] = [];
  for (const [scenario, isPassed] of readOutcomes(output)) {
    if (isPassed || scenario in reasons) continue;
    const again = await runAlone(suite, url, scenario, revision);
    if (again.passed > 0) passing.push(scenario);
    else failures.push(again.output);
  }
  return passing;
}

async function checkClient(): Promise<readonly string[]> {
  const reports = await Promise.all(
    Object.keys(revisions).map((revision) => runClient(suite, revision)),
  );
  if (!reports.every(({ passed }) => passed)) process.exitCode = 1;
  failures.push(...reports.flatMap(({ outputs }) => outputs));
  return reports.map(({ line }) => line);
}

/** @param wanted part of the comparison */
async function checkBridge(wanted: string | undefined): Promise<readonly string[]> {
  const { lines, passed } = await runBridge(suite, Object.keys(revisions), wanted);
  if (!passed) process.exitCode = 1;
  return lines;
}

const [side, part] = process.argv.slice(2);
// The sides run concurrently, because they wait for different processes.
const lines = await Promise.all(
  side === '--bridge' || side === 'bridge'
    ? [checkBridge(part)]
    : [
        ...(side === 'client' ? [] : [checkServer()]),
        ...(side === 'server' ? [] : [checkClient()]),
      ],
);
console.log(`\n${[...failures, ...lines.flat()].join('\n')}`);
