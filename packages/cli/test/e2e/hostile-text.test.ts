/** What a server says rules no terminal: the commands at a real pseudo-terminal, and in a pipe. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { runCommand, temporaryFolder } from './client-command.ts';
import { repository } from '../../../../test/e2e/server-process.ts';
import { atTerminal, hasTerminals, key } from './terminal.ts';

const server = [process.execPath, join(repository, 'packages/cli/test/e2e/hostile-server.mjs')];
const behind = ['--', ...server];
const evil = '\u001b]0;owned\u0007\u001b[31m\u009b32m\u202eevil\u{e0041}';
const written = String.raw`\u001b]0;owned\u0007\u001b[31m\u009b32m\u202eevil`;

/** What none of our own lines has: a terminal's title, bell and colours; C1; turned directions. */
// oxlint-disable-next-line no-control-regex -- control characters are what it looks for
const ruling = /\u001B\]|\u0007|\u001B\[31m|[\u0080-\u009F\u202A-\u202E\u2066-\u2069]|\u{E0041}/u;

test.skipIf(!hasTerminals).each([
  ['a result', ['call', 'say', ...behind], 0],
  ['a result as JSON', ['call', 'say', '--json', ...behind], 0],
  ['a result as it came', ['call', 'say', '--raw', ...behind], 0],
  ['a failed result, and everything besides', ['call', 'fail', '--verbose', ...behind], 1],
  ['an error', ['call', 'refuse', ...behind], 1],
  ['a list', ['call', '--list', ...behind], 0],
  ['a list as JSON', ['call', '--list', '--json', ...behind], 0],
  ['a name that is almost right', ['call', `x${evil}y`, ...behind], 2],
  ['a report', ['check', '--walks', '0', '--play', 'call:say', '--timeout', '300ms', ...behind], 1],
  [
    'a report as JSON',
    ['check', '--json', '--walks', '0', '--play', 'call:say', '--timeout', '300ms', ...behind],
    1,
  ],
])('%s of a hostile server is text on a terminal', async (_what, args, expected) => {
  const { ended } = atTerminal(args, temporaryFolder());
  const { code, raw } = await ended;
  expect(raw).toContain(written);
  expect(raw).not.toMatch(ruling);
  expect(code).toBe(expected);
});

test.skipIf(!hasTerminals)('a question of a hostile server is text on a terminal', async () => {
  const { shows, press, ended } = atTerminal(['call', 'ask', ...behind], temporaryFolder());
  await shows('default: ');
  press(key.ctrlD);
  expect((await ended).raw).not.toMatch(ruling);
});

test.skipIf(!hasTerminals)('the shell shows what a hostile server says as text', async () => {
  const { shows, press, ended } = atTerminal(['shell', '--verbose', ...behind], temporaryFolder());
  await shows('mcp> ');
  for (const [line, last] of [
    ['list', 'x\\u001b'],
    ['describe say', '"tool": "say"'],
    ['call say', '19 bytes))'],
    ['call refuse', '(-32601)'],
    ['resources', '1 resources'],
    ['read x://a', written],
    ['logs', 'bytes in total, end)'],
    ['state', 'ready;'],
    ['watch say', '19 bytes))'],
    ['watch x://a', 'was not sent'],
    ['unwatch', 'Stopped watches'],
    ['reconnect', 'is ready: '],
  ] as const) {
    press(`${line}${key.enter}`);
    await shows(last);
    await shows('mcp> ');
  }
  press(`quit${key.enter}`);
  const { raw } = await ended;
  expect(raw).toContain(written);
  expect(raw).not.toMatch(ruling);
});

describe('in a pipe', () => {
  test('the text of a result is what the server sent, byte by byte', async () => {
    const { stdout } = await runCommand(['call', 'say', ...behind]);
    expect(stdout).toBe(`one ${evil}\r\ntwo\tthree\n`);
  });

  test.each(['--json', '--raw'])(
    'JSON has the same value, without characters that rule (%s)',
    async (form) => {
      const { stdout } = await runCommand(['call', 'say', form, ...behind]);
      expect(stdout).not.toMatch(ruling);
      const value = JSON.parse(stdout) as { readonly structuredContent?: unknown };
      expect(value.structuredContent ?? value).toEqual({ [evil]: evil });
    },
  );
});

test.skipIf(!hasTerminals)('a recording of a hostile server is replayed as text', async () => {
  const home = temporaryFolder();
  const file = join(home, 'evil.jsonl');
  await runCommand(['call', 'say', '--record', file, ...behind], '', home);
  expect(existsSync(file)).toBe(true);
  const { press, ended } = atTerminal(['replay', '--step', file], home);
  press(key.enter.repeat(60));
  const { raw } = await ended;
  expect(raw).toContain('evil');
  expect(raw).not.toMatch(ruling);
});
