/**
 * `npm run lab -- storms`: storms with more seeds than the tests use. Each violation is printed
 * with its surrounding history.
 */
import { parseArgs } from 'node:util';
import { hasRedis } from '../../packages/nodes/test/redis-server.ts';
import { storm } from './storm.ts';
import { weathers } from './weather.ts';
import type { Weather } from './weather.ts';
import build from '../../test/tooling/build.setup.ts';

const usage = `Usage: npm run lab -- storms [--seeds FIRST-LAST] [--weather NAME] [--longest MS] [--at-once N]

  --seeds FIRST-LAST  Which storms, by their seeds. Default: 1-500.
  --weather NAME      Only this one. Default: all of them in turn, one for each seed.
  --longest MS        How long a fault lasts at the most. Default: 30000.
  --at-once N         How many storms blow at once. Default: 1.

Weathers: ${weathers.join(', ')}

Needs a redis-server on the PATH, or in REDIS_SERVER.
`;

function refuse(message: string): never {
  process.stderr.write(`${message}\n\n${usage}`);
  process.exit(2);
}

function options() {
  try {
    return parseArgs({
      options: {
        seeds: { type: 'string', default: '1-500' },
        weather: { type: 'string' },
        longest: { type: 'string', default: '30000' },
        'at-once': { type: 'string', default: '1' },
        help: { type: 'boolean' },
      },
    }).values;
  } catch (error) {
    return refuse((error as Error).message);
  }
}

const { seeds, weather, longest, help, 'at-once': atOnce } = options();
if (help === true) {
  process.stdout.write(usage);
  process.exit(0);
}
if (!/^\d+(-\d+)?$/.test(seeds)) refuse(`--seeds is ${seeds}, and not as 1-20`);
if (!(Number(longest) >= 500)) refuse(`--longest is ${longest}, and not 500 ms or more`);
if (!(Number(atOnce) >= 1)) refuse(`--at-once is ${atOnce}, and not 1 or more`);
const chosen = weathers.filter((each) => weather === undefined || each === weather);
if (chosen.length === 0) refuse(`There is no weather "${weather}"`);
if (!hasRedis()) refuse('There is no redis-server on the PATH, and REDIS_SERVER names none');

const [first = 1, last = first] = seeds.split('-').map(Number);
const counts = new Map(chosen.map((each) => [each, { whole: 0, broken: 0 }]));
const waiting = Array.from({ length: last - first + 1 }, (_, index) => {
  const seed = first + index;
  return { weather: chosen[seed % chosen.length]!, seed };
});

async function blow({ weather, seed }: { weather: Weather; seed: number }): Promise<void> {
  const began = performance.now();
  const history = await storm({ seed, weather, longestMs: Number(longest) });
  const took = `${((performance.now() - began) / 1000).toFixed(0)} s`;
  const isWhole = history.violations.length === 0;
  const count = counts.get(weather);
  if (count) count[isWhole ? 'whole' : 'broken']++;
  const what = `${weather}, seed ${seed}, ${took}`;
  process.stdout.write(isWhole ? `whole: ${what}\n` : `BROKEN: ${what}\n${history.report}\n`);
}

await build();
await Promise.all(
  Array.from({ length: Number(atOnce) }, async () => {
    for (let next = waiting.shift(); next; next = waiting.shift()) await blow(next);
  }),
);
for (const [name, { whole, broken }] of counts) {
  process.stdout.write(`${name}: ${whole} whole, ${broken} broken\n`);
}
// Clients of an aborted storm are still retrying.
process.exit([...counts.values()].some(({ broken }) => broken > 0) ? 1 : 0);
