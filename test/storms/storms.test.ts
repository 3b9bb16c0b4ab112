/** Three nodes in storms. `npm run storms -- --help` runs more of them. */
import { beforeEach, expect, test } from 'vitest';
import { needsRedis } from '../http/nodes/redis-server.ts';
import { storm } from './storm.ts';
import { weathers } from './weather.ts';

beforeEach(needsRedis);

const { STORM_SEEDS: seeds = '1', STORM_WEATHER: only, STORM_LONGEST_MS: longest } = process.env;

const [first = 1, last = first] = seeds.split('-').map(Number);
const seedsToRun = Array.from({ length: last - first + 1 }, (_, index) => first + index);
const chosen = weathers.filter((weather) => only === undefined || weather === only);

test.for(chosen.flatMap((weather) => seedsToRun.map((seed) => ({ weather, seed }))))(
  'in a storm, no promise is broken: $weather, seed $seed',
  { timeout: 180_000 },
  async ({ weather, seed }) => {
    const history = await storm({
      seed,
      weather,
      sessions: 4,
      quietMs: 1500,
      longestMs: Number(longest ?? 4000),
    });
    expect(history.violations, history.report).toEqual([]);
  },
);
