/**
 * `npm run bench -- --client`: our client and the official ones before one server, and what a client costs at least. Each is measured in
 * processes of its own, in turns, and says what it spent itself.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { loadNow, quietLoad } from '../results.ts';

interface ClientSizes {
  readonly rounds: number;
  /** Connections that are opened in each round, a process for each. */
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

/** A call over HTTP costs so many over stdio. */
const httpShare = 4;

const ours = 'mcp-actors';
const floor = 'floor';
/** In the order in which they take their turns. */
const subjects = [floor, ours, 'sdk-1', 'sdk-2'] as const;
const packages = { 'sdk-1': '@modelcontextprotocol/sdk', 'sdk-2': '@modelcontextprotocol/client' };

/** The ways on which each is measured, a process for each. */
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

/** What a client has no way for. */
const lacking: { readonly [subject: string]: readonly Way[] } = {
  'sdk-1': ['enveloped', 'lists', 'http-enveloped'],
  'sdk-2': ['tasks'],
};

const metrics = [
  ['call.1.cpu', 'CPU per call, 1 in flight, µs'],
  ['call.256.cpu', 'CPU per call, 256 in flight, µs'],
  ['call.atOnce.cpu', 'CPU per call, all at once, µs'],
  ['pending.bytes', 'heap per pending call, bytes'],
  ['structured.256.cpu', 'a structured result, checked: CPU per call, 256 in flight, µs'],
  ['task.256.cpu', 'a tool called as a task, and its result: CPU, 256 in flight, µs'],
  ['enveloped.1.cpu', '2026-07-28: CPU per call, 1 in flight, µs'],
  ['enveloped.256.cpu', '2026-07-28: CPU per call, 256 in flight, µs'],
  ['list.256.cpu', '2026-07-28: CPU to give a list that is known, µs'],
  ['http.1.cpu', 'over HTTP: CPU per call, 1 in flight, µs'],
  ['http.64.cpu', 'over HTTP: CPU per call, 64 in flight, µs'],
  ['http-enveloped.1.cpu', '2026-07-28 over HTTP: CPU per call, 1 in flight, µs'],
  ['http-enveloped.64.cpu', '2026-07-28 over HTTP: CPU per call, 64 in flight, µs'],
  ['connect.cpu', "CPU from connect to ready, less the floor's, ms"],
  ['connect.ms', "from connect to ready, less the floor's, ms"],
] as const;

type Found = { readonly [metric: string]: number };

/**
 * Measures, and prints a table.
 *
 * @param args of the command line, `--client` not among them
 * @throws {Error} a client did something wrong
 */
export function benchClients(args: readonly string[]): void {
  const { values } = parseArgs({
    args: [...args],
    options: {
      quick: { type: 'boolean', default: false },
      smoke: { type: 'boolean', default: false },
      ways: { type: 'string', default: ways.join(',') },
    },
  });
  const loadBefore = loadNow();
  if (loadBefore > quietLoad) {
    const load = loadBefore.toFixed(2);
    process.stderr.write(`The machine is busy (load ${load}): wall times are not to be trusted\n`);
  }
  const sizes = extents[values.smoke ? 'smoke' : values.quick ? 'quick' : 'full'];
  const wanted = values.ways.split(',').map(wayOf);
  const found = new Map<string, Found[]>(subjects.map((subject) => [subject, []]));
  for (let round = 1; round <= sizes.rounds; round++) {
    for (const way of wanted) {
      process.stderr.write(`round ${round}: ${way}\n`);
      const times = way === 'connect' ? sizes.connects : 1;
      for (let time = 0; time < times; time++) {
        for (const subject of subjects) {
          if (lacking[subject]?.includes(way)) continue;
          found.get(subject)?.push(measured(subject, way, sizesFor(way, sizes)));
        }
      }
    }
  }
  process.stdout.write(`${tableOf(found)}\n`);
  const load = `load ${loadBefore.toFixed(2)} before, ${loadNow().toFixed(2)} after`;
  process.stdout.write(`\n${load}; Node ${process.version}\n`);
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

/** @throws {Error} the client did something wrong */
function measured(subject: string, way: Way, sizes: ClientSizes): Found {
  const host = fileURLToPath(new URL('host.mjs', import.meta.url));
  // The official clients warn of their listeners with each call after the 1,500th over HTTP.
  const args = ['--expose-gc', '--no-warnings', host, subject, way, JSON.stringify(sizes)];
  const stdio = ['ignore', 'pipe', 'inherit'] as const;
  const text = execFileSync(process.execPath, args, { encoding: 'utf8', stdio: [...stdio] });
  return JSON.parse(text) as Found;
}

function tableOf(found: ReadonlyMap<string, readonly Found[]>): string {
  const value = (subject: string, metric: string): number => {
    const all = (found.get(subject) ?? []).flatMap((each) => each[metric] ?? []);
    const middle = median(all);
    return metric.startsWith('connect.') && subject !== floor
      ? middle - value(floor, metric)
      : middle;
  };
  const shown = metrics.filter(([metric]) => !Number.isNaN(value(ours, metric)));
  const rows = shown.map(([metric, title]) => {
    const values = subjects.map((subject) => value(subject, metric));
    const theirs = values.slice(2).filter((each) => !Number.isNaN(each));
    const share = (values[1] ?? Number.NaN) / Math.min(...theirs);
    return [title, ...values.map(numberOf), share.toFixed(2)];
  });
  const head = ['', ...subjects.map(nameOf), 'ours : best of theirs'];
  const widths = head.map((_, column) =>
    Math.max(...[head, ...rows].map((row) => row[column]?.length ?? 0)),
  );
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, at) => (at === 0 ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0)))
      .join('  ')
      .trimEnd();
  return [head, ...rows].map(line).join('\n');
}

function nameOf(subject: string): string {
  const name = subject in packages ? packages[subject as keyof typeof packages] : undefined;
  if (name === undefined) return subject;
  const manifest = new URL(`../../node_modules/${name}/package.json`, import.meta.url);
  const { version } = JSON.parse(readFileSync(manifest, 'utf8')) as { readonly version: string };
  return `${subject} ${version}`;
}

function numberOf(value: number): string {
  return Number.isNaN(value) ? '–' : value.toFixed(value < 100 ? 1 : 0);
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length / 2;
  const upper = sorted[Math.floor(middle)] ?? Number.NaN;
  return Number.isInteger(middle) ? ((sorted[middle - 1] ?? Number.NaN) + upper) / 2 : upper;
}
