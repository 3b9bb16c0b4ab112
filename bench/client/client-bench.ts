/**
 * `npm run bench -- --client`: our client and the official ones before one server over stdio. Each is measured in a process of
 * its own, in turns, and says what it spent itself.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { loadNow, quietLoad } from '../results.ts';

interface ClientSizes {
  readonly rounds: number;
  readonly warmUp: number;
  readonly sequential: number;
  readonly calls: number;
  readonly atOnce: number;
  readonly pending: number;
}

const extents = {
  full: {
    rounds: 5,
    warmUp: 5_000,
    sequential: 4_000,
    calls: 20_000,
    atOnce: 20_000,
    pending: 10_000,
  },
  quick: {
    rounds: 2,
    warmUp: 2_000,
    sequential: 2_000,
    calls: 10_000,
    atOnce: 20_000,
    pending: 5_000,
  },
  smoke: { rounds: 1, warmUp: 10, sequential: 10, calls: 100, atOnce: 300, pending: 100 },
} satisfies { readonly [extent: string]: ClientSizes };

const ours = 'mcp-actors';
const raw = 'raw';
/** In the order in which they take their turns. */
const subjects = [raw, ours, 'sdk-1', 'sdk-2'] as const;
const packages = { 'sdk-1': '@modelcontextprotocol/sdk', 'sdk-2': '@modelcontextprotocol/client' };

const metrics = [
  ['call.1.cpu', 'CPU per call, 1 in flight, µs'],
  ['call.256.cpu', 'CPU per call, 256 in flight, µs'],
  ['call.atOnce.cpu', 'CPU per call, all at once, µs'],
  ['pending.bytes', 'heap per pending call, bytes'],
  ['connect.cpu', 'CPU from connect to ready, less a bare launch, ms'],
  ['connect.ms', 'from connect to ready, less a bare launch, ms'],
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
    },
  });
  const loadBefore = loadNow();
  if (loadBefore > quietLoad) {
    const load = loadBefore.toFixed(2);
    process.stderr.write(`The machine is busy (load ${load}): wall times are not to be trusted\n`);
  }
  const sizes = extents[values.smoke ? 'smoke' : values.quick ? 'quick' : 'full'];
  const found = new Map<string, Found[]>(subjects.map((subject) => [subject, []]));
  for (let round = 1; round <= sizes.rounds; round++) {
    for (const subject of subjects) {
      process.stderr.write(`round ${round}: ${subject}\n`);
      found.get(subject)?.push(measured(subject, sizes));
    }
  }
  process.stdout.write(`${tableOf(found)}\n`);
}

/** @throws {Error} the client did something wrong */
function measured(subject: string, sizes: ClientSizes): Found {
  const host = fileURLToPath(new URL('host.mjs', import.meta.url));
  const args = ['--expose-gc', host, subject, JSON.stringify(sizes)];
  const stdio = ['ignore', 'pipe', 'inherit'] as const;
  const text = execFileSync(process.execPath, args, { encoding: 'utf8', stdio: [...stdio] });
  return JSON.parse(text) as Found;
}

function tableOf(found: ReadonlyMap<string, readonly Found[]>): string {
  const shown = subjects.filter((subject) => subject !== raw);
  const value = (subject: string, metric: string): number => {
    const all = (found.get(subject) ?? []).map((each) => each[metric] ?? Number.NaN);
    const middle = median(all);
    return metric.startsWith('connect.') && subject !== raw ? middle - value(raw, metric) : middle;
  };
  const rows = metrics.map(([metric, title]) => {
    const values = shown.map((subject) => value(subject, metric));
    const best = Math.min(...values.slice(1));
    const share = (values[0] ?? Number.NaN) / best;
    return [title, ...values.map((each) => each.toFixed(each < 100 ? 1 : 0)), share.toFixed(2)];
  });
  const head = ['', ...shown.map(nameOf), 'ours : best of theirs'];
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

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length / 2;
  const upper = sorted[Math.floor(middle)] ?? Number.NaN;
  return Number.isInteger(middle) ? ((sorted[middle - 1] ?? Number.NaN) + upper) / 2 : upper;
}
