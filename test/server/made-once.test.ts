/** What a server makes once, however many sessions it has, and what each session has for itself. */
import { createMcpServer, defineTool, memory } from 'mcp-actors';
import type { Tool } from 'mcp-actors';
import { ScriptedPeer } from 'mcp-actors/testing';
import { describe, expect, test } from 'vitest';
import type { AnyMachineSnapshot } from 'xstate';
import { tool } from '../contract/serving.ts';

const named = { name: 'shared', version: '1' };

async function twoSessions(server: ReturnType<typeof createMcpServer>) {
  const open = async () => {
    const { transport, peer: wire } = memory();
    const session = server.listen(transport, { limits: { keepaliveIntervalMs: 1000 } });
    const peer = new ScriptedPeer(wire);
    await peer.handshake({ capabilities: { roots: {} } });
    return { session, peer };
  };
  return [await open(), await open()] as const;
}

/** A tool that counts how often its schema is read, beside the reading that describes it. */
function countingTool(): { readonly counted: Tool; readings(): number } {
  let readings = 0;
  const inputSchema = {
    type: 'object' as const,
    properties: {},
    get additionalProperties() {
      readings++;
      return false;
    },
  };
  return {
    counted: defineTool({ name: 'counted', description: '', inputSchema, handler: () => 'called' }),
    readings: () => readings,
  };
}

describe('sessions of one server', () => {
  test('share machines but not actors', async () => {
    const [one, other] = await twoSessions(createMcpServer(named));
    const machines = (session: typeof one.session) => {
      const { machine, children } = session.actor.getSnapshot();
      const [roots, keepalive] = [children['roots'], children['keepalive']].map(
        (child) => (child?.getSnapshot() as AnyMachineSnapshot | undefined)?.machine,
      );
      return [machine, roots, keepalive];
    };
    const of = machines(one.session);
    expect(of).not.toContain(undefined);
    expect(machines(other.session).map((machine, at) => machine === of[at])).toEqual([
      true,
      true,
      true,
    ]);
    expect(one.session.actor).not.toBe(other.session.actor);
    expect(one.session.actor.getSnapshot().context.roots).not.toBe(
      other.session.actor.getSnapshot().context.roots,
    );
  });

  test('share compiled schemas', async () => {
    const { counted, readings } = countingTool();
    const [one, other] = await twoSessions(createMcpServer({ ...named, tools: [counted] }));
    const call = { name: 'counted', arguments: {} };
    await one.peer.ask('tools/call', call);
    const once = readings();
    expect(once).toBeGreaterThan(0);
    await other.peer.ask('tools/call', call);
    await one.peer.ask('tools/call', call);
    expect(readings()).toBe(once);
  });

  test('have separate subscriptions, log levels and tasks', async () => {
    const log = defineTool({
      name: 'log',
      description: '',
      inputSchema: { type: 'object' },
      taskSupport: 'optional',
      handler: (_, { log: to }) => {
        to.info('said');
        return 'logged';
      },
    });
    const resources = [{ uri: 'test://a', name: 'a', read: () => 'text' }];
    const server = createMcpServer({ ...named, tools: [log], resources, logging: {} });
    const [one, other] = await twoSessions(server);
    await one.peer.ask('resources/subscribe', { uri: 'test://a' });
    await one.peer.ask('logging/setLevel', { level: 'error' });
    await one.peer.ask('tools/call', { name: 'log', arguments: {}, task: {} });
    server.resourceUpdated('test://a');
    await one.peer.ask('tools/call', { name: 'log' });
    await other.peer.ask('tools/call', { name: 'log' });
    await Promise.all([one.peer.quiet(), other.peer.quiet()]);
    const told = ({ peer }: typeof one) =>
      ['notifications/resources/updated', 'notifications/message'].map((method) =>
        peer.count(method),
      );
    expect([told(one), told(other)]).toEqual([
      [1, 0],
      [0, 1],
    ]);
    expect(one.session.dump().tasks).toHaveLength(1);
    expect(other.session.dump().tasks).toHaveLength(0);
  });

  test('leave nothing in the server when they end', async () => {
    const server = createMcpServer({ ...named, tools: [tool('a', () => 'a')] });
    const [one, other] = await twoSessions(server);
    one.peer.end();
    await one.session.closed;
    const count = one.peer.received.length;
    server.tools.remove('a');
    await other.peer.notification('notifications/tools/list_changed');
    expect(one.peer.received).toHaveLength(count);
  });
});
