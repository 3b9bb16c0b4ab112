/**
 * Three nodes in storms. An ordinary run has three of them; `npm run storms` has all weathers and many seeds, and takes its
 * minutes.
 */
import { beforeEach, expect, test } from 'vitest';
import { needsRedis } from '../http/nodes/redis-server.ts';
import { storm } from './storm.ts';
import type { Weather } from './weather.ts';

beforeEach(needsRedis);

test.each<[Weather, number]>([
  ['calm', 1],
  ['the connections of Redis are cut', 2],
  ['a node is killed', 3],
])(
  'in a storm, no promise is broken: %s, seed %d',
  async (weather, seed) => {
    const history = await storm({ seed, weather, longestMs: 1000 });
    expect(history.violations, history.report).toEqual([]);
  },
  180_000,
);
