/** Who shares a process of a bridged server, and what of it each client sees. */
import { join } from 'node:path';
import fc from 'fast-check';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import type { JsonObject } from 'mcp-actors';
import { bridge } from 'mcp-actors/bridge';
import type { BridgeOptions } from 'mcp-actors/bridge';
import { TestClock, scriptedConversation, enveloped, initialize } from 'mcp-actors/testing';
import { expectEmpty } from '../../processes/test/process-table.ts';
import { serveHttp } from '../../http/test/serving.ts';
import { hostOf } from './hosts.ts';
import { Journal } from './journal.ts';

const server = join(import.meta.dirname, 'journal-server.mjs');
let journal: Journal;

beforeEach(async (context) => {
  journal = await Journal.of(context);
});

const silent = { report: () => {} };

function bridged(options: BridgeOptions = {}, ...args: readonly string[]) {
  const entry = { command: process.execPath, args: [server, journal.path, ...args] };
  return bridge(entry, { era: 'legacy', processIdleMs: 0, ...silent, ...options });
}

type Peer = ReturnType<typeof scriptedConversation>['peer'];

/** A host of the legacy era, until the test is over. */
async function hosted(server: ReturnType<typeof bridged>, name: string) {
  const { peer, session } = scriptedConversation(server);
  const leave = async () => {
    peer.end();
    await session.closed;
  };
  onTestFinished(leave);
  await peer.handshake({ clientInfo: { name, version: '1' }, capabilities: { sampling: {} } });
  return { peer, leave };
}

/** Serves it over HTTP; posts requests since 2026-07-28 as a principal, and gives the result or the error. */
async function posting(served: ReturnType<typeof bridge>) {
  const verifyToken = (subject: string) => ({ subject });
  const url = await serveHttp(served, { authorization: { verifyToken }, ...silent });
  return async (name: string, method: string, params: JsonObject): Promise<unknown> => {
    const headers = {
      ...{ authorization: `Bearer ${name}`, 'content-type': 'application/json' },
      ...{ accept: 'application/json, text/event-stream', 'mcp-protocol-version': '2026-07-28' },
      ...{ 'mcp-method': method, 'mcp-name': String(params['name'] ?? params['uri']) },
    };
    const body = JSON.stringify(enveloped(1, method, params));
    const text = await (await fetch(url, { method: 'POST', headers, body })).text();
    const { result, error } = JSON.parse(text.replace(/^[^{]*data: /s, '')) as JsonObject;
    return result ?? error;
  };
}

let marks = 0;

interface Told {
  readonly mark: string;
  readonly pid: number;
  readonly answers: readonly { readonly code?: number; readonly model?: string }[];
}

/** Calls the tool; each question is answered with the name that is given. */
async function act(peer: Peer, name: string, ...steps: readonly string[]): Promise<Told> {
  const progressToken = `${name}-${++marks}`;
  const called = peer.call('act', { mark: progressToken, steps }, { progressToken });
  const { content } = (await called) as { content: readonly [{ text: string }] };
  return JSON.parse(content[0].text) as Told;
}

/** Answers so many questions. */
async function answer(peer: Peer, name: string, times: number): Promise<void> {
  for (; times > 0; times--) {
    const content = { type: 'text', text: name };
    peer.answer(await peer.request('sampling/createMessage'), {
      role: 'assistant',
      model: name,
      content,
    });
  }
}

describe.each(['session', 'shared', 'pool'] as const)('with share: %s', (share) => {
  const size = { session: 2, shared: 1, pool: 2 }[share];

  test('isolates clients from each other, whatever the server sends', async () => {
    const server = bridged({ share, poolSize: 2 });
    const hosts = await Promise.all(['ada', 'bob'].map((name) => hosted(server, name)));
    const step = fc.constantFrom('pause', 'progress', 'log', 'ask', 'ask-late');
    const call = fc.record({
      who: fc.constantFrom('ada', 'bob'),
      steps: fc.array(step, { maxLength: 4 }),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(call, { maxLength: 8 }), async (plan) => {
        const asks = (who: string, name: string) =>
          plan
            .flatMap(({ who: each, steps }) => (each === who ? steps : []))
            .filter((each) => each === name).length;
        const told = Promise.all(
          plan.map(({ who, steps }) => act(hosts[who === 'ada' ? 0 : 1]!.peer, who, ...steps)),
        );
        if (share === 'session') {
          await Promise.all(
            hosts.map(({ peer }, at) => {
              const who = ['ada', 'bob'][at]!;
              return answer(peer, who, asks(who, 'ask') + asks(who, 'ask-late'));
            }),
          );
        }
        for (const [at, { mark, answers }] of (await told).entries()) {
          const { who } = plan[at]!;
          expect(mark.startsWith(who)).toBe(true);
          for (const { model, code } of answers.filter(Boolean)) {
            expect(share === 'session' ? model : code).toBe(share === 'session' ? who : -32601);
          }
        }
        for (const [at, { peer }] of hosts.entries()) {
          expect(JSON.stringify(peer.received)).not.toContain(['bob-', 'ada-'][at]);
        }
      }),
      { numRuns: 25 },
    );
    const seen = JSON.stringify(hosts.map(({ peer }) => peer.received));
    expect(seen).toContain('notifications/progress');
    expect(seen.includes('notifications/message')).toBe(share === 'session');
    expect(journal.started()).toHaveLength(size);
    await Promise.all(hosts.map(({ leave }) => leave()));
  });

  test('a failed or cancelled start leaves no process', async () => {
    const failed = scriptedConversation(bridged({ share, restart: 'none' }, 'broken')).peer;
    await expect(failed.handshake()).rejects.toThrow(/cannot serve the client/);
    const { peer, session } = scriptedConversation(bridged({ share }, 'silent'), {
      limits: { upstreamTimeoutMs: 1000 },
    });
    peer.send(initialize(1));
    await expect.poll(() => journal.arrived().at(-1)).toMatch(/initialize$/);
    peer.end();
    expect(await peer.error(1)).toMatchObject({ data: { reason: 'upstream-failed' } });
    await session.closed;
  });
});

describe('a shared process', () => {
  test('rejects questions that belong to no client, with the reason', async () => {
    const server = bridged({ share: 'shared' });
    const { peer } = await hosted(server, 'ada');
    const { answers } = await act(peer, 'ada', 'ask');
    expect(answers).toEqual([
      {
        code: -32601,
        message: expect.stringMatching(
          /^sampling\/createMessage was rejected: a shared process cannot ask/,
        ),
        data: { reason: 'shared-process' },
      },
    ]);
    for (const method of ['logging/setLevel', 'tasks/list']) {
      await expect(peer.ask(method, { level: 'info' })).rejects.toThrow(/needs the capability/);
    }
    expect(journal.arrived().some((line) => /logging|tasks/.test(line))).toBe(false);
  });

  test('broadcasts list changes, and sends resource updates to subscribers', async () => {
    const server = bridged({ share: 'shared' });
    const [ada, bob, eve] = await Promise.all(
      ['ada', 'bob', 'eve'].map((name) => hosted(server, name)),
    );
    for (const each of [ada, bob]) await each!.peer.ask('resources/subscribe', { uri: 'a:1' });
    await act(eve!.peer, 'eve', 'change', 'update');
    for (const each of [ada, bob, eve]) {
      await each!.peer.quiet();
      expect(each!.peer.count('notifications/tools/list_changed')).toBe(1);
      expect(each!.peer.count('notifications/resources/updated')).toBe(each === eve ? 0 : 1);
    }
    await ada!.leave();
    expect(journal.arrived().filter((line) => line.endsWith('unsubscribe'))).toEqual([]);
    await bob!.peer.ask('resources/unsubscribe', { uri: 'a:1' });
    expect(journal.arrived().filter((line) => line.endsWith('subscribe'))).toHaveLength(2);
  });

  test('stays up for processIdleMs, so a returning client needs no start', async () => {
    const clock = new TestClock();
    const server = bridged({ share: 'shared', processIdleMs: 60_000, clock });
    const first = await hosted(server, 'ada');
    const { pid } = await act(first.peer, 'ada');
    await first.leave();
    clock.increment(59_000);
    const second = await hosted(server, 'bob');
    expect((await act(second.peer, 'bob')).pid).toBe(pid);
    clock.increment(60_000);
    expect((await act(second.peer, 'bob')).pid).toBe(pid);
    await second.leave();
    clock.increment(60_000);
    const third = await hosted(server, 'eve');
    expect((await act(third.peer, 'eve')).pid).not.toBe(pid);
    await third.leave();
    clock.increment(60_000);
  });

  test.each(['one server', 'many servers'])(
    'ends with the server of a bridge of %s',
    async (of) => {
      const options = { era: 'legacy', share: 'shared', ...silent } as const;
      const entry = { command: process.execPath, args: [server, journal.path] };
      const bridged = bridge(of === 'one server' ? entry : { mcpServers: { one: entry } }, options);
      const { peer, leave } = await hosted(bridged, 'ada');
      await peer.ask('tools/list');
      await leave();
      const [pid] = journal.started();
      // It is kept for others.
      expect(() => process.kill(pid!, 0)).not.toThrow();
      await bridged.close();
      expectEmpty(pid!);
    },
  );

  test('of 2026-07-28 asks each client in its own calls, in both eras', async () => {
    const args = [join(import.meta.dirname, 'modern-server.mjs')];
    const entry = { command: process.execPath, args };
    const server = bridge(entry, { share: 'shared', processIdleMs: 0, ...silent });
    const legacy = await hostOf('legacy', server);
    const modern = await hostOf('modern', server);
    const bare = await hostOf('legacy', server, {});
    for (const each of [legacy, modern]) {
      expect(await each.callTool('sample')).toContain('Hi');
      expect(await each.callTool('client')).toContain('sampling');
      expect(each.asked.map(({ method }) => method)).toEqual(['sampling/createMessage']);
    }
    expect(await bare.callTool('client')).not.toContain('sampling');
    for (const each of [legacy, modern, bare]) await each.close();
  });
});

describe('the number of processes', () => {
  test('is limited: one more session is rejected as retryable', async () => {
    const server = bridged({ maxProcesses: 1 });
    const { leave } = await hosted(server, 'ada');
    const { peer } = scriptedConversation(server);
    peer.send(initialize(1));
    expect(await peer.error(1)).toMatchObject({
      code: -32000,
      message: expect.stringContaining(
        'all 1 processes of the server are in use (maxProcesses)',
      ) as never,
      data: { reason: 'overloaded', retryable: true },
    });
    await leave();
    await act((await hosted(server, 'bob')).peer, 'bob');
    expect(journal.started()).toHaveLength(2);
  });

  test('is one per 2026-07-28 principal, and idle ones are evicted', async () => {
    const post = await posting(bridged({ maxProcesses: 2, processIdleMs: 60_000 }));
    const actAs = async (name: string, ...steps: readonly string[]) => {
      const params = { name: 'act', arguments: { mark: `${name}-${++marks}`, steps } };
      const { content } = (await post(name, 'tools/call', params)) as {
        content: readonly [{ text: string }];
      };
      return (JSON.parse(content[0].text) as Told).pid;
    };
    const [ada, bob] = [await actAs('ada'), await actAs('bob')];
    expect(await actAs('ada', 'pause')).toBe(ada);
    expect(await actAs('bob')).toBe(bob);
    expect(new Set([ada, bob]).size).toBe(2);
    // Ada's has been idle for longest.
    const eve = await actAs('eve');
    expectEmpty(ada);
    expect(await actAs('bob')).toBe(bob);
    expect(await actAs('eve')).toBe(eve);
    expect(journal.started()).toHaveLength(3);
  });
});

describe('an idle server among many', () => {
  test('frees its process for another client until it is needed again', async () => {
    const entry = (name: string) => ({
      command: process.execPath,
      args: [server, journal.path, name],
      era: 'legacy',
    });
    const mcpServers = { a: { ...entry('a'), maxProcesses: 1 }, b: entry('b') };
    const post = await posting(bridge({ mcpServers }, { ...silent, patienceMs: 60_000 }));
    const states = async (name: string) => {
      const { contents } = (await post(name, 'resources/read', { uri: 'bridge://servers' })) as {
        contents: readonly [{ text: string }];
      };
      const { servers } = JSON.parse(contents[0].text) as { servers: { state: string }[] };
      return servers.map(({ state }) => state);
    };
    const actAt = async (name: string, at: string) => {
      const params = { name: `${at}__act`, arguments: { mark: `${name}-${++marks}`, steps: [] } };
      const { content } = (await post(name, 'tools/call', params)) as {
        content: readonly [{ text: string }];
      };
      return (JSON.parse(content[0].text) as Told).pid;
    };
    const first = await actAt('ada', 'a');
    const other = await actAt('ada', 'b');
    await actAt('bob', 'a');
    expectEmpty(first);
    expect(await states('ada')).toEqual(['resting', 'ready']);
    // What it has is known, and what it has not been asked yet wakes it.
    expect(await actAt('ada', 'b')).toBe(other);
    const again = await actAt('ada', 'a');
    expect(again).not.toBe(first);
    expect(await states('ada')).toEqual(['ready', 'ready']);
    expect(await states('bob')).toEqual(['resting', 'ready']);
    expect(JSON.stringify(await post('bob', 'tools/list', {}))).toContain('a__act');
    expect(await states('ada')).toEqual(['resting', 'ready']);
    expect(await actAt('ada', 'b')).toBe(other);
  });
});

test.each([
  [{ share: 'all' as never }, /share must be "session", "shared" or "pool", got "all"/],
  [{ share: 'pool', poolSize: 0 } as const, /poolSize must be a number of at least 1, got 0/],
  [{ maxProcesses: NaN }, /maxProcesses must be a number of at least 1/],
])('rejects the option %j immediately', (options, said) => {
  expect(() => bridged(options)).toThrow(said);
});

test('rejects sharing of a server with a URL', () => {
  expect(() => bridge({ url: 'https://example.com/mcp' }, { share: 'pool' })).toThrow(
    /only launched servers can be shared/,
  );
});
