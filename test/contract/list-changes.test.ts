import { createMcpServer, definePrompt, defineResource, defineResourceTemplate } from 'mcp-actors';
import type { McpServer } from 'mcp-actors';
import { initialized } from 'mcp-actors/testing';
import { describe, expect, test } from 'vitest';
import { everywhere, memoryAndHttp } from './everywhere.ts';
import { connect, echo, initialize, operate, serve, tool } from './serving.ts';

const read = () => '';
const template = defineResourceTemplate({ uriTemplate: 'many://{n}', name: 'many', read });
const fixed = defineResource({ uri: 'one://1', name: 'one', read });
const prompt = definePrompt({ name: 'ask', get: () => '' });
const features = { tools: [echo], prompts: [], resources: [], resourceTemplates: [] };

interface Kind {
  readonly kind: string;
  readonly method: string;
  /** Actions that change the list. */
  readonly changes: readonly ((server: McpServer) => void)[];
}

const kinds: readonly Kind[] = [
  {
    kind: 'tools',
    method: 'notifications/tools/list_changed',
    changes: [
      ({ tools }) => tools.add(tool('late', () => '')),
      ({ tools }) => tools.disable('late'),
      ({ tools }) => tools.enable('late'),
      ({ tools }) => tools.remove('late'),
    ],
  },
  {
    kind: 'prompts',
    method: 'notifications/prompts/list_changed',
    changes: [
      ({ prompts }) => prompts.add(prompt),
      ({ prompts }) => prompts.disable('ask'),
      ({ prompts }) => prompts.enable('ask'),
      ({ prompts }) => prompts.remove('ask'),
    ],
  },
  {
    kind: 'resources',
    method: 'notifications/resources/list_changed',
    changes: [
      ({ resources }) => resources.add(fixed),
      ({ resources }) => resources.disable(fixed.uri),
      ({ resources }) => resources.enable(fixed.uri),
      ({ resources }) => resources.remove(fixed.uri),
    ],
  },
  {
    kind: 'resource templates',
    method: 'notifications/resources/list_changed',
    changes: [
      ({ resourceTemplates }) => resourceTemplates.add(template),
      ({ resourceTemplates }) => resourceTemplates.announce(),
      ({ resourceTemplates }) => resourceTemplates.remove(template.uriTemplate),
    ],
  },
];

/** Longer than the debounce time. */
const quietMs = 60;

everywhere('a change of a list', memoryAndHttp, () => {
  describe.each(kinds)('changes of $kind', ({ method, changes }) => {
    test('are announced once they settle, whatever the change [LIST-01] [RES-08]', async () => {
      const { peer, server, clock } = await operate(features);
      for (const [at, change] of changes.entries()) {
        change(server);
        await peer.quiet();
        expect(peer.count(method)).toBe(at);
        clock.increment(quietMs);
        expect(await peer.notification(method)).not.toHaveProperty('params');
      }
    });

    test('are announced once for several in a row, and as no other kind [LIST-02]', async () => {
      const { peer, server, clock } = await operate(features);
      for (const change of changes) {
        change(server);
        clock.increment(10);
      }
      clock.increment(1000);
      await peer.notification(method);
      await peer.quiet();
      const told = kinds.map((each) => peer.count(each.method));
      expect(told).toEqual(kinds.map((each) => (each.method === method ? 1 : 0)));
    });

    test('before the client is ready are announced once it is [LIST-03]', async () => {
      const { peer, server, clock } = serve(features);
      peer.send(initialize(1));
      await peer.response(1);
      for (const change of changes) change(server);
      clock.increment(1000);
      await peer.quiet();
      expect(peer.count(method)).toBe(0);
      peer.send(initialized);
      await peer.quiet();
      clock.increment(quietMs);
      await peer.notification(method);
      await peer.quiet();
      expect(peer.count(method)).toBe(1);
    });
  });
});

const [tools] = kinds as readonly [Kind];

everywhere('a list', memoryAndHttp, () => {
  test('that never stop are still announced, but not each time [LIST-02]', async () => {
    const { peer, server, clock } = await operate(features);
    for (let n = 0; n < 100; n++) {
      server.tools.add(tool(`tool-${n}`, () => ''));
      clock.increment(40);
    }
    await peer.quiet();
    const told = peer.count(tools.method);
    expect(told).toBeGreaterThanOrEqual(2);
    expect(told).toBeLessThanOrEqual(5);
  });

  test('that enable something already enabled are not announced [LIST-01]', async () => {
    const { peer, server, clock } = await operate(features);
    server.tools.enable('echo');
    server.tools.remove('nothing');
    expect(() => server.tools.add(echo)).toThrow('"echo"');
    expect(() => server.tools.disable('nothing')).toThrow('"nothing"');
    clock.increment(1000);
    await peer.quiet();
    expect(peer.count(tools.method)).toBe(0);
  });

  test('show what is enabled, and make only that available [LIST-01]', async () => {
    const { peer, server } = await operate(features);
    server.tools.disable('echo');
    expect(await peer.ask('tools/list')).toEqual({ tools: [] });
    await expect(peer.call('echo')).rejects.toMatchObject({ error: { code: -32602 } });
    server.tools.enable('echo');
    expect(await peer.ask('tools/list')).toHaveProperty('tools.length', 1);
    expect(await peer.call('echo')).toHaveProperty('content');
  });

  test('with time between them are announced separately [LIST-02]', async () => {
    const { peer, server, clock } = await operate(features);
    for (const change of tools.changes.slice(0, 2)) {
      change(server);
      clock.increment(quietMs);
    }
    await peer.quiet();
    expect(peer.count(tools.method)).toBe(2);
  });
});

// Over HTTP the endpoint has a timer, which ends with it.
describe('a list change', () => {
  test('is announced in each session until that session ends [LIST-04]', async () => {
    const server = createMcpServer({ name: 'shared', version: '1', ...features });
    const [one, other] = [connect(server), connect(server)];
    const pass = () => [one, other].map(({ clock }) => clock.increment(quietMs));
    await one.peer.handshake();
    await other.peer.handshake();
    tools.changes[0]?.(server);
    pass();
    await one.peer.notification(tools.method);
    await other.peer.notification(tools.method);

    // A pending announcement leaves no timer behind at the end of the session.
    tools.changes[1]?.(server);
    await one.session[Symbol.asyncDispose]();
    pass();
    await other.peer.notification(tools.method);
    expect(one.peer.count(tools.method)).toBe(1);
    tools.changes[2]?.(server);
    await other.session[Symbol.asyncDispose]();
    expect([one.clock.liveTimers, other.clock.liveTimers]).toEqual([0, 0]);
    expect(other.peer.count(tools.method)).toBe(2);
  });
});
