/** The pages that the repository shows, and what in them can be checked: code blocks, code within sentences, links. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

export const repository = join(import.meta.dirname, '../..');

/** Markdown, from the root of the repository; what is not committed yet is there too. */
export const pages: readonly string[] = execFileSync(
  'git',
  ['ls-files', '--cached', '--others', '--exclude-standard', '--', '*.md'],
  { cwd: repository, encoding: 'utf8' },
)
  .split('\n')
  .filter((path) => path !== '');

export interface Block {
  /** `docs/errors.md:33`. */
  readonly at: string;
  readonly page: string;
  /** What stands behind the fence; empty if nothing does. */
  readonly language: string;
  readonly text: string;
  /** The comment right above the fence, without its dashes. */
  readonly marker: string;
}

/** The fenced blocks of a page. A block between `generated: …` and `end` has that as its marker. */
export function blocksOf(page: string, text: string = pageText(page)): readonly Block[] {
  const fences = text.matchAll(
    /(?:^ *<!-- (?<marker>.*?) -->\n+)?^(?<indent> *)```(?<language>\w*).*\n(?<text>[^]*?)^ *```$/gm,
  );
  return [...fences].map(({ 0: whole, index, groups = {} }) => {
    const above = text.slice(0, index + whole.indexOf('```'));
    return {
      at: `${page}:${above.split('\n').length}`,
      page,
      language: groups['language'] ?? '',
      text: (groups['text'] ?? '').replaceAll(new RegExp(`^${groups['indent']}`, 'gm'), ''),
      marker: groups['marker'] ?? '',
    };
  });
}

function pageText(page: string): string {
  return readFileSync(join(repository, page), 'utf8');
}

/** What is left of a page without its blocks and comments. */
function proseOf(page: string, text: string = pageText(page)): string {
  return text.replaceAll(/^ *```[^]*?^ *```$/gm, '').replaceAll(/<!--[^]*?-->/g, '');
}

/** Code within sentences and tables, however its lines are broken. */
export function inlineCode(page: string): readonly string[] {
  return [...proseOf(page).matchAll(/(?<!`)`([^`]+)`(?!`)/g)].map(([, code = '']) =>
    code.replaceAll(/\s+/g, ' ').replaceAll('\\|', '|'),
  );
}

/** Where the links lead that stay in the repository. */
export function linksOf(page: string): readonly string[] {
  const targets = [...proseOf(page).matchAll(/\]\(\s*([^()\s]+)\s*\)/g)].map(
    ([, target = '']) => target,
  );
  return targets.filter((target) => !/^[a-z]+:/i.test(target));
}

/** The anchors of a page, as GitHub makes them from its headings. */
export function anchorsOf(page: string): ReadonlySet<string> {
  const headings = [...proseOf(page).matchAll(/^#+ (.*)$/gm)];
  return new Set(
    headings.map(([, heading = '']) =>
      heading
        .toLowerCase()
        .replaceAll(/[^\p{Letter}\p{Number}\s_-]/gu, '')
        .replaceAll(' ', '-'),
    ),
  );
}
