/**
 * Three nodes in storms. An ordinary run has one of them, the long run of CI three; `npm run storms` has all weathers and many seeds,
 * and takes its minutes.
 */
import { beforeEach, expect, test } from 'vitest';
import { needsRedis } from '../http/nodes/redis-server.ts';
import { inLongRun } from '../tooling/long-run.ts';
import { storm } from './storm.ts';
import type { Weather } from './weather.ts';

beforeEach(needsRedis);

const storms: readonly [Weather, number][] = [
  ['a node is killed', 3],
  ['calm', 1],
  ['the connections of Redis are cut', 2],
];

test.each(storms.slice(0, inLongRun(3, 1)))(
  'in a storm, no promise is broken: %s, seed %d',
  async (weather, seed) => {
    const history = await storm({ seed, weather, longestMs: 1000 });
    expect(history.violations, history.report).toEqual([]);
  },
  600_000,
);
