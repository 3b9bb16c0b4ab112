import { expect, test } from 'vitest';
import { goals } from '../../bench/goals.ts';
import { publishedPart } from '../../bench/page.ts';
import { stdioSuite } from '../../bench/suites.ts';

test.each(['stdio', 'http', 'client', 'tasks', 'bridge'] as const)(
  'docs/performance.md says of %s what the data beside it say',
  (suite) => {
    const { is, ought } = publishedPart(suite);
    expect(is).toBe(ought);
  },
);

test('each goal is one of a metric that the benchmark has', () => {
  const measured = new Set(
    stdioSuite.tasks.flatMap(({ metrics }) => metrics.map(({ key }) => key)),
  );
  expect(Object.keys(goals).filter((key) => !measured.has(key))).toEqual([]);
});
