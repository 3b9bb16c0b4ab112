import { expect, test } from 'vitest';
import { goals } from '../../bench/goals.ts';
import { publishedPart } from '../../bench/page.ts';
import { stdioSuite } from '../../bench/suites.ts';

test.each(['stdio', 'http', 'client', 'tasks', 'bridge'] as const)(
  'docs/performance.md matches the published data of %s',
  (suite) => {
    const { is, ought } = publishedPart(suite);
    expect(is).toBe(ought);
  },
);

test('every goal belongs to a metric of the benchmark', () => {
  const measured = new Set(
    stdioSuite.tasks.flatMap(({ metrics }) => metrics.map(({ key }) => key)),
  );
  expect(Object.keys(goals).filter((key) => !measured.has(key))).toEqual([]);
});
