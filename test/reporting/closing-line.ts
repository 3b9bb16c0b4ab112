/** What a run came to. `failed` includes files that could not be loaded and errors outside any test. */
export interface RunCounts {
  passed: number;
  failed: number;
  skipped: number;
}

/** The part of a finished test file that counts; vitest's `TestModule` has this shape. */
export interface FinishedModule {
  errors(): readonly unknown[];
  children: {
    allTests(): Iterable<{ result(): { state: string } }>;
    allSuites(): Iterable<{ errors(): readonly unknown[] }>;
  };
}

/**
 * Counts a run's results.
 * @param unhandledErrors how many errors no test or file accounts for
 */
export function countRun(modules: readonly FinishedModule[], unhandledErrors: number): RunCounts {
  const counts: RunCounts = { passed: 0, failed: unhandledErrors, skipped: 0 };
  for (const module of modules) {
    for (const test of module.children.allTests()) {
      const { state } = test.result();
      if (state === 'passed') counts.passed += 1;
      else if (state === 'failed') counts.failed += 1;
      else counts.skipped += 1;
    }
    const broken = [module, ...module.children.allSuites()];
    counts.failed += broken.filter((task) => task.errors().length > 0).length;
  }
  return counts;
}

/** `N passed, N failed`, and `, N skipped` where any was. */
export function closingLine({ passed, failed, skipped }: RunCounts): string {
  const line = `${passed} passed, ${failed} failed`;
  return skipped === 0 ? line : `${line}, ${skipped} skipped`;
}
