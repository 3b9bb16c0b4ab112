import type { Reporter, SerializedError, TestModule } from 'vitest/node';
import { closingLine, countRun } from './closing-line.ts';

/** Ends the run's output with `N passed, N failed`, whatever other reporters and the coverage print. */
export default class ClosingLineReporter implements Reporter {
  onTestRunEnd(
    testModules: readonly TestModule[],
    unhandledErrors: readonly SerializedError[],
  ): void {
    const line = closingLine(countRun(testModules, unhandledErrors.length));
    // Only at exit has everything else been printed; writes to files, pipes and terminals are complete there.
    process.once('exit', () => {
      process.stdout.write(`\n${line}\n`);
    });
  }
}
