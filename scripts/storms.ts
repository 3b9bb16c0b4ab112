/** `npm run storms`: storms of more seeds than the tests have. Each that breaks a promise prints its history around it. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { parseArgs } from 'node:util';
import { weathers } from '../test/storms/weather.ts';

const usage = `Usage: npm run storms -- [--seeds FIRST-LAST] [--weather NAME] [--longest MS]

  --seeds FIRST-LAST  Which storms, by their seeds. Default: 1-20.
  --weather NAME      Only this one. Default: all of them, each with each seed.
  --longest MS        How long a fault lasts at the most. Default: 30000.

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
        seeds: { type: 'string', default: '1-20' },
        weather: { type: 'string' },
        longest: { type: 'string', default: '30000' },
        help: { type: 'boolean' },
      },
    }).values;
  } catch (error) {
    return refuse((error as Error).message);
  }
}

const { seeds, weather, longest, help } = options();
if (help === true) {
  process.stdout.write(usage);
  process.exit(0);
}
if (!/^\d+(-\d+)?$/.test(seeds)) refuse(`--seeds is ${seeds}, and not as 1-20`);
if (!(Number(longest) >= 500)) refuse(`--longest is ${longest}, and not 500 ms or more`);
if (weather !== undefined && !weathers.some((each) => each === weather)) {
  refuse(`There is no weather "${weather}"`);
}

const run = spawn('npx', ['vitest', 'run', 'test/storms', '--bail', '1'], {
  stdio: 'inherit',
  env: {
    ...process.env,
    STORM_SEEDS: seeds,
    STORM_LONGEST_MS: longest,
    ...(weather !== undefined && { STORM_WEATHER: weather }),
  },
});
const [code] = (await once(run, 'exit')) as [number | null];
process.exitCode = code ?? 1;
