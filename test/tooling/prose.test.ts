import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, test } from 'vitest';
import { foreignTurnsIn } from './prose.ts';

const root = join(import.meta.dirname, '../..');

const below = (folder: string): readonly string[] =>
  existsSync(join(root, folder))
    ? readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((name) =>
        join(folder, name).replaceAll('\\', '/'),
      )
    : [];

const files = [
  ...[...below('src'), ...below('packages')].filter((file) =>
    /^(?:packages\/[^/]+\/)?src\/.*\.tsx?$/.test(file),
  ),
  ...below('docs').filter((file) => file.endsWith('.md')),
  ...readdirSync(root).filter((name) => name.endsWith('.md')),
];

/** `src/http`, `packages/one`, `docs/decisions`, `docs`, and the root as `.` */
const folderOf = (file: string): string =>
  file
    .split('/')
    .slice(0, 2)
    .filter((part) => !part.includes('.'))
    .join('/') || '.';

test.each([...new Set(files.map(folderOf))])('%s is written in plain English', (folder) => {
  const turns = files
    .filter((file) => folderOf(file) === folder)
    .flatMap((file) =>
      foreignTurnsIn(file, readFileSync(join(root, file), 'utf8')).map(
        ({ line, sentence, instead }) => `${file}:${line}: ${sentence} [rather: ${instead}]`,
      ),
    );
  expect(turns).toEqual([]);
});

describe('the reader of prose', () => {
  it.each([
    'The answer to a response that is none.',
    "A task that belongs to it, if it is one's.",
    'Gives up whoever waits for it.',
    "A root of the client's that cannot be used.",
    'A bug of ours.',
    'A line that is no message.',
    'What nobody has asked for.',
    'It does not run any more.',
    'The root is still what it was.',
    'Waits no longer than so long.',
    'A token is accepted for so long.',
    'The handler judges the answers, where the client brings them in a request.',
    'What stands before the first value.',
  ])('does not let pass: %s', (sentence) => {
    expect(foreignTurnsIn('a.ts', `/** ${sentence} */\n`)).toHaveLength(1);
    expect(foreignTurnsIn('a.md', `${sentence}\n`)).toHaveLength(1);
  });

  it.each([
    "The roots of the client's project.",
    'The first one, or undefined if there is none.',
    'It has no roots, and there is no way to ask.',
    'It is no longer pending.',
    'What it was asked for.',
    "One of the client's.",
    'The word `whoever`.',
    'A line that is so long that it is cut.',
    'The place where there is a break.',
    'Where a task stands, and what it stands for.',
  ])('lets pass: %s', (sentence) => {
    expect(foreignTurnsIn('a.ts', `// ${sentence}\n`)).toEqual([]);
    expect(foreignTurnsIn('a.md', `${sentence}\n`)).toEqual([]);
  });

  it('reads a sentence over several lines, and no code', () => {
    expect(
      foreignTurnsIn(
        'a.ts',
        "// It runs no\n// any more of them, or any\n// more.\nconst whoever = 'whoever';\n",
      ),
    ).toHaveLength(1);
    expect(foreignTurnsIn('a.ts', '/**\n * It does not run any\n * more.\n */\n')).toHaveLength(1);
    expect(
      foreignTurnsIn('a.md', 'It does not run any\nmore.\n\n```sh\nwhoever\n```\n'),
    ).toHaveLength(1);
  });
});
