import { describe, expect, it } from 'vitest';
import { closingLine, countRun, failuresOf, type FinishedModule } from './closing-line.ts';

function finished(states: string[], errors: Error[] = [], suites: Error[][] = []): FinishedModule {
  const thrown = [new Error('expected 1 to be 2\n  at somewhere')];
  return {
    relativeModuleId: 'test/some.test.ts',
    errors: () => errors,
    children: {
      allTests: () =>
        states.map((state, index) => ({
          fullName: `a suite > test ${index + 1}`,
          result: () => ({ state, errors: state === 'failed' ? thrown : undefined }),
        })),
      allSuites: () =>
        suites.map((suiteErrors) => ({ fullName: 'a suite', errors: () => suiteErrors })),
    },
  };
}

describe('the summary line of a test run', () => {
  it('counts every test of every file by its result', () => {
    const counts = countRun([finished(['passed', 'failed']), finished(['passed', 'skipped'])], 0);
    expect(closingLine(counts)).toBe('2 passed, 1 failed, 1 skipped');
  });

  it('omits skipped tests if there are none', () => {
    expect(closingLine(countRun([finished(['passed'])], 0))).toBe('1 passed, 0 failed');
  });

  it('counts a file that fails to load as a failure', () => {
    expect(countRun([finished([], [new Error('no such module')])], 0).failed).toBe(1);
  });

  it('counts a failing hook of a suite as a failure', () => {
    expect(countRun([finished(['skipped'], [], [[new Error('beforeAll')], []])], 0).failed).toBe(1);
  });

  it('counts errors outside any test as failures', () => {
    expect(countRun([finished(['passed'])], 2).failed).toBe(2);
  });
});

describe('the lines before the summary', () => {
  it('name each failed test with the first line of its error', () => {
    const modules = [
      finished(['passed', 'failed']),
      finished([], [new Error('no such module')]),
      finished(['skipped'], [], [[new Error('beforeAll')], []]),
    ];
    expect(failuresOf(modules)).toEqual([
      'test/some.test.ts > a suite > test 2: expected 1 to be 2',
      'test/some.test.ts: no such module',
      'test/some.test.ts > a suite: beforeAll',
    ]);
  });
});
