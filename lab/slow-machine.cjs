/**
 * Makes a machine slow for the processes of a test run, at no cost to others: each takes about a second to start, and stands still for up
 * to a quarter of one now and then, as on a machine with too little to run on. `npm run lab -- slow test/e2e` preloads it into all processes.
 */
const { ChildProcess, spawnSync } = require('node:child_process');
const { join } = require('node:path');
const { isMainThread } = require('node:worker_threads');

/** Milliseconds. */
const startMs = Number(process.env.SLOW_START_MS ?? 1000);
const stallMs = Number(process.env.SLOW_STALL_MS ?? 250);

const inherited = ['NODE_OPTIONS', 'SLOW_START_MS', 'SLOW_STALL_MS'];
const [, script = ''] = process.argv;
const isWorker = /vitest.dist.workers/.test(script);
/** What runs the tests is none of what they wait for. */
const isRunner = !isWorker && /vitest|npm|npx|build\.mjs|tsc/.test(script);

function standStill(ms) {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

/** Also into a process that is given an environment of its own. */
function handOn() {
  const { spawn } = ChildProcess.prototype;
  ChildProcess.prototype.spawn = function (options) {
    for (const name of inherited) {
      const isThere = options.envPairs?.some((pair) => pair.startsWith(`${name}=`));
      const value = process.env[name];
      if (isThere === false && value !== undefined) options.envPairs.push(`${name}=${value}`);
    }
    return spawn.call(this, options);
  };
}

/** With what there is at the start: tests replace timers. */
function stallNowAndThen({ setTimeout, Math: { random } } = globalThis) {
  const next = () => {
    const stall = () => {
      standStill(stallMs * random());
      next();
    };
    setTimeout(stall, 2 * stallMs * random()).unref();
  };
  next();
}

if (require.main === module) {
  const vitest = [join(__dirname, '../node_modules/vitest/vitest.mjs'), 'run'];
  const env = { ...process.env, NODE_OPTIONS: `--require ${JSON.stringify(__filename)}` };
  const options = { stdio: 'inherit', env };
  const { status } = spawnSync(process.execPath, [...vitest, ...process.argv.slice(2)], options);
  process.exitCode = status ?? 1;
} else if (isMainThread) {
  handOn();
  if (!isWorker && !isRunner) standStill(startMs * (0.5 + Math.random()));
  if (!isRunner) stallNowAndThen();
}
