/**
 * The scenarios of the conformance suite that play a server, against the host in
 * `examples/conformance/client.js`, on the built package. They run one by one: only so do the exit
 * code, a timeout and a warning of a scenario count.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';

/** How a command of the suite is run. */
export type SuiteCommand = readonly [program: string, ...before: readonly string[]];

/** Reported by the suite, never scored, of no revision's requirements, and to pass in each all the same. */
const unscored: readonly string[] = [
  'json-schema-2020-12-preservation',
  'auth/client-credentials-basic',
  'auth/client-credentials-jwt',
];

async function run(suite: SuiteCommand, command: string, cwd: string) {
  const [program, ...before] = suite;
  const child = spawn(program, [...before, command], { cwd, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  const [code] = (await once(child, 'close')) as [number | null];
  return { code: code ?? 1, output };
}

/** The scenarios that a revision requires of a client, as the suite lists them. */
async function required(suite: SuiteCommand, revision: string, cwd: string): Promise<string[]> {
  const { output } = await run(suite, `conformance list --client --requirements ${revision}`, cwd);
  const [, list = ''] = /^Client scenarios.*\n((?: {2}- .*\n)+)/m.exec(output) ?? [];
  return [...list.matchAll(/^ {2}- (\S+)/gm)].map(([, name = '']) => name);
}

/**
 * Runs what a revision requires of a client.
 *
 * @returns a line for the report, and whether all has passed
 */
export async function runClient(
  suite: SuiteCommand,
  revision: string,
  cwd: string,
): Promise<{ readonly line: string; readonly passed: boolean }> {
  const scenarios = [...new Set([...(await required(suite, revision, cwd)), ...unscored])];
  const failed: string[] = [];
  for (const scenario of scenarios) {
    const host = `--command 'node examples/conformance/client.js'`;
    // Otherwise it skips what is on the timeline of no revision.
    const force = unscored.includes(scenario) ? ' --force' : '';
    const command = `conformance client ${host} --scenario ${scenario} --spec-version ${revision}${force}`;
    const { code, output } = await run(suite, command, cwd);
    const [, passed = '0'] = /^Passed: (\d+)\//m.exec(output) ?? [];
    // One that has passed nothing has checked nothing.
    const isPassed = code === 0 && passed !== '0';
    console.log(`${isPassed ? '✓' : '✗'} ${scenario} (${revision}): ${passed} passed`);
    if (isPassed) continue;
    failed.push(scenario);
    console.log(output);
  }
  const names = failed.length > 0 ? ` (${failed.join(', ')})` : '';
  const count = scenarios.length;
  const line = `client ${revision}: ${count - failed.length} of ${count} scenarios passed, ${failed.length} failed${names}`;
  return { line, passed: count > unscored.length && failed.length === 0 };
}
