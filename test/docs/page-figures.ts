/** The figures with a unit in the prose of the pages: `30 s`, `16 MiB`, `five seconds`. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pages, repository } from './pages.ts';

/** Records of observations and measurements, which have no source in code. */
const records = new Set([
  'docs/maintaining/rough-edges.md',
  'docs/maintaining/package-notes.md',
  'docs/maintaining/benchmarks.md',
  'docs/performance.md',
]);

/** Pages whose figures have sources. */
export const figurePages: readonly string[] = pages.filter(
  (page) =>
    /^(?:docs\/(?:maintaining\/)?[^/]+|packages\/[^/]+\/README|README)\.md$/.test(page) &&
    !records.has(page),
);

const units = [
  'ms|µs|s|seconds?|min|minutes?|h|hours?|days?|weeks?|months?',
  '[KMG]i?B|kB|bytes?|bits?|%|pixels?',
  '(?:Ki )?characters?|Ki|levels?|values?|lines?|files?|times|rounds?|attempts?|redirects?',
  'requests?|connections?|sessions?|events?|messages?|pages?|entries|globs?|searches|names?|rows?',
].join('|');
const words =
  'three|four|five|six|seven|eight|nine|ten|twelve|sixteen|twenty|thirty|forty|fifty|a hundred|a thousand';
const figure = new RegExp(
  String.raw`(?<![\w.,\-/#:×$])(?<count>\d[\d,]*(?:\.\d+)?|\b(?:${words})\b)[ -]?(?<unit>${units})(?![\w-])`,
  'giu',
);

/** An option with its number: in parentheses, or alone in the next cell of a table. */
const option =
  /(?:(?<!, )`(?<listed>(?:max|timeout|clock)[A-Z]\w*)`\s*\|\s*|`(?<named>(?:max|timeout|clock)[A-Z]\w*)`\s*\()(?<count>\d[\d,]*)(?=\s*\||[);,])/g;

/**
 * The distinct figures of a page, without generated, printed and quoted text: code, program output
 * (in italics), test titles. An option's number follows its name.
 */
export function figuresOf(page: string, text: string = read(page)): readonly string[] {
  const prose = text
    .replaceAll(/<!-- (?:generated|printed by|measured)[^]*?<!-- end -->/g, '')
    .replaceAll(/<!--[^]*?-->/g, '')
    .replaceAll(/^ *```[^]*?^ *```$/gm, '');
  const options = [...prose.matchAll(option)].map(
    ({ groups: { listed, named = '', count = '' } = {} }) => `${listed ?? named} ${count}`,
  );
  const plain = prose
    .replaceAll(/`[^`]*`/g, '`')
    .replaceAll(/(?<!\w)_[^_\n]+_(?!\w)/g, '_')
    .replaceAll(/\s+/g, ' ');
  const figures = [...plain.matchAll(figure)].map(
    ({ groups: { count = '', unit = '' } = {} }) => `${count.toLowerCase()} ${unit}`,
  );
  return [...new Set([...figures, ...options])];
}

function read(page: string): string {
  return readFileSync(join(repository, page), 'utf8');
}
