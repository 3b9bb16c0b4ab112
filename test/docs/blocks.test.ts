/** Every code block of the docs is checked, and every link has a target. */
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path/posix';
import { describe, expect, test } from 'vitest';
import { commandNames, helpTopics } from '../../packages/cli/src/command.ts';
import { workspaceServer } from '@mcp-actors/workspace-server';
import { programs } from '../tooling/programs.ts';
import { anchorsOf, blocksOf, inlineCode, linksOf, pages, repository } from './pages.ts';
import type { Block } from './pages.ts';
import { Stage } from './stage.ts';
import { testFolders } from '../tooling/sources.ts';

const blocks = pages.flatMap((page) => blocksOf(page));

const reasonOf = ({ marker }: Block): string | undefined => /^not run: (.*)$/.exec(marker)?.[1];
const sourceOf = ({ marker }: Block): string | undefined =>
  /^generated: ([\w./-]+\.\w+)(#.*)?$/.exec(marker)?.[1];

/** The problem of a block; undefined if it is checked, or says why not. */
function faultOf(block: Block): string | undefined {
  const { at, language, marker } = block;
  if (/^(generated: .|printed by: .|not run: \S+ \S+ \S+)/.test(marker)) return undefined;
  if (language === 'sh' && marker === '') return undefined;
  const from = language === '' || language === 'text' ? 'printed by: COMMAND' : 'generated: FILE';
  return `${at}: nothing checks this block. Put "<!-- ${from} -->" above it, or "<!-- not run: WHY -->"`;
}

describe('code blocks of the docs', () => {
  test('are run, printed or generated, or marked with a reason', () => {
    expect(blocks.length).toBeGreaterThan(60);
    expect(blocks.flatMap((block) => faultOf(block) ?? [])).toEqual([]);
  });

  test('are found without a marker, whatever their language', () => {
    const text = '# A page\n\n```ts\nlost();\n```\n\n```\nprinted\n```\n\n```sh\ntrue\n```\n';
    expect(blocksOf('a.md', text).map(faultOf)).toEqual([
      'a.md:3: nothing checks this block. Put "<!-- generated: FILE -->" above it, or "<!-- not run: WHY -->"',
      'a.md:7: nothing checks this block. Put "<!-- printed by: COMMAND -->" above it, or "<!-- not run: WHY -->"',
      undefined,
    ]);
  });

  test('must be marked if they install or download something', async () => {
    const stage = await Stage.open({});
    await expect(stage.run('npm install left-pad')).rejects.toThrow('not run: why');
    await stage.close();
  });

  // Shown and counted as skipped.
  test.for(blocks.filter((block) => reasonOf(block) !== undefined))(
    '$at has no marker to skip it',
    (block, context) => context.skip(reasonOf(block)),
  );
});

describe('code that a page takes from a file', () => {
  const tests = testFolders()
    .flatMap((folder) =>
      readdirSync(join(repository, folder), { recursive: true, encoding: 'utf8' }).map((name) =>
        join(folder, name),
      ),
    )
    .filter((name) => name.endsWith('.ts'))
    .map((name) => readFileSync(join(repository, name), 'utf8'));

  /** Files that a test imports or launches, and their imports. */
  const run = new Set<string>();
  const visit = (path: string): void => {
    if (run.has(path) || !existsSync(join(repository, path))) return;
    run.add(path);
    const text = readFileSync(join(repository, path), 'utf8');
    for (const [, to = ''] of text.matchAll(/from '(\.[^']+)'/g)) {
      visit(normalize(join(dirname(path), to)));
    }
  };
  for (const text of tests) {
    for (const [path] of text.matchAll(/(?:examples|(?:packages\/[\w-]+\/)?test)\/[\w./-]+\.\w+/g))
      visit(path);
  }

  const sources = [...new Set(blocks.flatMap((block) => sourceOf(block) ?? []))];

  test.each(sources)('is run by a test: %s', (source) => {
    const isTest = source.endsWith('.test.ts');
    const isTranscript = source.startsWith('test/transcripts/');
    expect(isTest || isTranscript || run.has(source)).toBe(true);
  });
});

test('includes in docs/examples.md every example that tests launch over stdio', () => {
  const commands = blocks.filter(({ page }) => page === 'docs/examples.md').map(({ text }) => text);
  const launched = programs.filter((path) => path.startsWith('examples/'));
  const lost = launched.filter(
    (path) => !commands.some((text) => text.includes(`npx tsx ${path} `)),
  );
  expect(lost).toEqual([]);
});

describe('the links of', () => {
  test.each(pages)('%s have existing targets', (page) => {
    const lost = linksOf(page).filter((link) => {
      const [path = '', anchor] = link.split('#');
      const target = path === '' ? page : normalize(join(dirname(page), decodeURIComponent(path)));
      if (!existsSync(join(repository, target))) return true;
      return anchor !== undefined && target.endsWith('.md') && !anchorsOf(target).has(anchor);
    });
    expect(lost).toEqual([]);
    expect(ownColumn().filter((code) => code.startsWith('--')).length).toBeGreaterThan(20);
  });
});

describe('decisions', () => {
  const folder = join(repository, 'docs/maintaining/decisions');
  const records = readdirSync(folder).filter((name) => name !== 'README.md');

  test('named in sources exist', () => {
    const named = ['src', 'packages', 'test', 'scripts', 'lab'].flatMap((top) =>
      readdirSync(join(repository, top), { recursive: true, encoding: 'utf8' })
        .filter((name) => /\.(?:ts|tsx|mjs|yml)$/.test(name) && !/node_modules|dist\//.test(name))
        .flatMap((name) => {
          const text = readFileSync(join(repository, top, name), 'utf8');
          return [...text.matchAll(/docs\/maintaining\/decisions\/([\w-]+(?:\.md)?)/g)].map(
            ([, to = '']) => to,
          );
        }),
    );
    expect(named.length).toBeGreaterThan(10);
    expect(named.filter((name) => !records.includes(name))).toEqual([]);
  });

  test('are in the index with their titles', () => {
    const index = readFileSync(join(folder, 'README.md'), 'utf8');
    const lost = records.filter((name) => {
      const title = /^# (.*)$/m.exec(readFileSync(join(folder, name), 'utf8'))?.[1];
      return !index.includes(`- ${name.slice(0, 2)} [${title}](${name}): `);
    });
    expect(lost).toEqual([]);
  });
});

test('makes every page of the docs reachable from the README', () => {
  const reached = new Set<string>();
  const visit = (page: string): void => {
    if (reached.has(page) || !pages.includes(page)) return;
    reached.add(page);
    for (const link of linksOf(page)) {
      visit(normalize(join(dirname(page), decodeURIComponent(link.split('#')[0] ?? ''))));
    }
  };
  visit('README.md');
  const docs = pages.filter((page) => page.startsWith('docs/'));
  expect(docs.filter((page) => !reached.has(page))).toEqual([]);
});

test('links at most sixteen pages from the README, and the list of all', () => {
  const linked = linksOf('README.md').map((link) => link.replace(/#.*$/, ''));
  const docs = new Set(linked.filter((path) => /^docs\/.*\.md$/.test(path)));
  expect(docs.delete('docs/README.md')).toBe(true);
  expect(docs.size).toBeLessThanOrEqual(16);
  const listed = new Set(linksOf('docs/README.md').map((link) => join('docs', link)));
  const pagesOfDocs = pages.filter(
    (page) => /^docs\/(maintaining\/)?[^/]+\.md$/.test(page) && page !== 'docs/README.md',
  );
  expect(pagesOfDocs.filter((page) => !listed.has(page))).toEqual([]);
});

test('names nothing on the architecture page that the sources lack', () => {
  const folders = [
    'src',
    ...readdirSync(join(repository, 'packages')).map((name) => `packages/${name}/src`),
  ];
  const files = folders.flatMap((folder) =>
    readdirSync(join(repository, folder), { recursive: true, encoding: 'utf8' }).map((name) =>
      join(folder, name),
    ),
  );
  const sources = files
    .filter((name) => name.endsWith('.ts'))
    .map((name) => readFileSync(join(repository, name), 'utf8'))
    .join('\n');
  const names = inlineCode('docs/architecture.md')
    .map((code) => code.replace(/\(.*\)$/, ''))
    .filter((code) => /^#?[a-z]\w*(\.\w+)*$/i.test(code));
  expect(names.length).toBeGreaterThan(60);
  const lost = names.filter((name) => !sources.includes(name.replace(/^context\./, '')));
  const isPath = (name: string) =>
    folders.some((folder) => existsSync(join(repository, folder, name)));
  expect(lost.filter((name) => !isPath(name))).toEqual([]);
});

test("lists the server's tools in packages/workspace-server/README.md", () => {
  const { tools } = workspaceServer({ cwd: '/', home: '/nobody', version: '1' }).definition;
  const names = (tools ?? []).map(({ name }) => name);
  const page = readFileSync(join(repository, 'packages/workspace-server/README.md'), 'utf8');
  const rows = page.matchAll(/^\| `([a-z]+_[a-z]+)` /gm);
  expect(new Set([...rows].map(([, name]) => name))).toEqual(new Set(names));
});

/** Pages that also mention options of other programs. */
const ofOthers =
  /^(docs\/(performance|maintaining\/(rough-edges|benchmarks|decisions\/26-bounded-matching))\.md|packages\/workspace-server\/README\.md)$/;

/** A page whose tables show other programs' options on the left and ours on the right. */
const compared = 'docs/coming-from.md';
const ownColumn = () =>
  readFileSync(join(repository, compared), 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('|'))
    .flatMap((row) => [...(row.split(' | ').at(-1) ?? '').matchAll(/`([^`]+)`/g)])
    .map(([, code = '']) => code);

describe('command line options', () => {
  test('named on a page exist', async () => {
    const stage = await Stage.open({});
    const helps = await Promise.all(
      ['', ...helpTopics, ...commandNames].map((name) => stage.run(`mcp-actors help ${name}`)),
    );
    await stage.close();
    const known = new Set(
      helps.flatMap(({ stdout }) => [...stdout.matchAll(/--[a-z][a-z-]*/g)].map(([name]) => name)),
    );
    const lost = pages.flatMap((page) =>
      (page === compared ? ownColumn() : inlineCode(page))
        .filter(
          (code) =>
            code.startsWith('mcp-actors ') || (code.startsWith('--') && !ofOthers.test(page)),
        )
        .flatMap((code) => [...(code.split(' -- ')[0] ?? '').matchAll(/--[a-z][a-z-]*/g)])
        .filter(([name]) => !known.has(name))
        .map(([name]) => `${page}: ${name}`),
    );
    expect(lost).toEqual([]);
  });
});
