/** What pages of `docs` promise, and the tests that they name for it. The names are held to those of a run. */
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path/posix';
import type { RunModule } from '../requirements/citations.ts';

const root = join(import.meta.dirname, '../..');

/** A page whose promises name their tests. */
export interface PromisingPage {
  readonly page: string;
  /** How the titles of its sections begin that have promises. */
  readonly sections: string;
  /** Whether all tests of a promise may be skipped, where there is no Redis. */
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
  /** From the root of the repository. */
  readonly file: string;
  /** Of a test or of what it stands in, as a run shows it; `…` stands for any text, as a table fills it in. */
  readonly title: string;
}

export interface Promised {
  readonly from: PromisingPage;
  readonly text: string;
  readonly tests: readonly NamedTest[];
}

/** The promises of a page: what each item of a list in those sections says, with the tests that are listed below it. */
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

/** `[file](link): `title`, `title``. The link has to lead from the page to the file. */
function readTests(page: string, line: string): readonly NamedTest[] {
  // However its lines are broken.
  const text = line.replaceAll(/\s+/g, ' ');
  const [, file = '', link, titles = ''] = /^\[(.*?)\]\((.*?)\): (.*)$/.exec(text) ?? [];
  if (link === undefined || join(dirname(page), link) !== file)
    throw new Error(`${page}: no test is named by "${line.trim()}"`);
  return [...titles.matchAll(/`([^`]+)`/g)].map(([, title = '']) => ({ file, title }));
}

/**
 * What the promises lack after a run: a title that no test of its file has; after a run of all files also a file that there is not,
 * and a promise whose tests were all skipped. What was not run is not judged.
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
