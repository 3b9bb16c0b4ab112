/**
 * Three nodes in storms. An ordinary run has one storm, the nightly run three of each kind; `npm
 * run lab -- storms` has 500.
 */
import { beforeEach, expect, test } from 'vitest';
import { needsRedis } from '../../packages/nodes/test/redis-server.ts';
import { inLongRun } from '../../test/tooling/long-run.ts';
import { storm } from '../storms/storm.ts';
import { weathers } from '../storms/weather.ts';
import type { Weather } from '../storms/weather.ts';

beforeEach(needsRedis);

/** Three of each kind. */
const storms = weathers.flatMap((weather) =>
  [1, 2, 3].map((seed): [Weather, number] => [weather, seed]),
);

const chosen = inLongRun(storms, [['a node is killed', 3] as const]);

test.each(chosen)(
  'a storm breaks no guarantee: %s, seed %d',
  async (weather, seed) => {
    const history = await storm({ seed, weather, longestMs: 1000 });
    expect(history.violations, history.report).toEqual([]);
  },
  600_000,
);
