/**
 * `npm run lab -- hosts`: tests real hosts, client libraries and all supported runtimes with the
 * packed command and a small server. `--sample` only tests the current Node and installs nothing
 * but the package. Anything that cannot be installed is skipped and counted, as are hosts of
 * several hundred MB without `--large`. Fails if any test fails.
 */
import { parseArgs } from 'node:util';
import { closingLine } from '../../test/reporting/closing-line.ts';
import { coldChecks } from './cold.ts';
import { hostChecks, hostsFolder } from './hosts.ts';
import { nextCheck } from './next.ts';
import { checksWithoutClient, hostsNode, runningNode, runtimeChecks } from './runtimes.ts';
import { runChecks } from './scenario.ts';
import type { Check } from './scenario.ts';
import { installSubject } from './subject.ts';
import type { Subject } from './subject.ts';
import { devCheck, writtenChecks } from './written.ts';
import { webChecks } from './web-runtimes.ts';
import { fetchRuntime, installLocked } from '../../scripts/npm.ts';

const { values } = parseArgs({
  options: {
    only: { type: 'string', multiple: true, default: [] },
    large: { type: 'boolean', default: false },
    sample: { type: 'boolean', default: false },
  },
});

const say = (line: string): void => console.log(line);

async function main(): Promise<number> {
  const subject = await installSubject();
  if (typeof subject === 'string') {
    say(`- everything: skipped: ${subject}`);
    say(closingLine({ passed: 0, failed: 0, skipped: 1 }));
    return 0;
  }
  try {
    const all = values.sample ? checksWithoutClient(subject, runningNode) : allChecks(subject);
    const checks = all.filter(({ name }) => values.only.every((word) => name.includes(word)));
    const counts = await runChecks(checks, say);
    say(closingLine(counts));
    return counts.failed > 0 ? 1 : 0;
  } finally {
    subject.remove();
  }
}

function allChecks(subject: Subject): readonly Check[] {
  const { path: node = '', missing } = fetchRuntime(hostsNode);
  const noHosts = missing ?? installLocked(hostsFolder);
  return [
    ...hostChecks({ subject, node }, noHosts),
    ...coldChecks({ subject, node }, noHosts, values.large),
    ...writtenChecks({ subject, node }, noHosts, values.large),
    devCheck({ subject, node }, noHosts),
    ...runtimeChecks(subject, node, noHosts),
    ...webChecks(subject),
    nextCheck(subject),
  ];
}

process.exitCode = await main();
