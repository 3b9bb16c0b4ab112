/** Writes what a run has found into the documentation: the tables between two marks of the page, a chart and the data beside it. */
import { readFileSync, writeFileSync } from 'node:fs';
import { chartOf } from './chart.ts';
import { quietLoad } from './results.ts';
import type { Circumstances, Results } from './results.ts';
import type { Suite } from './suites.ts';
import { failuresOf, leadTableOf, tableOf } from './table.ts';

const docs = new URL('../docs/', import.meta.url);
const page = new URL('performance.md', docs);
const end = '<!-- end -->';

/** What of the documentation a suite's results are. */
interface Place {
  /** Stands before the measured part of the page; after it stands the end mark. */
  readonly begin: string;
  /** The chart and the data, without their extension. */
  readonly files: string;
}

const places: Readonly<Record<Suite['name'], Place>> = {
  stdio: { begin: '<!-- measured -->', files: 'performance' },
  http: { begin: '<!-- measured over HTTP -->', files: 'performance-http' },
};

/**
 * Replaces the measured part of the page that is the suite's.
 *
 * @throws {Error} the page has no such part
 */
export function publish(results: Results, suite: Suite): void {
  const { begin, files } = places[suite.name];
  const text = readFileSync(page, 'utf8');
  const from = text.indexOf(begin);
  const to = text.indexOf(end, from);
  if (from === -1 || to === -1) throw new Error(`docs/performance.md needs ${begin} and ${end}`);
  const part = measured(results, `${files}.svg`);
  writeFileSync(page, `${text.slice(0, from)}${begin}\n\n${part}\n\n${text.slice(to)}`);
  writeFileSync(new URL(`${files}.svg`, docs), chartOf(results, suite.charted));
  writeFileSync(new URL(`${files}.json`, docs), dataOf(results));
}

/** As JSON with a line per metric, so that two runs can be compared line by line. */
function dataOf({ circumstances, rows, failures }: Results): string {
  const lines = rows.map((row) => `    ${JSON.stringify(row)}`).join(',\n');
  return `{
  "circumstances": ${JSON.stringify(circumstances)},
  "failures": ${JSON.stringify(failures)},
  "rows": [
${lines}
  ]
}
`;
}

function measured(results: Results, chart: string): string {
  return [
    inWords(results.circumstances),
    `![Cost of each server as a multiple of the floor](${chart})`,
    'In parentheses: the ratio to the floor.',
    tableOf(results),
    'How much dearer each peer is than mcp-actors:',
    leadTableOf(results),
    'What failed:',
    failuresOf(results),
  ].join('\n\n');
}

function inWords(facts: Circumstances): string {
  const { date, command, node, platform, processors, memoryGiB, loadBefore, versions } = facts;
  const packages = Object.entries(versions)
    .flatMap(([name, version]) => (version === undefined ? [] : `${name} ${version}`))
    .join(', ');
  const load = `The load average before the run was ${loadBefore.toFixed(2)}`;
  const caveat =
    loadBefore > quietLoad
      ? `**${load}: something else was running. Wall times and latencies are rough; CPU per message and the ratios are what can be compared.**`
      : `${load}.`;
  const rough = command.includes('--quick')
    ? " It was a quick run: costs of a few microseconds contain much of the compiler's work, and are rough."
    : '';
  return `Measured on ${date} with \`${command}\`: Node ${node}, ${platform}, ${processors} processors, ${memoryGiB} GiB. ${packages}. ${caveat}${rough}`;
}
