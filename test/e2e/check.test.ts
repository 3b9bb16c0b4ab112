import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { command } from './server-process.ts';

const broken = fileURLToPath(new URL('../check/broken-server.mjs', import.meta.url));
const server = ['--', process.execPath, broken];

interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

function check(...args: readonly string[]): Promise<Ended> {
  return new Promise((resolve) => {
    execFile(process.execPath, [...command, 'check', ...args], (error, stdout, stderr) => {
      resolve({ code: error ? Number(error.code) : 0, stdout, stderr });
    });
  });
}

const handshake = 'initialize wait initialized wait';

describe('mcp-actors check', () => {
  test('ends with 0 where no MUST is broken, whatever else is', async () => {
    const plays = ['unknown-method wait', 'bad-cursor wait'].map(
      (moves) => `--play=${handshake} ${moves}`,
    );
    const { code, stdout, stderr } = await check(
      '--call',
      'slow',
      ...plays,
      ...server,
      'wrong-code',
      'lenient',
    );
    expect(stderr).toBe('');
    expect(stdout).toContain('Checked broken 1, revision 2025-11-25: ');
    expect(stdout).toContain('✗ SHOULD invalid-cursor: ');
    expect(stdout).toContain(
      'server/utilities/pagination, "Error Handling": Invalid cursors SHOULD result in',
    );
    expect(stdout).toContain(
      'https://modelcontextprotocol.io/specification/2025-11-25/server/utilities/pagination',
    );
    expect(stdout).toContain('Shortest sequence: initialize initialized bad-cursor\n');
    expect(stdout).toContain('✗ advice method-not-found: ');
    expect(stdout).toContain('✓ MUST   answered-once: ');
    expect(stdout).toMatch(
      /– MUST {3}logging-declared: .*\n {4}needs a server that sends a log message/,
    );
    expect(stdout).toContain('broken: 0 MUST, 1 SHOULD, 1 advice;');
    expect(code).toBe(0);
  }, 60_000);

  test('ends with 1 where a MUST is broken, and says so as JSON', async () => {
    const { code, stdout } = await check(
      '--json',
      '--only',
      'ping',
      '--play',
      handshake,
      ...server,
      'full-ping',
    );
    const report = JSON.parse(stdout) as { readonly findings: readonly object[] };
    expect(report).toMatchObject({
      holds: false,
      seed: 1,
      server: { name: 'broken', version: '1' },
    });
    expect(report.findings).toMatchObject([
      {
        id: 'ping',
        demand: 'MUST',
        outcome: 'broken',
        clause: { page: 'basic/utilities/ping', heading: 'Behavior Requirements' },
        breach: { sequence: 'initialize', again: true },
      },
    ]);
    expect(code).toBe(1);
  });

  test('says what a server wrote to stderr that does not speak', async () => {
    const args = [
      '--start-timeout',
      '10s',
      '--',
      process.execPath,
      '-e',
      'console.error("no such file"); process.exit(1)',
    ];
    const { code, stdout } = await check(...args);
    expect(stdout).toContain('✗ MUST   answered: ');
    expect(stdout).toContain('The server ended with the code 1 and left initialize');
    expect(stdout).toContain('the end of its stderr:\nno such file');
    expect(code).toBe(1);
  });

  test.for<[expected: string, args: readonly string[]]>([
    ["check needs the server's command after --, as in mcp-actors check -- COMMAND", []],
    [
      "check needs the server's command after --, as in mcp-actors check -- node server.js",
      ['node', 'server.js'],
    ],
    ['Unknown option --time. Is it --timeout that you mean?', ['--time', '1', ...server]],
    ['--only: there is no invariant "pong"', ['--only', 'pong', ...server]],
    ['--play: there is no move "dance"', ['--play', 'initialize dance', ...server]],
    ['--call slow: {no is no JSON', ['--call', 'slow={no', ...server]],
    ['--call slow: [] is no JSON object', ['--call', 'slow=[]', ...server]],
    ['--call: "=1" names no tool', ['--call', '=1', ...server]],
    ['--revision: "2020-01-01" is not one of 2025-11-25', ['--revision', '2020-01-01', ...server]],
    [
      'no-such-command could not be started: spawn no-such-command ENOENT',
      ['--', 'no-such-command'],
    ],
  ])('ends with 2 and says: %s', async ([expected, args]) => {
    const { code, stdout, stderr } = await check(...args);
    expect(stderr).toContain(`mcp-actors: ${expected}`);
    expect(stdout).toBe('');
    expect(code).toBe(2);
  });

  test('explains itself', async () => {
    const [help, list] = await Promise.all([check('--help'), check('--list')]);
    expect(help.stdout).toContain('Usage: mcp-actors check [options] -- COMMAND');
    expect(help.stdout).toContain('--call TOOL[=JSON]');
    expect(list.stdout).toContain('  cancelled-silent: ');
    expect(list.stdout).toContain('  answer-reversed: ');
    expect([help.code, list.code]).toEqual([0, 0]);
  });
});
