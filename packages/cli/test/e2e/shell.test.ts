/** `mcp-actors shell` without a terminal: commands come from stdin. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { runCommand, smallServer, startCommand, temporaryFolder } from './client-command.ts';

const [program, script] = smallServer;
const shell = (lines: readonly string[], ...args: readonly string[]) =>
  runCommand(['shell', ...args], `${lines.join('\n')}\n`);
const behind = (...tools: readonly string[]) => ['--', ...smallServer, ...tools];

describe('mcp-actors shell', () => {
  test('does what the lines of stdin say, and prints the results alone', async () => {
    const { code, stdout } = await shell(
      ['list', '', 'call one text="a b"', 'call small-server__two {"text": "c"}'],
      ...behind('one', 'two'),
    );
    expect([code, stdout]).toEqual([
      0,
      'small-server__one  Says one\nsmall-server__two  Says two\none a b\ntwo c\n',
    ]);
  });

  test('shows where each server stands, and what it has said', async () => {
    const file = join(temporaryFolder(), 'mcp.json');
    const mcpServers = {
      good: { command: program, args: [script, 'one'] },
      bad: {
        command: program,
        args: ['-e', 'console.error("boom"); process.exit(3)'],
        restart: false,
      },
      off: { command: 'x', disabled: true },
    };
    writeFileSync(file, JSON.stringify({ mcpServers }));
    const args = ['shell', '--verbose', file];
    const { child, ended, shows } = startCommand(args, temporaryFolder());
    await shows('bad: is failed');
    child.stdin.end('call good__one\nstate\nlogs bad\nreconnect good\n');
    const { code, stdout } = await ended;
    expect(code).toBe(0);
    expect(stdout).toMatch(/^good {2}ready; small 1\.0\.0, 20/m);
    expect(stdout).toMatch(/^bad {3}failed; .*boom/m);
    expect(stdout).toMatch(/^off {3}disabled$/m);
    expect(stdout).toMatch(/^boom$/m);
    expect(stdout).toMatch(/^good is ready: small 1\.0\.0/m);
  });

  test('takes the only server for the one that is meant, and asks which of several', async () => {
    const one = await shell(['reconnect'], ...behind('one'));
    expect([one.code, one.stdout]).toEqual([
      0,
      expect.stringMatching(/^small-server is ready: small 1\.0\.0/),
    ]);
    const file = join(temporaryFolder(), 'mcp.json');
    const server = { command: program, args: [script, 'one'] };
    writeFileSync(file, JSON.stringify({ mcpServers: { a: server, b: server } }));
    const two = await shell(['reconnect'], file);
    expect([two.code, two.stderr]).toEqual([1, expect.stringContaining('Name a server: a, b')]);
  });

  test('calls a tool without waiting for a server that never greets, and says who that is', async () => {
    const file = join(temporaryFolder(), 'mcp.json');
    const mcpServers = {
      deaf: { command: program, args: [script, '--deaf'] },
      good: { command: program, args: [script, 'one'] },
    };
    writeFileSync(file, JSON.stringify({ mcpServers }));
    const { code, stdout, stderr } = await shell(['call good__one', 'list'], file);
    expect([code, stdout]).toEqual([0, 'one\ngood__one  Says one\n']);
    expect(stderr).toMatch(/^deaf has not answered for \d\.\d s: Waiting for deaf to /m);
  });

  test('goes on after a command that has failed, and ends with 1', async () => {
    const { code, stdout, stderr } = await shell(
      ['cal one', 'call oen', 'call one', 'quit', 'call two'],
      ...behind('one'),
    );
    expect([code, stdout]).toEqual([1, 'one\n']);
    expect(stderr).toContain('Unknown command "cal". Did you mean call?');
    expect(stderr).toContain('Unknown tool "oen". Did you mean one?');
  });

  test('watches a tool until it is told otherwise', async () => {
    const { stdout } = await shell(['watch one', 'unwatch'], ...behind('one'));
    expect(stdout).toBe('one\nStopped watches: 1\n');
  });

  test.skipIf(process.platform === 'win32')('tells the doctor of its connections', async () => {
    const home = temporaryFolder();
    const { child, ended, shows } = startCommand(['shell', ...behind('one')], home);
    child.stdin.write('call one\n');
    await shows('one\n');
    const { code, stdout } = await runCommand(['doctor', String(child.pid)]);
    expect([code, stdout]).toEqual([
      0,
      expect.stringMatching(
        /^connection small-server: ready for .*; small 1\.0\.0, (?:legacy|modern) 20/m,
      ),
    ]);
    child.stdin.end();
    expect((await ended).code).toBe(0);
  });
});
