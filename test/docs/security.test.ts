import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { faultsOfPromises, nodesPage, readPromises, securityPage } from './promises.ts';
import type { RunModule } from '../requirements/citations.ts';

const root = join(import.meta.dirname, '../..');

describe.each([securityPage, nodesPage])('$page', (page) => {
  test.each(readPromises(page).map(({ text, tests }) => [text.slice(0, 60), tests]))(
    'cites existing tests for its promise: %s',
    (_, tests) => {
      expect(tests).not.toEqual([]);
      const files = tests.map(({ file }) => file);
      expect(files.filter((file) => !file.endsWith('.test.ts'))).toEqual([]);
      expect(files.filter((file) => !existsSync(join(root, file)))).toEqual([]);
    },
  );
});

describe('the page on security', () => {
  test('has promises for each of its threats', () => {
    expect(readPromises(securityPage).length).toBeGreaterThan(20);
  });

  test('cites each test by file and title', () => {
    const item = (tests: string) => `## Against rain\n\n- It is dry,\n  inside.\n  - ${tests}\n`;
    const [promise] = readPromises(
      securityPage,
      `# A page\n\n- no promise\n\n${item('[test/a.test.ts](../test/a.test.ts): `is dry`, `… is\n    not wet`')}\n## Not\n\n- no promise`,
    );
    expect(promise).toEqual({
      from: securityPage,
      text: 'It is dry,\n  inside.',
      tests: [
        { file: 'test/a.test.ts', title: 'is dry' },
        { file: 'test/a.test.ts', title: '… is not wet' },
      ],
    });
    expect(() =>
      readPromises(securityPage, item('[test/a.test.ts](../test/b.test.ts): `is dry`')),
    ).toThrow('no test is named by');
  });
});

describe('the check of cited tests', () => {
  const file = 'test/a.test.ts';

  function run(...tests: readonly (readonly [fullName: string, state?: string])[]): RunModule {
    const allTests = () =>
      tests.map(([fullName, state = 'passed']) => ({ fullName, result: () => ({ state }) }));
    return { moduleId: join(root, file), children: { allTests } };
  }

  const faultsIn = (title: string, modules: readonly RunModule[], isWhole = false) =>
    faultsOfPromises(
      [{ from: securityPage, text: 'It is dry.', tests: [{ file, title }] }],
      modules,
      isWhole,
    );

  test('collects titles of tests and of their describe blocks', () => {
    const modules = [run(['a roof over "stdio" > is dry (in rain)'])];
    for (const title of [
      'is dry (in rain)',
      'a roof over …',
      'a roof over "stdio" > is dry (in rain)',
      'is dry (…)',
    ])
      expect(faultsIn(title, modules, true)).toEqual([]);
  });

  test.each(['is dry', 'is dry (in snow)', 'roof', 'is dry .in rain.'])(
    'fails for an unknown title: %s',
    (title) => {
      expect(faultsIn(title, [run(['a roof > is dry (in rain)'])])).toEqual([
        `docs/security.md names a test that ${file} has not: ${title}`,
      ]);
    },
  );

  test('ignores files that were not run, unless all should have run', () => {
    expect(faultsIn('is dry', [])).toEqual([]);
    expect(faultsIn('is dry', [], true)).toEqual([
      `docs/security.md names a test that ${file} has not: is dry`,
      'docs/security.md promises what no test has tested: It is dry.',
    ]);
  });

  test('fails if all tests of a promise were skipped in a full run', () => {
    expect(faultsIn('is dry', [run(['is dry', 'skipped'])])).toEqual([]);
    expect(faultsIn('is dry', [run(['is dry', 'skipped'])], true)).toEqual([
      'docs/security.md promises what no test has tested: It is dry.',
    ]);
    expect(faultsIn('is dry', [run(['is dry', 'skipped'], ['is dry'])], true)).toEqual([]);
  });
});
