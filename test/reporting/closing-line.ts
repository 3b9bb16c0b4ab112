/** What a run came to. `failed` includes files that could not be loaded and errors outside any test. */
export interface RunCounts {
  passed: number;
  failed: number;
  skipped: number;
}

interface ThrownError {
  message: string;
}

interface FinishedTest {
  fullName: string;
  result(): { state: string; errors?: readonly ThrownError[] | undefined };
}

interface FinishedSuite {
  fullName: string;
  errors(): readonly ThrownError[];
}

/** The part of a finished test file that counts; vitest's `TestModule` has this shape. */
export interface FinishedModule {
  relativeModuleId: string;
  errors(): readonly ThrownError[];
  children: { allTests(): Iterable<FinishedTest>; allSuites(): Iterable<FinishedSuite> };
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

/**
 * A line for each test, suite and file that failed: where it stands and its first error's first line.
 * Whoever reads only the end of a long log still learns what failed.
 */
export function failuresOf(modules: readonly FinishedModule[]): string[] {
  return modules.flatMap((module) => {
    const file = module.relativeModuleId;
    const tests = [...module.children.allTests()]
      .map((test) => ({ where: `${file} > ${test.fullName}`, ...test.result() }))
      .filter(({ state }) => state === 'failed')
      .map(({ where, errors }) => failure(where, errors));
    const suites = [...module.children.allSuites()]
      .filter((suite) => suite.errors().length > 0)
      .map((suite) => failure(`${file} > ${suite.fullName}`, suite.errors()));
    const own = module.errors();
    return own.length > 0 ? [failure(file, own), ...suites, ...tests] : [...suites, ...tests];
  });
}

function failure(where: string, errors: readonly ThrownError[] | undefined): string {
  const [first] = (errors?.[0]?.message ?? 'no error is known').split('\n');
  return `${where}: ${first}`;
}

/** `N passed, N failed`, and `, N skipped` where any was. */
export function closingLine({ passed, failed, skipped }: RunCounts): string {
  const line = `${passed} passed, ${failed} failed`;
  return skipped === 0 ? line : `${line}, ${skipped} skipped`;
}
