/** No handler, and nothing else that serves a session, holds up the event loop with a call that waits for the system. */
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const repository = join(import.meta.dirname, '../..');

/** What may wait, and why. The command may, before it serves. */
const allowed: { readonly [file: string]: string } = {
  'packages/cli/src/': 'it checks its arguments before there is a session',
  'packages/processes/src/missing-package.ts': 'one look, for the error of an operation that fails',
  'packages/processes/src/process-group.ts':
    'the kernel answers this from its memory, and a batch takes 1 ms',
  'packages/recording/src/recording-file.ts':
    'a recording is complete whatever ends the process; it is opened before the session',
  'packages/serve/src/doctor/':
    'a mark of a few bytes when it begins to serve; the rest when a person asks',
  'packages/serve/src/package-version.ts':
    'the sources alone read it: what is built has it as a constant',
  'packages/tasks/src/sqlite/private-directory.ts':
    'SQLite, which then opens the same file, is synchronous too',
  'packages/roots/src/disk/volumes.ts': 'the kernel answers this from its memory',
};

/** `readFileSync(`, `spawnSync(`, `Atomics.wait(`. */
const blocking = /\b(?:[a-z]\w*Sync|Atomics\.wait)\(/;

const blockingLines = (text: string): readonly string[] =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => blocking.test(line) && !/^(?:\*|\/\/|\/\*\*)/.test(line));

const folders = [
  'src',
  ...readdirSync(join(repository, 'packages')).map((name) => `packages/${name}/src`),
];

const files = folders
  .flatMap((folder) =>
    readdirSync(join(repository, folder), { recursive: true, encoding: 'utf8' }).map(
      (name) => `${folder}/${name.replaceAll('\\', '/')}`,
    ),
  )
  .filter((name) => /\.tsx?$/.test(name))
  .map((name) => ({ name, lines: blockingLines(readFileSync(join(repository, name), 'utf8')) }))
  .filter(({ lines }) => lines.length > 0);

const isAllowed = (name: string) => Object.keys(allowed).some((path) => name.startsWith(path));

test('only the allowed places make blocking calls', () => {
  expect(files.filter(({ name }) => !isAllowed(name))).toEqual([]);
});

test('every exception is used', () => {
  const unused = Object.keys(allowed).filter(
    (path) => !files.some(({ name }) => name.startsWith(path)),
  );
  expect(unused).toEqual([]);
});

test.each([
  ['const text = readFileSync(path);', 1],
  ['  fs.writeFileSync(path, text);', 1],
  ['Atomics.wait(view, 0, 0);', 1],
  ['await readFile(path);', 0],
  ['/** Not `readFileSync(path)`. */', 0],
  ['isInSync(a, b);', 1],
])('distinguishes a blocking call from a non-blocking one: %s', (line, count) => {
  expect(blockingLines(line)).toHaveLength(count);
});
