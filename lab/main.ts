/**
 * `npm run lab -- NAME [ARGUMENTS]`: runs a measurement or long check of the repository in its own
 * process. Lists them without a name.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

interface Experiment {
  readonly about: string;
  /** Arguments for Node. */
  readonly args: readonly string[];
  /** Default environment variables. */
  readonly env?: NodeJS.ProcessEnv;
  /** True if it needs the output of `npm run build`. For tests, Vitest's global setup builds. */
  readonly isOfBuilt?: boolean;
}

const root = fileURLToPath(new URL('..', import.meta.url));

const program = (path: string): readonly string[] => ['--import', 'tsx', `lab/${path}`];
const tests = (...args: readonly string[]): readonly string[] => [
  'node_modules/vitest/vitest.mjs',
  'run',
  ...args,
];

const experiments: { readonly [name: string]: Experiment } = {
  bench: {
    about: 'compares servers, hosts, bridges and task stores with their peers and with a floor',
    args: program('bench/main.ts'),
    isOfBuilt: true,
  },
  micro: {
    about: 'measures the reader, the codec, the correlation and a session, in one process',
    args: program('bench/micro/main.ts'),
  },
  page: {
    about: "measures what the inspector's open page costs the command",
    args: program('bench/inspect-page.ts'),
    isOfBuilt: true,
  },
  sizes: {
    about: "measures the sizes of the workspace server's results",
    args: program('result-sizes.ts'),
    isOfBuilt: true,
  },
  way: {
    about: 'prints the functions that six messages pass, file by file, and holds the ceilings',
    args: ['--import', './lab/way/marks.mjs', 'lab/way/main.ts'],
  },
  conformance: {
    about: 'runs the public conformance suite against a server and a host, or through a bridge',
    args: program('conformance/main.ts'),
    isOfBuilt: true,
  },
  hosts: {
    about: 'tries the packed command with foreign hosts, client libraries and runtimes',
    args: program('hosts/main.ts'),
    isOfBuilt: true,
  },
  mutate: {
    about: 'breaks the code, one small fault at a time, and lists the faults that no test notices',
    args: program('mutate/main.ts'),
  },
  soak: {
    about: 'soaks the built command, or the bridge, in hostile traffic',
    args: program('soak/main.ts'),
    isOfBuilt: true,
  },
  storms: {
    about: 'puts three nodes and a real Redis through faults, and checks what the clients see',
    args: program('storms/main.ts'),
  },
  'task-storms': {
    about: 'does the same to nodes that share durable tasks: STORMS of them (100) from SEED (1)',
    args: tests('lab/test/task-storms', '--testTimeout', '0'),
    env: { STORMS: '100' },
  },
  kills: {
    about: 'kills servers with durable tasks at random: KILLS times (1000) for each store',
    args: tests('test/e2e/durable-kills.test.ts', '--testTimeout', '0'),
    env: { KILLS: '1000' },
  },
  long: {
    about: 'runs the tests that `npm test` takes a sample of, whole',
    args: tests(
      'left-streams',
      'redis-leftovers',
      'client/test/memory',
      'ownership-model',
      'lab/test/storms',
      'lab/test/task-storms',
      'tasks/test/crashes',
    ),
    env: { LONG: '1' },
  },
  slow: {
    about: 'runs tests on a machine made slow: every process starts late and stalls now and then',
    args: ['lab/slow-machine.cjs'],
  },
  'demo-picture': {
    about: 'runs the demo and draws the moving picture of the README',
    args: program('demo/main.ts'),
    isOfBuilt: true,
  },
  screenshots: {
    about: "takes the docs' pictures of the inspector",
    args: tests('packages/inspector/test/page/inspect-situations.test.ts'),
    env: { SCREENSHOTS: 'docs/images' },
  },
};

/** Names and descriptions, a line each. */
const listed = (): string => {
  const width = Math.max(...Object.keys(experiments).map(({ length }) => length));
  const lines = Object.entries(experiments).map(
    ([name, { about }]) => `  ${name.padEnd(width)}  ${about}`,
  );
  return `npm run lab -- NAME [ARGUMENTS]\n\n${lines.join('\n')}\n`;
};

/**
 * Runs Node at the repository's root in this terminal.
 *
 * @returns its exit code
 */
async function node(args: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<number> {
  const child = spawn(process.execPath, args, {
    cwd: root,
    env: { ...env, ...process.env },
    stdio: 'inherit',
  });
  // Ctrl+C reaches the child as well, which may use it to finish with partial results.
  process.on('SIGINT', () => undefined);
  process.on('SIGTERM', () => child.kill('SIGTERM'));
  const [code] = (await once(child, 'exit')) as [number | null];
  return code ?? 1;
}

async function main([name, ...args]: readonly string[]): Promise<number> {
  if (name === undefined) {
    process.stdout.write(listed());
    return 0;
  }
  const experiment = Object.hasOwn(experiments, name) ? experiments[name] : undefined;
  if (experiment === undefined) {
    process.stderr.write(
      `The lab has no ${JSON.stringify(name)}. Choose one of these:\n\n${listed()}`,
    );
    return 2;
  }
  if (experiment.isOfBuilt === true) {
    const code = await node(['scripts/build.mjs', '--bundle-only']);
    if (code !== 0) return code;
  }
  return node([...experiment.args, ...args], experiment.env);
}

process.exitCode = await main(process.argv.slice(2));
