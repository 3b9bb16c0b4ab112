/**
 * Three nodes in storms. An ordinary run has the calm one alone; `npm run storms` has all weathers and many seeds, and takes its
 * minutes.
 */
import { beforeEach, expect, test } from 'vitest';
import { needsRedis } from '../http/nodes/redis-server.ts';
import { storm } from './storm.ts';
import { weathers } from './weather.ts';

beforeEach(needsRedis);

const { STORM_SEEDS, STORM_WEATHER, STORM_LONGEST_MS: longest = '4000' } = process.env;
const seeds = STORM_SEEDS ?? '1';
const only = STORM_WEATHER ?? (STORM_SEEDS === undefined ? 'calm' : undefined);

const [first = 1, last = first] = seeds.split('-').map(Number);
const seedsToRun = Array.from({ length: last - first + 1 }, (_, index) => first + index);
const chosen = weathers.filter((weather) => only === undefined || weather === only);

test.for(chosen.flatMap((weather) => seedsToRun.map((seed) => ({ weather, seed }))))(
  'in a storm, no promise is broken: $weather, seed $seed',
  { timeout: 180_000 },
  async ({ weather, seed }) => {
    const history = await storm({ seed, weather, longestMs: Number(longest) });
    expect(history.violations, history.report).toEqual([]);
  },
);
