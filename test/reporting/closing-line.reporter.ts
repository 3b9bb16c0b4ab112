import type { Reporter, SerializedError, TestModule, TestRunEndReason, Vitest } from 'vitest/node';
import { faultsOfPromises, nodesPage, readPromises, securityPage } from '../docs/promises.ts';
import { citationsOf, faultsOf, isWhole } from '../requirements/citations.ts';
import { closingLine, countRun, failuresOf } from './closing-line.ts';

/**
 * Ends the run's output with a line for each failure and `N passed, N failed`, whatever other reporters and the coverage print.
 * A requirement that a whole run did not test where it should is a failure of the run, and so is a test that the page on security or on
 * faults of nodes names and its file has not.
 */
export default class ClosingLineReporter implements Reporter {
  #vitest: Vitest | undefined;

  onInit(vitest: Vitest): void {
    this.#vitest = vitest;
  }

  async onTestRunEnd(
    testModules: readonly TestModule[],
    unhandledErrors: readonly SerializedError[],
    reason: TestRunEndReason,
  ): Promise<void> {
    const isJudged =
      // Elsewhere some tests cannot run: test/tooling/systems.ts.
      process.platform === 'linux' &&
      reason !== 'interrupted' &&
      this.#vitest?.config.testNamePattern === undefined &&
      (await isWhole(testModules));
    const promises = [securityPage, nodesPage].flatMap((page) => readPromises(page));
    const faults = [
      ...faultsOfPromises(promises, testModules, isJudged),
      ...(isJudged ? faultsOf(citationsOf(testModules)) : []),
    ];
    const counts = countRun(testModules, unhandledErrors.length + faults.length);
    if (faults.length > 0) process.exitCode = 1;
    // Only at exit has everything else been printed; writes to files, pipes and terminals are complete there.
    const failures = [
      ...failuresOf(testModules),
      ...unhandledErrors.map(({ message }) => `outside of any test: ${message}`),
      ...faults,
    ];
    process.once('exit', () => {
      for (const failure of failures) process.stdout.write(`FAILED: ${failure}\n`);
      process.stdout.write(`\n${closingLine(counts)}\n`);
    });
  }
}
