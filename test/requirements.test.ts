import { describe, expect, test } from 'vitest';
import { requirements } from './requirements.ts';
import type { Requirement } from './requirements.ts';
import { citationsOf, faultsOf, isWhole } from './requirements/citations.ts';
import type { RunModule } from './requirements/citations.ts';

test('requirement ids are unique', () => {
  const ids = requirements.map(({ id }) => id);
  expect(ids).toEqual([...new Set(ids)]);
});

/** A file of these tests, all of which were run and passed. */
function file(...names: readonly string[]): RunModule {
  return moduleOf(names.map((fullName) => ({ fullName, state: 'passed' })));
}

function moduleOf(
  tests: readonly { readonly fullName: string; readonly state: string }[],
): RunModule {
  const allTests = () =>
    tests.map(({ fullName, state }) => ({ fullName, result: () => ({ state }) }));
  return { moduleId: '/test/some.test.ts', children: { allTests } };
}

function faultsIn(module: RunModule, ...rows: readonly Partial<Requirement>[]) {
  const common = { id: 'ROW-01', source: 'ours', text: 'It does.' };
  return faultsOf(
    citationsOf([module]),
    rows.map((row) => ({ ...common, ...row })),
  );
}

describe('a complete test run', () => {
  test('fails if no executed test cites a row', () => {
    expect(faultsIn(file('does [ROW-02]'), {}, { id: 'ROW-02' })).toEqual([
      'ROW-01 is cited by no test: It does.',
    ]);
    const skipped = moduleOf([{ fullName: 'does [ROW-01]', state: 'skipped' }]);
    expect(faultsIn(skipped, {})).toHaveLength(1);
    expect(faultsIn(file('does [ROW-01]'), {})).toEqual([]);
  });

  test('fails if a test cites an unknown row', () => {
    expect(faultsIn(file('does [ROW-01]', 'does [ROW-07]'), {})).toEqual([
      'ROW-07 is cited in /test/some.test.ts, and is no requirement',
    ]);
  });

  test('fails if a row is not tested over every relevant transport', () => {
    const run = (...transports: readonly string[]) =>
      file(...transports.map((name) => `it in '2025-11-25' over '${name}' > does [ROW-01]`));
    const row = { by: 'transport' } as const;
    expect(faultsIn(run('memory', 'stdio', 'SDK memory', 'SDK stdio'), row)).toEqual([]);
    expect(faultsIn(run('memory', 'SDK memory', 'SDK stdio'), row)).toEqual([
      'ROW-01 is tested by no test over stdio',
    ]);
    expect(faultsIn(run('memory', 'stdio'), { ...row, over: 'bytes' })).toEqual([]);
    expect(faultsIn(file('does [ROW-01]'), { ...row, apart: 'It has none.' })).toEqual([]);
  });

  test('fails if a row is not tested in every relevant revision', () => {
    const run = (...revisions: readonly string[]) =>
      file(...revisions.map((name) => `it in ${name} over memory > does [ROW-01]`));
    const row = { by: 'revision', since: '2025-03-26' } as const;
    expect(faultsIn(run('2025-03-26', '2025-06-18', '2025-11-25'), row)).toEqual([]);
    expect(faultsIn(run('2024-11-05', '2025-06-18', '2025-11-25'), row)).toEqual([
      'ROW-01 is tested by no test in 2025-03-26',
    ]);
  });

  test('fails if a row is not tested in every relevant combination of revision and transport', () => {
    const run = file(
      "it in '2025-03-26' over 'memory' > does [ROW-01]",
      "it in '2025-06-18' over 'stdio' > does [ROW-01]",
    );
    const row = { by: 'both', since: '2025-03-26', before: '2025-06-18', over: 'bytes' } as const;
    expect(faultsIn(run, row)).toEqual(['ROW-01 is tested by no test in 2025-03-26 over stdio']);
  });
});

test('ignores coverage of rows in a run of selected files', async () => {
  expect(await isWhole([file('does [LIFE-04]')])).toBe(false);
});
