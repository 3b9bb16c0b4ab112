/** `mcp-actors call` and `shell` with a person at a terminal. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { smallServer, temporaryFolder } from './client-command.ts';
import { atTerminal, hasTerminals, key } from './terminal.ts';

const behind = (...tools: readonly string[]) => ['--', ...smallServer, ...tools];

describe.skipIf(!hasTerminals)('mcp-actors call at a terminal', () => {
  const ask = ['call', '--tool', 'ask', ...behind('ask')];

  test('asks the person what the server asks', async () => {
    const { shows, press, ended } = atTerminal(ask, temporaryFolder());
    await shows('small-server asks: Your name?');
    await shows('name: ');
    press(key.enter);
    await shows('name is required');
    await shows('name: ');
    press(`Ada${key.enter}`);
    const { code, screen } = await ended;
    expect([code, screen]).toEqual([0, expect.stringContaining('"content":{"name":"Ada"}')]);
  });

  test('takes Ctrl-D at a question for a form that is closed', async () => {
    const { shows, press, ended } = atTerminal(ask, temporaryFolder());
    await shows('name: ');
    press(key.ctrlD);
    const { code, screen } = await ended;
    expect([code, screen]).toEqual([0, expect.stringContaining('"action":"cancel"')]);
  });

  test('takes Ctrl-C at a question for what it is everywhere else', async () => {
    const { shows, press, ended } = atTerminal(ask, temporaryFolder());
    await shows('name: ');
    press(key.ctrlC);
    expect((await ended).code).toBe(130);
  });
});

describe.skipIf(!hasTerminals)('mcp-actors shell at a terminal', () => {
  test('asks for forms, and keeps commands and no answers in its history', async () => {
    const home = temporaryFolder();
    const { shows, press, ended } = atTerminal(['shell', ...behind('ask', 'one')], home);
    await shows('mcp> ');
    press(`call ask${key.enter}`);
    await shows('name: ');
    press(`Ada${key.enter}`);
    await shows('"content":{"name":"Ada"}');
    await shows('mcp> ');
    press(`call one${key.enter}`);
    await shows('one\r\n');
    await shows('mcp> ');
    press(key.ctrlD);
    expect((await ended).code).toBe(0);
    const history = readFileSync(join(home, 'mcp-actors', 'shell-history'), 'utf8');
    expect(history.trim().split('\n').sort()).toEqual(['call ask', 'call one']);
  });

  test.each([
    ['a command', 'call hang', 'small-server: hanging'],
    ['a form', 'call ask', 'name: '],
  ])('goes on after Ctrl-C at %s', async (_what, line, shown) => {
    const { shows, press, ended } = atTerminal(
      ['shell', '--verbose', ...behind('ask', 'hang', 'one')],
      temporaryFolder(),
    );
    await shows('mcp> ');
    press(`${line}${key.enter}`);
    await shows(shown);
    press(key.ctrlC);
    await shows('(Ctrl-D ends the shell)');
    await shows('tools/call was cancelled');
    await shows('mcp> ');
    press(`call one text=again${key.enter}`);
    await shows('one again\r\n');
    await shows('mcp> ');
    press(`quit${key.enter}`);
    expect((await ended).code).toBe(0);
  });

  test('completes the names of tools', async () => {
    const { shows, press, ended } = atTerminal(
      ['shell', ...behind('first', 'second')],
      temporaryFolder(),
    );
    await shows('mcp> ');
    press(`list${key.enter}`);
    await shows('Says second');
    await shows('mcp> ');
    press('call small-server__f');
    await shows('small-server__f');
    press(key.tab);
    await shows('irst');
    press(key.enter);
    await shows('first\r\n');
    await shows('mcp> ');
    press(key.ctrlD);
    expect((await ended).code).toBe(0);
  });
});
