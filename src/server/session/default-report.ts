/** Where a session reports to if its host has not said. */
import type { Fact, Report } from '../../actors/facts.ts';
import { humanForm } from '../../../packages/diagnostics/src/log/log-line.ts';
import { createLog } from '../../../packages/diagnostics/src/log/log.ts';

const level = 'warning';
let report: Report | undefined;

/**
 * Writes warnings and errors to the console's stderr, with the stack of what was thrown, at a
 * bounded rate. All sessions share it. stdout is never written to: it may carry the messages.
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
  // Found at each line, so that a host may put a console of its own in its place.
  console.error(line.trimEnd());
  return true;
}
