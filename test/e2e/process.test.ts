import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { program } from '../tooling/programs.ts';
import { temporaryDirectory } from '../../packages/roots/test/temporary-directory.ts';
import { makeNamedPipe } from '../../packages/roots/test/named-pipe.ts';
import { accident, onSignal, preload } from './preload.ts';
import { gone, launch, reapServers, workspaceCommand } from './server-process.ts';
import type { ServerProcess } from './server-process.ts';

afterEach(reapServers);

const clean = { code: 0, signal: null };
const project = { cwd: tmpdir() };

const deaf = {
  protocolVersion: '2025-11-25',
  capabilities: {},
  clientInfo: { name: 'deaf', version: '1' },
};

/** A server whose client has stopped reading, with answers that it cannot write. */
async function blocked(first: readonly string[] = []): Promise<ServerProcess> {
  const limits = [
    '--limit=maxOutboundBytes=64KiB',
    '--drain-timeout=1h',
    '--limit=stallTimeoutMs=1h',
    '--log-level=info',
  ];
  const server = launch([...first, ...workspaceCommand, ...limits], {
    ...project,
    unread: 'stdout',
  });
  server.send({
    id: 'init',
    method: 'initialize',
    params: deaf,
  });
  server.send(...Array.from({ length: 20_000 }, (_, id) => ({ id, method: 'ping' })));
  await server.log.find(({ event }) => event === 'output.blocked');
  return server;
}

describe('the process exits with 0', () => {
  test('at the end of its input, before and after the handshake', async () => {
    const early = launch(workspaceCommand, project);
    early.end();
    expect(await early.exit).toEqual(clean);

    const late = launch(workspaceCommand, project);
    await late.initialize({ roots: {} });
    await late.heard('roots/list');
    late.end();
    expect(await late.exit).toEqual(clean);
    expect(late.stderr).toBe('');
  });

  test('after all requests in its input are answered', async () => {
    const server = launch(workspaceCommand, project);
    await server.initialize();
    server.send(...Array.from({ length: 500 }, (_, id) => ({ id, method: 'ping' })));
    server.end();
    expect(await server.exit).toEqual(clean);
    const answered = server.messages.all.filter(({ id }) => typeof id === 'number');
    expect(answered).toHaveLength(500);
  });

  test.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)('on %s', async (signal) => {
    const server = launch([...workspaceCommand, '--log-level=info'], project);
    await server.initialize();
    server.child.kill(signal);
    expect(await server.exit).toEqual(clean);
    expect(server.log.all).toContainEqual(
      expect.objectContaining({ event: 'session.closed', message: 'shutdown' }),
    );
  });

  test('when the client closes its stdout, with one log line at most [LIFE-18]', async () => {
    const server = launch(workspaceCommand, project);
    await server.initialize();
    server.child.stdout.destroy();
    server.send(...Array.from({ length: 10 }, (_, id) => ({ id, method: 'ping' })));
    expect(await server.exit).toEqual(clean);
    expect(server.log.all.length).toBeLessThanOrEqual(1);
  });

  test('even if a handler keeps the event loop alive', async () => {
    const server = launch(
      [...preload('setInterval(() => {}, 1000)'), ...workspaceCommand],
      project,
    );
    await server.initialize();
    server.end();
    expect(await server.exit).toEqual(clean);
  });
});

describe('a cancelled handler may clean up, and leaves no child process', () => {
  /** A call that runs a process, and the process id. */
  async function spawning(drainTimeoutMs: number) {
    const server = launch([...program('test/e2e/spawning-server.ts'), String(drainTimeoutMs)]);
    await server.initialize();
    server.send({ id: 1, method: 'tools/call', params: { name: 'run' } });
    const { message } = await server.log.find(({ event }) => event === 'child');
    return { server, pid: Number(message) };
  }

  test('at the end of input, with the call answered', async () => {
    const { server, pid } = await spawning(800);
    server.end();
    expect(await server.exit).toEqual(clean);
    expect(server.messages.all.at(-1)).toMatchObject({ id: 1, error: { code: -32000 } });
    // On a busy machine the remaining drain time may be too short to reap the process.
    await gone(pid);
  });

  test('not even as a zombie, because the session waits for the handler', async () => {
    const { server, pid } = await spawning(600_000);
    // Calls are cancelled at once if nobody can read their answers.
    server.child.stdout.destroy();
    server.send({ id: 2, method: 'ping' });
    expect(await server.exit).toEqual(clean);
    expect(() => process.kill(pid, 0)).toThrow('ESRCH');
  });
});

describe('a second signal', () => {
  test.each([
    ['SIGTERM', 143],
    ['SIGINT', 130],
  ] as const)('ends the process at once: %s exits with %d', async (signal, code) => {
    const server = await blocked();
    server.child.kill('SIGTERM');
    await server.log.find(({ event }) => event === 'process.signalled');
    server.child.kill(signal);
    // Reading earlier would let the process end by itself.
    expect(await once(server.child, 'exit')).toEqual([code, null]);
  });
});

describe('the process ends in time', () => {
  /** Opens a FIFO without a writer, which blocks a thread that cannot be stopped. */
  async function hang(): Promise<readonly string[]> {
    const pipe = join(await temporaryDirectory(), 'pipe');
    makeNamedPipe(pipe);
    return preload(`import { open } from 'node:fs'; open(${JSON.stringify(pipe)}, 'r', () => {});`);
  }

  test('on SIGTERM during a hanging file request, because a normal exit would wait for it', async () => {
    const server = launch([...(await hang()), ...workspaceCommand], project);
    await server.initialize();
    server.end();
    expect(await server.exit).toEqual({ code: null, signal: 'SIGTERM' });
    expect(server.log.all).toMatchObject([{ event: 'process.abandoned' }]);
  });

  test('on a second signal during a hanging file request, by that signal', async () => {
    const server = await blocked(await hang());
    server.child.kill('SIGTERM');
    await server.log.find(({ event }) => event === 'process.signalled');
    server.child.kill('SIGINT');
    expect(await once(server.child, 'exit')).toEqual([null, 'SIGINT']);
  });

  test('while nobody reads the remaining output, which is discarded', async () => {
    const server = launch(
      [...workspaceCommand, '--limit=maxOutboundBytes=64KiB', '--log-level=info'],
      {
        ...project,
        unread: 'stdout',
      },
    );
    server.send({ id: 'init', method: 'initialize', params: deaf });
    server.send(...Array.from({ length: 20_000 }, (_, id) => ({ id, method: 'ping' })));
    await server.log.find(({ event }) => event === 'output.blocked');
    server.child.kill('SIGTERM');
    await server.log.find(({ event }) => event === 'output.stalled');
    expect(await once(server.child, 'exit')).toEqual([0, null]);
  });
});

test('sends all output, in order, to a client that resumes reading [FLOW-07]', async () => {
  const server = await blocked();
  let text = '';
  server.child.stdout.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
  await server.log.find(({ event }) => event === 'output.flowing');
  server.end();
  expect(await server.exit).toEqual(clean);
  const ids = text
    .trimEnd()
    .split('\n')
    .map((line) => (JSON.parse(line) as { id: unknown }).id);
  expect(ids).toEqual(['init', ...Array.from({ length: 20_000 }, (_, id) => id)]);
});

describe('an uncaught error', () => {
  test.each([
    ['an exception', 'throw new Error("boom, token=hun" + "ter2")'],
    ['a rejection', 'void Promise.reject(new Error("boom, token=hun" + "ter2"))'],
  ])('ends the session and exits with 1: %s is logged with its stack', async (_what, code) => {
    const server = launch([...onSignal(code), ...workspaceCommand], project);
    await server.initialize();
    await server.request(1, 'ping');
    server.child.kill(accident);
    expect(await server.exit).toEqual({ code: 1, signal: null });
    const failed = server.log.all.find(({ event }) => event === 'process.failed');
    expect(failed).toMatchObject({
      level: 'error',
      session: 'rootsKnown',
      details: {
        error: { message: 'boom, token=[redacted]', stack: expect.any(String) as string },
      },
    });
    expect(server.stderr).not.toContain('hunter2');
  });
});

describe('stdout and stderr', () => {
  test('redirect output of dependencies to stderr [STDIO-09]', async () => {
    const noise = onSignal('console.log("noise"); process.stdout.write("more noise\\n")');
    const server = launch([...noise, ...workspaceCommand], project);
    await server.initialize();
    server.child.kill(accident);
    // A signal arrives after earlier input.
    await expect.poll(() => server.stderr).toContain('more noise\n');
    await server.request(1, 'ping');
    server.end();
    expect(await server.exit).toEqual(clean);
    expect(server.stderr).toBe('noise\nmore noise\n');
  });

  test('log the length of redirected output at debug level', async () => {
    const noise = onSignal('process.stdout.write("noise\\n")');
    const server = launch([...noise, ...workspaceCommand, '--log-level=debug'], project);
    await server.initialize();
    server.child.kill(accident);
    await expect.poll(() => server.stderr).toContain('output.diverted');
    server.end();
    expect(await server.exit).toEqual(clean);
    expect(server.stderr).toContain('Redirected 6 characters from stdout');
  });

  test('survive a closed stderr', async () => {
    const server = launch([...workspaceCommand, '--log-level=debug'], project);
    await server.initialize();
    server.child.stderr.destroy();
    void server.write('no JSON\n'.repeat(100));
    await server.request(1, 'ping');
    await server.request(2, 'ping');
    server.end();
    expect(await server.exit).toEqual(clean);
  });

  test('do not block the session or its end if stderr is not read', async () => {
    const server = launch([...workspaceCommand, '--log-level=debug'], project);
    server.child.stderr.pause();
    await server.initialize();
    void server.write(`"${'x'.repeat(10_000)}"\n`.repeat(200));
    await server.request(1, 'ping');
    server.end();
    // Waits for exit instead of close, because closed pipes would need a reader.
    expect(await once(server.child, 'exit')).toEqual([0, null]);
    server.child.stderr.resume();
  });
});
