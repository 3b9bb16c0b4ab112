/** What watchers see of many servers: those without a connection, and those that have one. */
import { describe, expect, onTestFinished, test } from 'vitest';
import { flush } from 'mcp-actors/testing';
import type { MachineTransition } from '../../../../src/actors/transitions.ts';
import type { WatchedConnection } from '../../src/connection/watched-connection.ts';
import { readHosts } from '../../src/hosts/hosts-file.ts';
import { ScriptedServers, now } from './scripted-servers.ts';

const launched = { command: 'x' };
const lazy = { ...launched, lazy: true };
const off = { ...launched, disabled: true };
const faulty = { command: 5 };
const config = (mcpServers: object) => readHosts({ mcpServers }, { environment: {} });

describe('a watcher of many servers', () => {
  const watching = (mcpServers: object, plan?: (servers: ScriptedServers) => void) => {
    const seen: WatchedConnection[] = [];
    const watchers = [(watched: WatchedConnection) => seen.push(watched)];
    return { seen, servers: new ScriptedServers(mcpServers, { watchers }, plan) };
  };
  const slot = (state: string) => ({ id: 'slot', kind: 'machine', status: 'active', state });

  test('sees servers without a connection, with state and time', async () => {
    const { seen, servers } = watching({ lazy, off, faulty });
    await flush();
    servers.clock.increment(4);
    // What changes nothing of them is no new beginning.
    servers.manager.apply(config({ lazy, off, faulty }));
    await flush();
    servers.clock.increment(6);
    const none = { count: 0, max: 0 };
    const dump = (name: string, state: string, chart = state) => ({
      ...{ side: 'host', id: expect.any(String), name, state, launches: 0, attempt: 0 },
      ...{ ageMs: 10, quietMs: 10, isUnheard: true, sinceMs: 10 },
      ...{ lists: [], calls: [], pending: [] },
      queues: { running: none, waiting: none, pending: none, outboundBytes: none, holds: [] },
      actors: [slot(chart)],
    });
    const reason = 'server "faulty", key "command": 5 is not the name or path of a program';
    const dumps = seen.map((each) => each.dump());
    expect(dumps).toStrictEqual([
      dump('lazy', 'idle'),
      dump('off', 'disabled'),
      {
        ...dump('faulty', 'failed', 'faulty'),
        loss: { kind: 'not started', message: reason },
      },
    ]);
    for (const [at, { side, id, actor, traffic }] of seen.entries()) {
      expect([side, id, actor.id]).toEqual(['host', dumps[at]?.id, 'slot']);
      expect(traffic.listen({})()).toBeUndefined();
    }
    // Those that the configuration has no more are gone.
    servers.manager.apply(config({ lazy, off: { ...launched, command: 'y' } }));
    const [, removed, replaced] = seen;
    for (const each of [removed, replaced]) expect(await each?.closed).toBeUndefined();
    await flush();
    const [first, , , last] = seen;
    expect(seen).toHaveLength(4);
    for (const each of [first, last])
      expect(await now(each?.closed.then(() => 'gone'))).toBeUndefined();
    await servers.manager.close();
    for (const each of [first, last]) expect(await each?.closed).toBeUndefined();
  });

  test('sees one id for a server across idle and connected states', async () => {
    const { seen, servers } = watching({ a: { ...lazy, idleMs: 1000 } });
    const { manager, clock } = servers;
    await flush();
    const transitions: MachineTransition[] = [];
    const [idle] = seen;
    idle?.transitions.listen((each) => transitions.push(each));
    idle?.transitions.listen(() => {
      throw new Error('A listener is broken');
    });
    let ending = (): void => {};
    servers.plan('a').ending = new Promise((resolve) => (ending = resolve));
    onTestFinished(() => ending());
    await manager.use('a');
    expect(transitions.map(({ machine, event }) => [machine, event.type])).toContainEqual([
      ...['slot', 'server.use'],
    ]);
    expect(servers.facts.map(({ message }) => message).join('\n')).toContain('A listener');
    const [, open] = seen;
    expect(open?.id).toBe(idle?.id);
    expect(open?.dump()).toMatchObject({ id: idle?.id, state: 'connecting.greeting' });
    expect(open?.dump().actors).toContainEqual(slot('open'));
    expect(open?.dump().actors.length).toBeGreaterThan(1);
    const both: string[] = [];
    const stop = open?.transitions.listen(({ machine }) => both.push(machine));
    await flush();
    clock.increment(1000);
    expect(new Set(both)).toEqual(new Set(['connection', 'catalog', 'slot']));
    const count = both.length;
    stop?.();
    await flush();
    const [, , again] = seen;
    expect(again?.dump()).toMatchObject({ state: 'idle', launches: 1, sinceMs: 0 });
    expect(again?.id).not.toBe(idle?.id);
    // The next process waits until the last one is gone: meanwhile it is shown as connecting.
    clock.increment(5);
    const used = manager.use('a');
    await flush();
    clock.increment(3);
    expect(again?.dump()).toMatchObject({ state: 'connecting', ageMs: 8, sinceMs: 3 });
    expect(seen).toHaveLength(3);
    ending();
    await used;
    expect(both).toHaveLength(count);
    expect(seen[3]?.id).toBe(again?.id);
  });

  test("sees the connection's own id if the server was not shown before", async () => {
    const { seen, servers } = watching({ a: launched });
    await flush();
    expect(seen).toHaveLength(1);
    expect(seen[0]?.dump()).toMatchObject({ id: seen[0]?.id, state: 'ready.fresh' });
    await servers.manager.close();
    expect(await seen[0]?.closed).toBeUndefined();
  });
});
