/**
 * Publishes results in the documentation: tables between two marks of the page, a chart, and the
 * data beside it.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { chartOf } from './chart.ts';
import { quietLoad } from './results.ts';
import type { Circumstances, Results } from './results.ts';
import { failuresOf, leadTableOf, tableOf } from './table.ts';

const docs = new URL('../../docs/', import.meta.url);
const page = new URL('performance.md', docs);
const end = '<!-- end -->';

/** A suite's part of the documentation. */
interface Place {
  /** Mark before the measured part of the page; an end mark follows it. */
  readonly begin: string;
  /** Path of the chart and the data without extension. */
  readonly files: string;
}

/** Suites that are measured and published together. */
export type Published = 'stdio' | 'http' | 'client' | 'tasks' | 'bridge';

const places: Readonly<Record<Published, Place>> = {
  stdio: { begin: '<!-- measured -->', files: 'performance' },
  http: { begin: '<!-- measured over HTTP -->', files: 'performance-http' },
  bridge: { begin: '<!-- measured bridges -->', files: 'performance-bridge' },
  client: { begin: '<!-- measured clients -->', files: 'performance-client' },
  tasks: { begin: '<!-- measured tasks -->', files: 'performance-tasks' },
};

/**
 * Replaces a suite's part of the page, its chart and its data.
 *
 * @param charted keys of the metrics in the chart
 * @throws {Error} if the page has no such part
 */
export function publish(results: Results, suite: Published, charted: readonly string[]): void {
  const { files } = places[suite];
  const text = readFileSync(page, 'utf8');
  const [before, , after] = partsOf(text, suite);
  writeFileSync(page, `${before}${measured(results, suite)}${after}`);
  if (charted.length > 0) writeFileSync(new URL(`${files}.svg`, docs), chartOf(results, charted));
  writeFileSync(new URL(`${files}.json`, docs), dataOf(results));
}

/** Current text of a suite's part, and the text generated from its data. */
export function publishedPart(suite: Published): { readonly is: string; readonly ought: string } {
  const data = readFileSync(new URL(`${places[suite].files}.json`, docs), 'utf8');
  const [, is] = partsOf(readFileSync(page, 'utf8'), suite);
  return { is, ought: measured(JSON.parse(data) as Results, suite) };
}

/**
 * Text before, in and after a suite's part.
 *
 * @throws {Error} if the page has no such part
 */
function partsOf(text: string, suite: Published): readonly [string, string, string] {
  const { begin } = places[suite];
  const from = text.indexOf(begin) + begin.length;
  const to = text.indexOf(end, from);
  if (from < begin.length || to === -1) {
    throw new Error(`docs/performance.md needs ${begin} and ${end}`);
  }
  return [text.slice(0, from), text.slice(from, to), text.slice(to)];
}

/** JSON with a line per metric, so that runs can be compared line by line. */
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

function measured(results: Results, suite: Published): string {
  const { circumstances, rows } = results;
  if (!rows.some(({ isRatio }) => isRatio)) {
    return `\n\n${[inWords(circumstances), tableOf(results), failuresOf(results)].join('\n\n')}\n\n`;
  }
  const part = [
    inWords(circumstances),
    `![Cost of each server as a multiple of the floor](${places[suite].files}.svg)`,
    'In parentheses: the ratio to the floor.',
    tableOf(results),
    'How much dearer each peer is than mcp-actors:',
    leadTableOf(results),
    'What failed:',
    failuresOf(results),
  ].join('\n\n');
  return `\n\n${part}\n\n`;
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
