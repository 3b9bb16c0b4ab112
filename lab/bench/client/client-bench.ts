/**
 * `npm run lab -- bench --client`: our client and the official ones against one server, with a
 * minimal client as floor. Each runs in its own processes, alternately, and measures its own costs.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import type { Metric, Sample } from '../measures/measure.ts';
import { circumstances, loadNow, quietLoad, rowsOf } from '../results.ts';
import type { Results } from '../results.ts';
import { floorName, ourName } from '../servers.ts';

interface ClientSizes {
  readonly rounds: number;
  /** Connections opened per round, each in its own process. */
  readonly connects: number;
  readonly warmUp: number;
  readonly sequential: number;
  readonly calls: number;
  readonly atOnce: number;
  readonly pending: number;
}

const full: ClientSizes = {
  rounds: 5,
  connects: 5,
  warmUp: 5_000,
  sequential: 5_000,
  calls: 20_000,
  atOnce: 20_000,
  pending: 10_000,
};

const extents = {
  full,
  quick: { ...full, rounds: 2, connects: 3, warmUp: 3_000, sequential: 2_000, calls: 10_000 },
  smoke: {
    rounds: 1,
    connects: 1,
    warmUp: 10,
    sequential: 10,
    calls: 100,
    atOnce: 300,
    pending: 100,
  },
} satisfies { readonly [extent: string]: ClientSizes };

/** One HTTP call takes as long as this many stdio calls. */
const httpShare = 4;

/** In measuring order. */
const subjects = [floorName, ourName, 'mcp-actors-dispatcher', 'sdk-1', 'sdk-2'] as const;
const packages = { 'sdk-1': '@modelcontextprotocol/sdk', 'sdk-2': '@modelcontextprotocol/client' };

/** Transports measured, each in its own process. */
const ways = [
  'connect',
  'stdio',
  'structured',
  'tasks',
  'enveloped',
  'lists',
  'http',
  'http-enveloped',
] as const;
type Way = (typeof ways)[number];

/** Transports a client does not support. */
const lacking: { readonly [subject: string]: readonly Way[] } = {
  'mcp-actors-dispatcher': ['connect', 'stdio', 'structured', 'tasks', 'enveloped', 'lists'],
  'sdk-1': ['enveloped', 'lists', 'http-enveloped'],
  'sdk-2': ['tasks'],
};

const cost = (key: string, title: string, unit: 'µs' | 'B' | 'ms' = 'µs'): Metric => ({
  key,
  title,
  unit,
  isRatio: true,
});

const metrics: { readonly [way in Way]: readonly Metric[] } = {
  connect: [
    cost('connect.cpu', 'from connect to ready, CPU', 'ms'),
    cost('connect.ms', 'from connect to ready', 'ms'),
  ],
  stdio: [
    cost('call.1.cpu', 'a call, 1 in flight, CPU'),
    cost('call.256.cpu', 'a call, 256 in flight, CPU'),
    cost('call.atOnce.cpu', 'a call, all at once, CPU'),
    cost('pending.bytes', 'live heap per pending call', 'B'),
  ],
  structured: [cost('structured.256.cpu', 'a structured result, checked, 256 in flight, CPU')],
  tasks: [cost('task.256.cpu', 'a tool called as a task, and its result, 256 in flight, CPU')],
  enveloped: [
    cost('enveloped.1.cpu', '2026-07-28: a call, 1 in flight, CPU'),
    cost('enveloped.256.cpu', '2026-07-28: a call, 256 in flight, CPU'),
  ],
  lists: [cost('list.256.cpu', '2026-07-28: a list that is known, CPU')],
  http: [
    cost('http.1.cpu', 'over HTTP: a call, 1 in flight, CPU'),
    cost('http.64.cpu', 'over HTTP: a call, 64 in flight, CPU'),
  ],
  'http-enveloped': [
    cost('http-enveloped.1.cpu', '2026-07-28 over HTTP: a call, 1 in flight, CPU'),
    cost('http-enveloped.64.cpu', '2026-07-28 over HTTP: a call, 64 in flight, CPU'),
  ],
};

/** Metrics shown in the chart. */
export const chartedOfClients = [
  'connect.cpu',
  'call.1.cpu',
  'call.256.cpu',
  'call.atOnce.cpu',
  'pending.bytes',
  'enveloped.256.cpu',
  'http.64.cpu',
];

export interface ClientBench {
  readonly results: Results;
  /** True to update the clients' part of docs/performance.md, its chart and its data. */
  readonly publish: boolean;
}

/**
 * Parses the options of the client benchmark.
 *
 * @param args command line without `--client`
 * @throws {Error} if an argument is invalid
 */
export function readClientOptions(args: readonly string[]) {
  const { values } = parseArgs({
    args: [...args],
    options: {
      quick: { type: 'boolean', default: false },
      smoke: { type: 'boolean', default: false },
      publish: { type: 'boolean', default: false },
      rounds: { type: 'string' },
      ways: { type: 'string', default: ways.join(',') },
    },
  });
  return { ...values, ways: values.ways.split(',').map(wayOf) };
}

/**
 * Measures the clients.
 *
 * @param args command line without `--client`
 * @throws {Error} if a client misbehaved
 */
export function benchClients(args: readonly string[]): ClientBench {
  const options = readClientOptions(args);
  const loadBefore = loadNow();
  if (loadBefore > quietLoad) {
    const load = loadBefore.toFixed(2);
    process.stderr.write(`The machine is busy (load ${load}): wall times are not to be trusted\n`);
  }
  const sizes = extents[options.smoke ? 'smoke' : options.quick ? 'quick' : 'full'];
  const rounds =
    options.rounds === undefined ? sizes.rounds : Math.max(1, Number(options.rounds) || 1);
  const wanted = options.ways;
  const samples = new Map<string, Sample[]>();
  for (let round = 1; round <= rounds; round++) {
    for (const way of wanted) {
      process.stderr.write(`round ${round}: ${way}\n`);
      const times = way === 'connect' ? sizes.connects : 1;
      for (let time = 0; time < times; time++) {
        for (const subject of subjects) {
          if (lacking[subject]?.includes(way)) continue;
          const key = `${way} ${subject}`;
          const sample = measured(subject, way, sizesFor(way, sizes));
          samples.set(key, [...(samples.get(key) ?? []), sample]);
        }
      }
    }
  }
  const measures = wanted.map((way) => ({ name: way, metrics: metrics[way] }));
  const outcomes = wanted.flatMap((way) =>
    subjects.map((server) => ({
      server,
      measure: way,
      applies: !lacking[server]?.includes(way),
      samples: samples.get(`${way} ${server}`) ?? [],
      failure: undefined,
    })),
  );
  const versions = Object.fromEntries(subjects.map((subject) => [subject, versionOf(subject)]));
  return {
    results: {
      circumstances: circumstances(loadBefore, versions),
      rows: rowsOf(measures, outcomes),
      failures: [],
    },
    publish: options.publish,
  };
}

function wayOf(name: string): Way {
  const way = ways.find((each) => each === name);
  if (way) return way;
  throw new Error(`There is no way "${name}"; there are ${ways.join(', ')}`);
}

function sizesFor(way: Way, sizes: ClientSizes): ClientSizes {
  if (!way.startsWith('http')) return sizes;
  const { warmUp, sequential, calls } = sizes;
  const fewer = (count: number): number => Math.ceil(count / httpShare);
  return {
    ...sizes,
    warmUp: fewer(warmUp),
    sequential: fewer(sequential),
    calls: fewer(calls),
  };
}

/** @throws {Error} if the client misbehaved */
function measured(subject: string, way: Way, sizes: ClientSizes): Sample {
  const host = fileURLToPath(new URL('host.mjs', import.meta.url));
  // Over HTTP, the official clients warn about their listeners on each call after the 1,500th.
  const args = ['--expose-gc', '--no-warnings', host, subject, way, JSON.stringify(sizes)];
  const stdio = ['ignore', 'pipe', 'inherit'] as const;
  const text = execFileSync(process.execPath, args, { encoding: 'utf8', stdio: [...stdio] });
  return JSON.parse(text) as Sample;
}

function versionOf(subject: string): string | undefined {
  if (subject === floorName) return undefined;
  const name = packages[subject as keyof typeof packages];
  const path = subject.startsWith(ourName) ? 'package.json' : `node_modules/${name}/package.json`;
  const manifest = readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8');
  return (JSON.parse(manifest) as { readonly version: string }).version;
}
