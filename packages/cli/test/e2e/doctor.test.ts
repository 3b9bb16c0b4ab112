/** What a hanging session waits for is told by the doctor and by SIGUSR2, over real processes. */
import { spawn } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { afterEach, describe, expect, test } from 'vitest';
import { enveloped } from 'mcp-actors/testing';
import { exchangeDirectory } from '../../../serve/src/doctor/exchange.ts';
import { fromPs } from '../../src/doctor/process-table.ts';
import {
  command,
  lab,
  launch,
  reapServers,
  repository,
  workspaceCommand,
} from '../../../../test/e2e/server-process.ts';
import type { ServerProcess } from '../../../../test/e2e/server-process.ts';

afterEach(reapServers);

interface Run {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

function doctor(...args: readonly (string | number)[]): Promise<Run> {
  const child = spawn(process.execPath, [...command, 'doctor', ...args.map(String)], {
    cwd: repository,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const output = { stdout: '', stderr: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output.stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (output.stderr += text));
  return new Promise((resolve) => child.on('close', (code) => resolve({ code, ...output })));
}

/** The command, with a client that declares roots, calls a tool, and answers nothing that it is asked. */
async function hanging(...options: readonly string[]): Promise<ServerProcess> {
  const server = launch([...workspaceCommand, '--roots-timeout=10min', ...options]);
  await server.initialize({ roots: {} });
  server.send({ id: 7, method: 'tools/call', params: { name: 'workspace_info', arguments: {} } });
  await server.heard('roots/list');
  // The ping comes back once the call has been taken.
  await server.request('ping', 'ping');
  return server;
}

/** A busy machine answers too. */
const patient = '--timeout=10s';

const pidOf = ({ child }: ServerProcess) => child.pid as number;
/** Sockets on which it is asked. Others may be asked by doctors of theirs. */
function questionsTo(server: ServerProcess): readonly string[] {
  const directory = exchangeDirectory();
  if (!existsSync(directory)) return [];
  return readdirSync(directory).filter((name) => name.startsWith(`${pidOf(server)}-`));
}

const cause =
  /The client has not answered roots\/list, asked .+ ago, given up in (10|9) min( \d+ s)?; what needs the roots waits for it/;

describe('mcp-actors doctor', () => {
  test('finds what a session waits for whose client never answers', async () => {
    const server = await hanging();
    const { code, stdout, stderr } = await doctor(patient, pidOf(server));
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(cause);
    expect(stdout).toMatch(/^ {2}tools\/call 7 \(workspace_info\): running, /m);
    // It was asked for the doctor's sake: nothing goes to its own stderr, and nothing is left behind.
    expect(server.stderr).toBe('');
    expect(questionsTo(server)).toEqual([]);

    server.child.stdin.end();
    expect(await server.exit).toEqual({ code: 0, signal: null });
  });

  test('finds a call of 2026-07-28 that has asked its client, and waits for the retry', async () => {
    const server = launch(workspaceCommand);
    const params = { name: 'workspace_info', arguments: {} };
    server.send(enveloped(7, 'tools/call', params, { capabilities: { roots: {} } }));
    expect(await server.answer(7)).toMatchObject({ result: { resultType: 'input_required' } });
    const { code, stdout, stderr } = await doctor(patient, pidOf(server));
    expect([code, stderr]).toEqual([0, '']);
    const lines = stdout.trimEnd().split('\n');
    const ago = String.raw`(\d+ (ms|s)|[\d.]+ s)`;
    const expected = [
      `mcp-actors \\S+, process ${pidOf(server)}`,
      `Session \\S+: modern, started ${ago} ago, client last heard ${ago} ago`,
      'Client: each request says who its client is',
      'Why nothing goes on:',
      `  - tools/call 7 \\(workspace_info\\) is suspended: it asked scripted-peer 1 question \\(roots/list\\) ${ago} ago, and waits for the retry, given up in (10|9) min( \\d+ s)?`,
      'Requests of the client: 0 of 64 run, 0 of \\d+ wait',
      `  tools/call 7 \\(workspace_info\\) of scripted-peer: suspended, ${ago}, 1 asked of the client`,
      'Requests to the client: 0 of \\d+ pending',
      'Output: 0 B of .+ wait to be read',
      'Roots: asked for by each call that needs them',
      'Tasks: 0 of \\d+ run, 0 are kept',
      'Memory: .+',
      'Actors: .+',
    ];
    expect(lines).toEqual(
      expected.map((line) => expect.stringMatching(new RegExp(`^${line}$`)) as string),
    );
  });

  test('says the same as JSON, of each process that serves', async () => {
    const servers = [await hanging(), await hanging()];
    const { stdout } = await doctor('--json', patient);
    const sessions = JSON.parse(stdout) as readonly { readonly pid: number }[];
    for (const server of servers) {
      expect(sessions.find(({ pid }) => pid === pidOf(server))).toMatchObject({
        state: 'initialized',
        calls: [{ id: 7, method: 'tools/call', subject: 'workspace_info', state: 'running' }],
        pending: [{ method: 'roots/list', state: 'sent' }],
        queues: { running: { count: 1, max: 64 }, outboundBytes: { count: 0 } },
        why: [expect.stringMatching(cause), expect.stringContaining('workspace_info')],
        causes: [
          { kind: 'question', subject: { method: 'roots/list' } },
          { kind: 'roots', subject: { subject: 'workspace_info' } },
        ],
      });
    }
  });

  test('serves two doctors at once', async () => {
    const server = await hanging();
    const runs = await Promise.all([
      doctor(patient, pidOf(server)),
      doctor(patient, pidOf(server)),
    ]);
    for (const { code, stdout } of runs) {
      expect(code).toBe(0);
      expect(stdout).toMatch(cause);
    }
  });

  test('finds a client that does not read', async () => {
    const server = launch([...workspaceCommand, '--limit=maxOutboundBytes=64KiB'], {
      unread: 'stdout',
    });
    server.send({
      id: 1,
      method: 'initialize',
      params: {
        protocolVersion: '2025-11-25',
        capabilities: {},
        clientInfo: { name: 'deaf', version: '1' },
      },
    });
    server.send({ method: 'notifications/initialized' });
    for (let id = 2; id < 400; id++) server.send({ id, method: 'tools/list' });
    await server.log.find(({ event }) => event === 'output.blocked');
    const { code, stdout } = await doctor(patient, pidOf(server));
    expect(code).toBe(0);
    expect(stdout).toMatch(/The client does not read: [\d.]+ (KiB|MiB) wait for it/);
  });

  test('says of a stopped process that it is stopped, and exits with 1', async () => {
    const server = await hanging();
    process.kill(pidOf(server), 'SIGSTOP');
    const { code, stdout, stderr } = await doctor('--timeout=300ms', pidOf(server));
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(/is stopped: no answer within 300 ms\. Resume it with kill -CONT \d+/);

    // Asked in vain, it answers once it can.
    process.kill(pidOf(server), 'SIGCONT');
    await expect.poll(() => server.stderr).toMatch(cause);
  });

  test('sends no signal to what is none of ours, and exits with 1', async () => {
    const other = spawn(process.execPath, ['-e', 'process.stdin.resume()', 'mcp-actors'], {
      stdio: ['pipe', 'ignore', 'ignore'],
    });
    const ended = new Promise((resolve) => other.on('exit', (code) => resolve(code)));
    const { code, stderr } = await doctor(other.pid as number);
    expect(code).toBe(1);
    expect(stderr).toMatch(/Process \d+ is not a serving mcp-actors process of yours/);
    other.stdin.end();
    // Not by the signal, which would give null.
    expect(await ended).toBe(0);
  });

  test('called wrongly exits with 2 and says why', async () => {
    const { code, stdout, stderr } = await doctor('soon');
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toBe('mcp-actors: doctor: PID must be a process id, got "soon"\n');
  });

  test('has a help text', async () => {
    const { code, stdout } = await doctor('--help');
    expect(code).toBe(0);
    expect(stdout).toMatch(/^Usage: mcp-actors doctor \[options\] \[PID\.\.\.\]/);
    expect(stdout).toContain('Exit status: 0 if every queried process has answered');
  });

  test('finds processes by ps, where there is no /proc', async () => {
    const server = await hanging();
    expect(fromPs().find(({ pid }) => pid === pidOf(server))).toMatchObject({
      args: ['workspace', '--roots-timeout=10min'],
    });
  });
});

describe('SIGUSR2', () => {
  test('writes to stderr what the session waits for; stdout and the session go on', async () => {
    const server = await hanging('--log-level=silent');
    server.child.kill('SIGUSR2');
    await expect.poll(() => server.stderr).toMatch(cause);
    expect(server.stderr).toMatch(/^mcp-actors \S+, process \d+\nSession /);
    await server.request('again', 'ping');
    server.child.stdin.end();
    expect(await server.exit).toEqual({ code: 0, signal: null });
  });

  test('does so in a server of one’s own, ', async () => {
    const server = launch(lab);
    await server.initialize({ elicitation: {} });
    const params = { name: 'ask', arguments: { kind: 'elicitation', count: 1 } };
    server.send({ id: 7, method: 'tools/call', params });
    await server.heard('elicitation/create');
    server.child.kill('SIGUSR2');
    await expect
      .poll(() => server.stderr)
      .toMatch(
        /tools\/call 7 \(ask\) waits for the client's answer to elicitation\/create, asked .* ago, given up in /,
      );
  });
});
