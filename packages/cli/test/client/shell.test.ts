import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { historyFile, readHistory, writeHistory } from '../../src/client/shell.ts';
import { wordsOf } from '../../src/client/shell-commands.ts';

test.each([
  ['', []],
  ['  state ', ['state']],
  ['call a__b text=hi', ['call', 'a__b', 'text=hi']],
  ['call a key="two words" \'and two\'', ['call', 'a', 'key=two words', 'and two']],
  ['call a text="say \\"hi\\""', ['call', 'a', 'text=say "hi"']],
  ['call a {"text": "two  words"}', ['call', 'a', '{"text": "two  words"}']],
  ['call a tags=["a b"]', ['call', 'a', 'tags=[a b]']],
])('the line %j has the words %j', (line, words) => {
  expect(wordsOf(line)).toEqual(words);
});

test('a quotation mark that is not closed is told', () => {
  expect(() => wordsOf('call a "b')).toThrow('Unclosed quote: "b');
});

describe('the history of the shell', () => {
  test('keeps what was typed, for its owner alone, but no line with a secret', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'history-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const file = historyFile({ XDG_STATE_HOME: folder });
    expect(readHistory(file)).toEqual([]);
    const secrets = ['call login password=hunter2', 'call x {"apiKey":"hunter2"}'];
    expect(writeHistory(file, ['state', ...secrets, 'list'])).toBe(true);
    expect(readHistory(file)).toEqual(['state', 'list']);
    expect(await readFile(file, 'utf8')).not.toContain('hunter2');
    if (process.platform !== 'win32') expect((await stat(file)).mode & 0o777).toBe(0o600);
  });

  test('does without a file that cannot be written', () => {
    expect(writeHistory('/dev/null/history', ['state'])).toBe(false);
  });
});
