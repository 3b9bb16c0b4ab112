import { execFile } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { revisions } from '@mcp-actors/checker';
import { command as checkCommand } from '../../src/check.ts';
import { UsageError } from '../../src/command.ts';
import { listenBroken } from '../../../checker/test/broken-http.ts';
import { command } from '../../../../test/e2e/server-process.ts';

const broken = fileURLToPath(new URL('../../../checker/test/broken-server.mjs', import.meta.url));
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

/** Counts the processes that servers under check are, and leave behind: see lifeline.mjs. */
async function lifelines(): Promise<{
  readonly port: number;
  /** Resolves once so many have come. */
  reached(count: number): Promise<void>;
  /** Resolves once none is left; how many there were. */
  allGone(): Promise<number>;
}> {
  const sockets: Socket[] = [];
  const gone: Promise<unknown>[] = [];
  const listener = createServer((socket) => {
    // A process that is killed may reset it.
    socket.on('error', () => {}).resume();
    sockets.push(socket);
    gone.push(once(socket, 'close'));
    listener.emit('counted');
  });
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    listener.close();
  });
  return {
    port: (listener.address() as AddressInfo).port,
    reached: async (count) => {
      while (sockets.length < count) await once(listener, 'counted');
    },
    allGone: async () => {
      await Promise.all(gone);
      return sockets.length;
    },
  };
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
  });

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

  test('--progress says on stderr how far it has come, also without a terminal', async () => {
    const { stderr } = await check(
      '--progress',
      '--play',
      handshake,
      '--play',
      handshake,
      ...server,
    );
    expect(stderr).toMatch(
      /^Starting the server\n1 of 2 plays, about \d+s left\n2 of 2 plays, in \d+s\n$/,
    );
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
    expect(stdout).toContain('The server ended with code 1 and left initialize');
    expect(stdout).toContain('; end of its stderr:\nno such file\n');
    expect(code).toBe(1);
  });

  test.for<[expected: string, args: readonly string[]]>([
    ["check needs the server's command after --, as in mcp-actors check -- COMMAND", []],
    [
      "check needs the server's command after --, as in mcp-actors check -- node server.js",
      ['node', 'server.js'],
    ],
    [
      'check takes --url or a command, not both: ',
      ['--url', 'http://127.0.0.1:1/mcp', '--', 'node', 'server.js'],
    ],
    ['--url must be an http or https URL, got "localhost"', ['--url', 'localhost']],
    [
      '--url: credentials belong in --header, not in the URL',
      ['--url', 'http://a:b@127.0.0.1:1/mcp'],
    ],
    [
      '--url needs Streamable HTTP, which revision 2024-11-05 lacks',
      ['--url', 'http://127.0.0.1:1/mcp', '--revision', '2024-11-05'],
    ],
    ['--header needs --url', ['--header', 'a: b', ...server]],
    [
      '--only: unknown invariant "pong"; see mcp-actors check --list',
      ['--only', 'pong', ...server],
    ],
    [
      '--play: unknown move "dance"; see mcp-actors check --list',
      ['--play', 'initialize dance', ...server],
    ],
    ['--call slow: arguments must be valid JSON, got {no: ', ['--call', 'slow={no', ...server]],
    ['--call slow: arguments must be a JSON object, got []', ['--call', 'slow=[]', ...server]],
    ['--call must be TOOL or TOOL=JSON, got "=1"', ['--call', '=1', ...server]],
    [
      `--revision must be one of ${revisions.join(', ')}, got "2020-01-01"`,
      ['--revision', '2020-01-01', ...server],
    ],
  ])('takes no such arguments: %s', async ([expected, args]) => {
    const written = vi.spyOn(process.stdout, 'write');
    const refused = checkCommand.run(args, import.meta.url);
    await expect(refused).rejects.toThrow(UsageError);
    await expect(refused).rejects.toSatisfy(({ message }: Error) => message.startsWith(expected));
    expect(written).not.toHaveBeenCalled();
  });

  test.for<[expected: string, args: readonly string[]]>([
    ['Unknown option --time. Did you mean --timeout?', ['--time', '1', ...server]],
    [
      'http://127.0.0.1:1/mcp could not be reached: connect ECONNREFUSED',
      ['--url', 'http://127.0.0.1:1/mcp?key=secret'],
    ],
    [
      'no-such-command could not be started: Command "no-such-command" not found in PATH',
      ['--', 'no-such-command'],
    ],
  ])('ends with 2 and says: %s', async ([expected, args]) => {
    const { code, stdout, stderr } = await check(...args);
    expect(stderr).toContain(`mcp-actors: ${expected}`);
    expect(stdout).toBe('');
    expect(code).toBe(2);
  });

  test('a header that is refused is not repeated', async () => {
    const { code, stderr } = await check(
      '--url',
      'http://127.0.0.1:1/mcp',
      '--header',
      'Bearer secret',
    );
    expect(stderr).toContain('--header must be NAME:VALUE');
    expect(stderr).not.toContain('secret');
    expect(code).toBe(2);
  });

  test('judges a server at a URL, and never shows the headers it is given', async () => {
    const http = await listenBroken(['any-origin']);
    onTestFinished(() => http.close());
    const { code, stdout, stderr } = await check(
      '--url',
      http.url.href,
      '--header',
      'Authorization: Bearer secret',
      '--play',
      `${handshake} http-origin wait`,
    );
    expect(stderr).toBe('');
    expect(stdout).toContain('✗ MUST   http-origin: ');
    expect(stdout).toContain('Seen: It was answered with HTTP 200, application/json: ');
    expect(stdout).toContain('→ (with the header Origin: https://check.invalid) {');
    expect(http.last()).toMatchObject({ authorization: 'Bearer secret' });
    expect(stdout).not.toContain('secret');
    expect(http.sessions()).toBe(0);
    expect(code).toBe(1);
  });

  describe('where Ctrl-C ends it,', () => {
    const start = async (...ways: readonly string[]) => {
      const http = await listenBroken(ways);
      onTestFinished(() => http.close());
      const args = ['check', '--end-timeout', '30s', '--url', http.url.href];
      const child = execFile(process.execPath, [...command, ...args]);
      let stdout = '';
      child.stdout?.on('data', (text: string) => (stdout += text));
      const reported = new Promise<void>((resolve) => child.stdout?.once('data', () => resolve()));
      const closed = once(child, 'close').then(([code]) => ({ code: code as number, stdout }));
      return { http, child, reported, closed };
    };

    test('ends the session of the play', async () => {
      const { http, child, closed } = await start();
      await http.greeted(5);
      child.kill('SIGINT');
      const { code, stdout } = await closed;
      expect(stdout).toContain('Interrupted: results of the plays so far.');
      expect(code).toBe(130);
      expect(http.sessions()).toBe(0);
    });

    test.each([
      ['JSON', []],
      ['a stream', ['events']],
    ])('ends the session whose initialize is answered with %s after that', async (_, ways) => {
      const { http, child, reported, closed } = await start(...ways);
      const release = http.holdGreetings();
      await http.greeted(1);
      child.kill('SIGINT');
      await reported;
      expect(http.seen.get('DELETE')).toBeUndefined();
      release();
      expect(await closed).toMatchObject({ code: 130 });
      expect(http.seen.get('DELETE')).toBe(1);
      expect(http.sessions()).toBe(0);
    });

    test('a second Ctrl-C waits for no answer', async () => {
      const { http, child, reported, closed } = await start();
      http.holdGreetings();
      await http.greeted(1);
      child.kill('SIGINT');
      await reported;
      child.kill('SIGINT');
      expect(await closed).toMatchObject({ code: 130 });
      expect(http.seen.get('DELETE')).toBeUndefined();
    });
  });

  describe('leaves no process behind', () => {
    const lifeline = fileURLToPath(new URL('../../../checker/test/lifeline.mjs', import.meta.url));
    const start = (port: number, ...args: readonly string[]) => {
      const line = [...command, 'check', '--jobs', '1', ...args];
      const env = { ...process.env, LIFELINE: String(port) };
      let child!: ChildProcess;
      const ended = new Promise<Ended>((resolve) => {
        const lived = [process.execPath, '--import', lifeline, broken];
        child = execFile(
          process.execPath,
          [...line, '--', ...lived],
          { env },
          (error, stdout, stderr) => {
            resolve({ code: error ? Number(error.code) : 0, stdout, stderr });
          },
        );
      });
      return { child, ended };
    };

    test('when it is done', async () => {
      const { port, allGone } = await lifelines();
      const { ended } = start(port, '--play', handshake, '--only', 'ping');
      expect(await ended).toMatchObject({ code: 0, stderr: '' });
      // Three plays find out what there is, and each has a process that leaves another.
      expect(await allGone()).toBe(8);
    });

    test('when Ctrl-C ends it, and reports what it has found so far', async () => {
      const { port, reached, allGone } = await lifelines();
      const { child, ended } = start(port);
      await reached(8);
      child.kill('SIGINT');
      const { code, stdout, stderr } = await ended;
      expect(stderr).toBe('');
      expect(stdout).toMatch(
        /^Checked broken 1, .*: \d+ plays, seed 1\.\nInterrupted: results of the plays so far\.\n/,
      );
      expect(stdout).toContain('✓ MUST   ping: ');
      expect(code).toBe(130);
      await allGone();
    });

    test('when it is told to end, as JSON', async () => {
      const { port, reached, allGone } = await lifelines();
      const { child, ended } = start(port, '--json');
      await reached(2);
      child.kill('SIGTERM');
      const { code, stdout } = await ended;
      expect(JSON.parse(stdout)).toMatchObject({ interrupted: true, holds: false });
      expect(code).toBe(143);
      await allGone();
    });

    test('when it is told so twice', async () => {
      const { port, reached, allGone } = await lifelines();
      const { child, ended } = start(port);
      await reached(2);
      child.kill('SIGINT');
      child.kill('SIGINT');
      expect((await ended).code).toBe(130);
      await allGone();
    });
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
