/** What makes tests fail although nothing is wrong: a deadline that is too short on a busy machine, a count of what others do. */
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { testFolders } from './sources.ts';

const repository = join(import.meta.dirname, '../..');

/** Milliseconds. */
const shortest = 60_000;

const files = testFolders().flatMap((folder) =>
  readdirSync(join(repository, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => `${folder}/${name.replaceAll('\\', '/')}`),
);

/** The options of a test, of a wait and of a process that are deadlines, and shorter than that. */
const shortDeadlines = (text: string): readonly string[] =>
  [...text.matchAll(/\btimeout: ([\d_]+)/g)].flatMap(([option, ms = '']) =>
    Number(ms.replaceAll('_', '')) < shortest ? [option] : [],
  );

/** What stands between the first bracket and the one that closes it. */
function bracketed(text: string): string {
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    if (text[at] === '(') depth++;
    if (text[at] === ')' && --depth === 0) return text.slice(0, at + 1);
  }
  return text;
}

/** Waits of Vitest without a deadline of their own: they would end after a second. Those of `expect.poll` are set in vitest.config.ts. */
const hastyWaits = (text: string): readonly string[] =>
  [...text.matchAll(/\bvi\.wait(?:For|Until)(?=\()/g)].flatMap(({ index, 0: name }) => {
    const wait = name + bracketed(text.slice(index + name.length));
    return wait.includes('timeout:') ? [] : [wait];
  });

test('every deadline in a test is at least a minute', () => {
  const short = files.flatMap((file) => {
    const text = readFileSync(join(repository, file), 'utf8');
    const found = [...shortDeadlines(text), ...hastyWaits(text)];
    return found.length > 0 ? [{ file, found }] : [];
  });
  expect(short.filter(({ file }) => !file.endsWith('/deadlines.test.ts'))).toEqual([]);
});

/** Files share a process, and what others have begun in it shows in the count. */
test('tests that count timers run in a separate process', () => {
  const counting = files.filter((file) =>
    readFileSync(join(repository, file), 'utf8').includes('vi.getTimerCount('),
  );
  const apart = counting.filter((file) => file.endsWith('.apart.test.ts'));
  expect(apart.length).toBeGreaterThan(0);
  expect(counting.filter((file) => !file.endsWith('/deadlines.test.ts'))).toEqual(apart);
});

test.each([
  ['await expect.poll(state).toBe(1);', 0],
  ['await expect.poll(state, { timeout: 10_000 }).toBe(1);', 1],
  ['spawnSync(command, { timeout: 100_000 });', 0],
  ['await vi.waitFor(() => expect(count()).toBe(1));', 1],
  ['await vi.waitFor(() => expect(count()).toBe(1), { timeout: 100_000 });', 0],
  ['await vi.waitUntil(\n  () => isThere(),\n  { interval: 5 },\n);', 1],
])('detects deadlines in %j: %d', (text, count) => {
  expect([...shortDeadlines(text), ...hastyWaits(text)]).toHaveLength(count);
});
