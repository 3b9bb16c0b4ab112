/** A connection's way to a process, with real ones; the process table is looked at afterwards. */
import { afterEach, describe, expect, test } from 'vitest';
import { TestClock } from 'mcp-actors/testing';
import { stdioChannel } from '../src/stdio/stdio-channel.actor.ts';
import type {
  StdioChannelKind,
  StdioEntry,
  StdioOptions,
} from '../src/stdio/stdio-channel.actor.ts';
import { workspaceCommand } from '../../../test/e2e/server-process.ts';
import { emptied, expectEmpty, membersOf } from '../../processes/test/process-table.ts';
import { ChannelOwner } from './channel-owner.ts';

const owners: [ChannelOwner, StdioChannelKind][] = [];
afterEach(async () => {
  for (const [owner, { pid }] of owners.splice(0)) {
    owner.end();
    if (pid !== undefined) await emptied(pid);
  }
});

const patient = { inputMs: 60_000, terminateMs: 60_000, killMs: 60_000 };

function open(entry: StdioEntry, options: StdioOptions = { stop: patient }) {
  const kind = stdioChannel(entry, options);
  const owner = new ChannelOwner(kind);
  owners.push([owner, kind]);
  return { kind, owner };
}
const shell = (text: string): StdioEntry => ({ command: 'sh', args: ['-c', text] });

const initialize = {
  protocolVersion: '2025-11-25',
  capabilities: {},
  clientInfo: { name: 'host', version: '1' },
};

describe('a channel to a process', () => {
  test('carries messages both ways, and stops when nothing of it is left', async () => {
    const { kind, owner } = open({ command: process.execPath, args: workspaceCommand });
    await owner.told('channel.opened');
    owner.send('initialize', initialize);
    expect(await owner.frame()).toMatchObject({ kind: 'response' });
    owner.close();
    owner.close();
    await owner.told('channel.stopped');
    owner.close();
    expect(owner.order).toEqual(['opened', 'stopped']);
    expect(kind.launches).toBe(1);
    expectEmpty(kind.pid as number);
  });

  test('is lost with the code and the last words of a process that ends by itself', async () => {
    const { kind, owner } = open(shell('echo "no database" >&2; exit 3'));
    await owner.told('channel.lost');
    expect(owner.loss).toEqual({ kind: 'exited', code: 3, signal: null, stderr: 'no database' });
    owner.close();
    await owner.told('channel.stopped');
    expect(owner.order).toEqual(['opened', 'lost', 'stopped']);
    expect(owner.stderr).toEqual(['no database']);
    expectEmpty(kind.pid as number);
  });

  test('is lost with the signal if the process is killed in the middle of a request', async () => {
    const { kind, owner } = open({ command: 'cat', env: { 'odd-name': '1' } });
    await owner.told('channel.opened');
    expect(owner.facts).toMatchObject([
      {
        name: 'process.unwatched',
        message: expect.stringMatching(/^cat will keep running/) as string,
      },
    ]);
    owner.send('ping');
    await owner.frame();
    process.kill(kind.pid as number, 'SIGKILL');
    await owner.told('channel.lost');
    expect(owner.loss).toMatchObject({ kind: 'exited', code: null, signal: 'SIGKILL' });
  });

  test('gives what the process wrote last before it tells that it is lost', async () => {
    const { owner } = open(shell(`echo '{"jsonrpc":"2.0","id":1,"result":{}}'; exit 1`));
    await owner.told('channel.lost');
    expect(owner.frames).toMatchObject([{ kind: 'response' }]);
  });

  test('is never opened if the command cannot be started', async () => {
    const { kind, owner } = open({ command: 'no-such-server' });
    await owner.told('channel.lost');
    expect(owner.loss).toMatchObject({
      kind: 'spawn-failed',
      error: { code: 'SPAWN_FAILED', message: expect.stringContaining('no-such-server') as string },
    });
    owner.close();
    await owner.told('channel.stopped');
    expect(owner.order).toEqual(['lost', 'stopped']);
    expect(kind).toMatchObject({ launches: 0, pid: undefined });
  });

  test('is lost at once if what it is told to start is no command', async () => {
    const { owner } = open({ command: 5 } as never);
    await owner.told('channel.lost');
    expect(owner.loss).toMatchObject({
      error: { message: 'command must be a string, got 5' },
    });
  });

  test('is lost if the process closes its output and goes on', async () => {
    const { kind, owner } = open(shell('echo why >&2; exec >&-; trap "" TERM; exec sleep 1000'), {
      stop: { ...patient, inputMs: 0, terminateMs: 0 },
    });
    await owner.told('channel.lost');
    expect(owner.loss).toMatchObject({ kind: 'input-ended', stderr: 'why' });
    owner.close();
    await owner.told('channel.stopped');
    expect(owner.order).toEqual(['opened', 'lost', 'stopped']);
    expectEmpty(kind.pid as number);
  });

  test('is lost if the process closes its input and goes on', async () => {
    const { owner } = open(
      shell('exec <&-; echo \'{"jsonrpc":"2.0","method":"up"}\'; sleep 1000'),
      {
        stop: { inputMs: 0 },
      },
    );
    await owner.frame();
    owner.send('ping');
    await owner.told('channel.lost');
    expect(owner.loss).toMatchObject({ kind: 'output-broken', error: { code: 'EPIPE' } });
  });

  test('is lost by the exit, which says more, if its pipes break by that', async () => {
    const { owner } = open(shell('exec <&- >&-; exit 5'), { stop: { drainMs: 60_000 } });
    await owner.told('channel.opened');
    owner.send('ping');
    await owner.told('channel.lost');
    expect(owner.loss).toMatchObject({ kind: 'exited', code: 5 });
  });

  test('that is closed while its command is looked for starts nothing', async () => {
    const { kind, owner } = open({ command: 'cat' });
    owner.close();
    await owner.told('channel.stopped');
    expect(owner.order).toEqual(['stopped']);
    expect(kind.launches).toBe(0);
  });

  test('whose actor is stopped leaves nothing', async () => {
    const kind = stdioChannel(shell('trap "" TERM; sleep 1000 & cat'), { stop: patient });
    const clock = new TestClock();
    const owner = new ChannelOwner(kind, clock);
    owners.push([owner, kind]);
    await owner.told('channel.opened');
    const idle = clock.liveTimers;
    for (let n = 0; n < 2; n++) owner.channel.send({ type: 'input.ended' });
    expect(clock.liveTimers).toBe(idle + 1);
    owner.end();
    await emptied(kind.pid as number);
    clock.increment(60_000);
    expect(owner.order).toEqual(['opened']);
    expect(clock.liveTimers).toBe(0);
  });

  test('of the same server is a new process each time', async () => {
    const kind = stdioChannel(shell('echo "run $$" >&2; exit 1'));
    const pids: unknown[] = [];
    for (let launch = 1; launch <= 3; launch++) {
      const owner = new ChannelOwner(kind);
      owners.push([owner, kind]);
      await owner.told('channel.lost');
      pids.push(kind.pid);
      expect(owner.loss).toMatchObject({ stderr: `run ${kind.pid}` });
      owner.close();
      await owner.told('channel.stopped');
      expect(kind.launches).toBe(launch);
    }
    expect(new Set(pids).size).toBe(3);
    expect(kind.stderr.text).toBe(pids.map((pid) => `run ${pid as number}\n`).join(''));
  });

  test('tells if some of its group outlives everything', async () => {
    const kind = stdioChannel(
      { command: 'cat' },
      { stop: { inputMs: 1, terminateMs: 1, killMs: 1 } },
    );
    const clock = new TestClock();
    const owner = new ChannelOwner(kind, clock);
    owners.push([owner, kind]);
    await owner.told('channel.opened');
    owner.close();
    // No process can end as fast.
    for (let step = 0; step < 3; step++) clock.increment(1);
    await owner.told('channel.stopped');
    const message = `Processes of group ${kind.pid} survived SIGKILL`;
    expect(owner.facts).toMatchObject([{ name: 'process.unkillable', level: 'warning', message }]);
    expect(membersOf(process.pid)).not.toContain(kind.pid);
  });
});

describe("a server's standard error", () => {
  test('may be a flood: it is read, counted, told in whole lines, and its end is kept [PROC-02]', async () => {
    const lines = 200_000;
    const { kind, owner } = open(shell(`yes 0123456789 | head -n ${lines} >&2; echo last >&2`));
    await owner.told('channel.lost');
    expect(kind.stderr.bytes).toBe(lines * 11 + 5);
    const { text } = kind.stderr;
    expect(text.length).toBeLessThanOrEqual(64 * 1024);
    expect(text.length).toBeGreaterThan(64 * 1024 - 11);
    expect(text).toMatch(/^(0123456789\n)+last\n$/);
    expect(owner.stderr.join('\n').length).toBe(lines * 11 + 4);
    for (const told of owner.stderr) expect(told).toMatch(/^(0123456789\n?)*(last)?$/);
    expect(owner.loss).toMatchObject({ stderr: expect.stringMatching(/\nlast$/) as string });
  });
});

describe('the kind of channel', () => {
  test('has a key for what is remembered of a server, which shows no secret', () => {
    const entry = { command: 'node', args: ['a.js'], env: { TOKEN: 'sesame', A: 'b' } };
    const { eraKey } = stdioChannel(entry);
    expect(eraKey).not.toContain('sesame');
    expect(stdioChannel({ ...entry, env: { A: 'b', TOKEN: 'sesame' } }).eraKey).toBe(eraKey);
    const others = [
      { ...entry, command: 'deno' },
      { ...entry, args: ['b.js'] },
      { ...entry, env: { ...entry.env, TOKEN: 'other' } },
      { ...entry, cwd: '/' },
    ];
    expect(new Set([entry, ...others].map((each) => stdioChannel(each).eraKey)).size).toBe(5);
    expect(stdioChannel({ command: '/usr/bin/node' }).name).toBe('node');
  });

  test.each([
    [{ stop: { inputMs: -5 } }, 'stop.inputMs must be'],
    [{ inheritEnv: 'PATH' }, 'inheritEnv must be a boolean or an array of names, got "PATH"'],
    [{ inheritEnv: [1] }, 'inheritEnv must be a boolean or an array of names, got an array'],
  ])('refuses %j', (options, message) => {
    expect(() => stdioChannel({ command: 'cat' }, options as StdioOptions)).toThrow(message);
  });
});
