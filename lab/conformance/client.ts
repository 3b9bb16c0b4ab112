/**
 * Runs the conformance suite's client scenarios against the host in
 * `examples/conformance/client.js` on the built package. Scenarios of a revision run one by one, so
 * that exit codes, timeouts and warnings can be attributed.
 */
import { runSuite } from './suite.ts';
import type { Suite } from './suite.ts';

/**
 * Scenarios the suite reports without scoring and no revision requires, but which must pass in
 * each.
 */
const unscored: readonly string[] = [
  'json-schema-2020-12-preservation',
  'auth/client-credentials-basic',
  'auth/client-credentials-jwt',
  'sep-2640-client-no-prefetch',
  'sep-2640-client-verify-digest',
  'sep-2640-client-verify-size',
  'sep-2640-client-verify-frontmatter',
];

/** Scenarios that a revision requires of a client, from the suite's own list. */
async function required(suite: Suite, revision: string): Promise<string[]> {
  const { output } = await runSuite(suite, 'list', '--client', '--requirements', revision);
  const [, list = ''] = /^Client scenarios.*\n((?: {2}- .*\n)+)/m.exec(output) ?? [];
  return [...list.matchAll(/^ {2}- (\S+)/gm)].map(([, name = '']) => name);
}

/**
 * Runs the scenarios a revision requires of a client.
 *
 * @returns a line for the report, whether all passed, and the output of each failed scenario
 */
export async function runClient(
  suite: Suite,
  revision: string,
): Promise<{
  readonly line: string;
  readonly passed: boolean;
  readonly outputs: readonly string[];
}> {
  const scenarios = [...new Set([...(await required(suite, revision)), ...unscored])];
  const failed: string[] = [];
  const outputs: string[] = [];
  for (const scenario of scenarios) {
    const host = ['--command', 'node examples/conformance/client.js'];
    const which = ['--scenario', scenario, '--spec-version', revision];
    // Without --force, the suite skips scenarios that belong to no revision.
    const force = unscored.includes(scenario) ? ['--force'] : [];
    const { code, output } = await runSuite(suite, 'client', ...host, ...which, ...force);
    const [, passed = '0'] = /^Passed: (\d+)\//m.exec(output) ?? [];
    // A scenario without passed checks has tested nothing.
    const isPassed = code === 0 && passed !== '0';
    console.log(`${isPassed ? '✓' : '✗'} ${scenario} (${revision}): ${passed} passed`);
    if (isPassed) continue;
    failed.push(scenario);
    outputs.push(output);
  }
  const names = failed.length > 0 ? ` (${failed.join(', ')})` : '';
  const count = scenarios.length;
  const line = `client ${revision}: ${count - failed.length} of ${count} scenarios passed, ${failed.length} failed${names}`;
  return { line, passed: count > unscored.length && failed.length === 0, outputs };
}
