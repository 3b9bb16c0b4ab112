/**
 * Promises of pages in `docs`, and the tests cited for them. Citations are checked against a test
 * run.
 */
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path/posix';
import type { RunModule } from '../requirements/citations.ts';

const root = join(import.meta.dirname, '../..');

/** A page whose promises cite tests. */
export interface PromisingPage {
  readonly page: string;
  /** Prefixes of the titles of sections with promises. */
  readonly sections: string;
  /** True if all tests of a promise may be skipped without a Redis. */
  readonly mayBeSkipped: boolean;
}

export const securityPage: PromisingPage = {
  page: 'docs/security.md',
  sections: 'Against ',
  mayBeSkipped: false,
};

export const nodesPage: PromisingPage = {
  page: 'docs/maintaining/node-faults.md',
  sections: 'What faults do',
  mayBeSkipped: true,
};

export interface NamedTest {
  /** Path from the root of the repository. */
  readonly file: string;
  /**
   * Title of a test or a describe block, as shown by a run; `…` matches any text filled in by a
   * table.
   */
  readonly title: string;
}

export interface Promised {
  readonly from: PromisingPage;
  readonly text: string;
  readonly tests: readonly NamedTest[];
}

/** The promises of a page: list items of those sections, with the tests listed below them. */
export function readPromises(
  from: PromisingPage = securityPage,
  text: string = readFileSync(join(root, from.page), 'utf8'),
): readonly Promised[] {
  const sections = text.split(/^## /m).filter((section) => section.startsWith(from.sections));
  const items = sections.flatMap((section) => section.split(/^- /m).slice(1));
  return items.map((item) => {
    const [promise = '', ...lines] = item.split(/^ {2}- /m);
    const tests = lines.flatMap((line) => readTests(from.page, line));
    return { from, text: promise.trim(), tests };
  });
}

/** `[file](link): `title`, `title``. The link must lead from the page to the file. */
function readTests(page: string, line: string): readonly NamedTest[] {
  // Independent of line breaks.
  const text = line.replaceAll(/\s+/g, ' ');
  const [, file = '', link, titles = ''] = /^\[(.*?)\]\((.*?)\): (.*)$/.exec(text) ?? [];
  if (link === undefined || join(dirname(page), link) !== file)
    throw new Error(`${page}: no test is named by "${line.trim()}"`);
  return [...titles.matchAll(/`([^`]+)`/g)].map(([, title = '']) => ({ file, title }));
}

/**
 * Problems of the promises after a run: a title that no test of its file has; after a full run also
 * a missing file, and a promise whose tests were all skipped. Files that were not run are ignored.
 */
export function faultsOfPromises(
  promises: readonly Promised[],
  modules: readonly RunModule[],
  isWhole: boolean,
): readonly string[] {
  const run = new Map(modules.map(({ moduleId, children }) => [moduleId, children]));
  const named = ({ file, title }: NamedTest) => {
    const tests = [...(run.get(join(root, file))?.allTests() ?? [])];
    const pattern = patternOf(title);
    return { tests, own: tests.filter(({ fullName }) => pattern.test(` > ${fullName} > `)) };
  };
  return promises.flatMap(({ from: { page, mayBeSkipped }, text, tests }) => {
    const lost = tests.filter((test) => {
      const { tests, own } = named(test);
      return own.length === 0 && (isWhole || tests.length > 0);
    });
    const isTested =
      mayBeSkipped ||
      tests.some((test) => named(test).own.some((one) => one.result().state !== 'skipped'));
    return [
      ...lost.map(({ file, title }) => `${page} names a test that ${file} has not: ${title}`),
      ...(isWhole && !isTested ? [`${page} promises what no test has tested: ${text}`] : []),
    ];
  });
}

function patternOf(title: string): RegExp {
  const parts = title.split('…').map((part) => part.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&'));
  return new RegExp(` > ${parts.join('.*')} > `, 's');
}
