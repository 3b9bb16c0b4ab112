/** Default `report` of a session. */
import type { Fact, Report } from '../../actors/facts.ts';
import { humanForm } from '../../../packages/diagnostics/src/log/log-line.ts';
import { createLog } from '../../../packages/diagnostics/src/log/log.ts';

const level = 'warning';
let report: Report | undefined;

/**
 * Writes warnings and errors with stacks to stderr, rate-limited and shared by all sessions. Never
 * writes to stdout, which may carry the protocol.
 */
export const defaultReport: Report = Object.assign(
  (fact: Fact) => {
    report ??= createLog({
      level,
      form: humanForm,
      sink: { write: writeToConsole, flush: () => Promise.resolve() },
    }).report;
    report(fact);
  },
  { threshold: level } as const,
);

function writeToConsole(line: string): boolean {
  // Looked up for each line, because a host may replace the console.
  console.error(line.trimEnd());
  return true;
}
