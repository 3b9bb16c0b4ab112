/** What a connection keeps for its host over channels and in both eras: lists, watched resources, roots, questions. */
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { ResultSchema } from '@modelcontextprotocol/sdk/types.js';
import { createMcpServer, defineResource, defineTool, memory } from 'mcp-actors';
import type { McpSession } from 'mcp-actors';
import { connect } from 'mcp-actors/client';
import type { ConnectOptions, Connection, ConnectionEvent } from 'mcp-actors/client';
import { gate } from 'mcp-actors/testing';
import { describe, expect, onTestFinished, test } from 'vitest';
import { toSdkTransport } from '../../../src/transports/to-sdk-transport.ts';

const tool = (name: string) => defineTool({ name, description: name, handler: () => name });
const namesOf = (items: readonly { readonly name: string }[]) => items.map(({ name }) => name);

/** Resolves with the first event that fits, now or later. */
function eventsOf(connection: Connection) {
  const seen: ConnectionEvent[] = [];
  const waiting = new Set<() => void>();
  connection.events$.subscribe((event) => {
    seen.push(event);
    for (const look of waiting) look();
  });
  const until = (fits: (event: ConnectionEvent) => boolean) =>
    new Promise<ConnectionEvent>((resolve) => {
      const look = () => {
        const event = seen.find(fits);
        if (!event) return;
        waiting.delete(look);
        resolve(event);
      };
      waiting.add(look);
      look();
    });
  const told = (method: string) =>
    until((event) => event.type === 'notification' && event.method === method);
  return { seen, until, told };
}

/** A server of ours, with a session for each channel. */
async function beforeOurs(options: ConnectOptions) {
  const server = createMcpServer({
    name: 'ours',
    version: '1',
    tools: [tool('a')],
    resources: [defineResource({ uri: 'test://a', name: 'a', read: () => 'a' })],
  });
  const sessions: McpSession[] = [];
  const transport = () => {
    const { transport: ours, peer } = memory();
    sessions.push(server.listen(ours, { report: () => {} }));
    return toSdkTransport(peer);
  };
  const connection = await connect({ transport }, options);
  onTestFinished(() => connection.close());
  const updated = (uri: string) => sessions.at(-1)?.resourceUpdated(uri);
  return { server, connection, updated, ...eventsOf(connection) };
}

/** A server of the official SDK 1.x. */
async function beforeSdk(options: ConnectOptions) {
  const servers: Server[] = [];
  const transport = () => {
    const server = new Server({ name: 'sdk', version: '1' }, { capabilities: { tools: {} } });
    servers.push(server);
    const [ours, theirs] = InMemoryTransport.createLinkedPair();
    void server.connect(theirs);
    return ours as never;
  };
  const connection = await connect({ transport }, { era: 'legacy', ...options });
  onTestFinished(() => connection.close());
  const ask = async (method: string, params?: object) =>
    servers.at(-1)?.request({ method, ...(params ? { params } : {}) } as never, ResultSchema);
  return { servers, connection, ask, ...eventsOf(connection) };
}

describe.each(['legacy', 'modern'] as const)('before a server of ours, %s', (era) => {
  test('tools$ has each change of the tools, whole, over reconnects too', async () => {
    const { server, connection } = await beforeOurs({ era });
    const knows = (...names: string[]) =>
      new Promise<void>((resolve) => {
        const subscription = connection.tools$.subscribe(({ state, items }) => {
          if (state !== 'known' || namesOf(items).join() !== names.join()) return;
          queueMicrotask(() => subscription.unsubscribe());
          resolve();
        });
      });
    await knows('a');
    server.tools?.add(tool('b'));
    await knows('a', 'b');
    await connection.reconnect();
    server.tools?.add(tool('c'));
    await knows('a', 'b', 'c');
    expect(namesOf(await connection.listTools())).toEqual(['a', 'b', 'c']);
  });

  test('a resource is watched, on the next channel too, until that is undone', async () => {
    const { connection, updated, told, seen } = await beforeOurs({ era });
    await connection.subscribe('test://a');
    updated('test://a');
    expect(await told('notifications/resources/updated')).toMatchObject({
      params: { uri: 'test://a' },
    });
    await connection.reconnect();
    // What is asked behind it is answered when it was taken.
    await connection.readResource('test://a');
    seen.length = 0;
    updated('test://a');
    await told('notifications/resources/updated');
    await connection.unsubscribe('test://a');
    await connection.readResource('test://a');
    seen.length = 0;
    updated('test://a');
    await connection.readResource('test://a');
    expect(seen).toEqual([]);
  });
});

test('roots that are set later are told to the server, which asks for them [ANSWER-09]', async () => {
  const { connection, servers, ask } = await beforeSdk({ roots: [{ uri: 'file:///a' }] });
  const changed = new Promise<void>((resolve) => {
    const [server] = servers;
    if (server) {
      server.fallbackNotificationHandler = async ({ method }) => {
        if (method === 'notifications/roots/list_changed') resolve();
      };
    }
  });
  await connection.setRoots(() => [{ uri: 'file:///b' }]);
  await changed;
  expect(await ask('roots/list')).toEqual({ roots: [{ uri: 'file:///b' }] });
});

test('roots cannot be set later if none were declared', async () => {
  const { connection } = await beforeSdk({});
  await expect(connection.setRoots([])).rejects.toMatchObject({ code: 'CAPABILITY_MISSING' });
});

test('a host in a few lines shows its tools, and answers what it is asked', async () => {
  const greet = defineTool({
    name: 'greet',
    description: 'Greets whoever it asks.',
    handler: async (_, context) => {
      const schema = { type: 'object', properties: { name: { type: 'string' } } } as const;
      const answer = await context.elicit({ message: 'Who are you?', schema });
      const { roots } = await context.roots();
      return `${answer.action === 'accept' ? answer.content.name : ''} of ${roots[0]?.uri}`;
    },
  });
  const server = createMcpServer({ name: 'ours', version: '1', tools: [greet] });
  const { transport, peer } = memory();
  server.listen(transport, { report: () => {} });
  const entry = { transport: toSdkTransport(peer) };
  const shown: string[] = [];
  const show = (state: string, names: readonly string[]) => shown.push(`${state} ${names.join()}`);
  const ask = (message: string, _signal: AbortSignal) =>
    Promise.resolve(message === 'Who are you?' ? 'Ada' : undefined);
  // #region a host that is asked
  await using connection = await connect(entry, {
    roots: [{ uri: 'file:///home/ada/project' }],
    elicit: async ({ message }, { signal }) => {
      const name = await ask(message, signal);
      return name === undefined ? { action: 'decline' } : { action: 'accept', content: { name } };
    },
  });
  // #endregion
  // #region a host that shows its tools
  connection.tools$.subscribe(({ state, items }) => {
    show(
      state,
      items.map(({ name }) => name),
    );
  });
  const tools = await connection.listTools();
  // #endregion
  expect(namesOf(tools)).toEqual(['greet']);
  expect(shown.at(-1)).toBe('known greet');
  const { content } = await connection.callTool('greet');
  expect(content).toEqual([{ type: 'text', text: 'Ada of file:///home/ada/project' }]);
});

const form = { message: 'Sure?', requestedSchema: { type: 'object', properties: {} } };

test('of what a server asks only so much is put to the host at once, and the rest is refused [ANSWER-08]', async () => {
  const door = gate();
  const { ask } = await beforeSdk({
    report: () => {},
    elicit: async () => {
      await door.pass();
      return { action: 'decline' };
    },
  });
  const answers = Array.from({ length: 16 + 256 + 20 }, () =>
    ask('elicitation/create', form).then(
      () => 'answered',
      ({ code }: { readonly code: number }) => code,
    ),
  );
  const refused = await Promise.all(answers.slice(-20));
  expect(new Set(refused)).toEqual(new Set([-32000]));
  expect(door.arrivals).toBe(16);
  door.release();
  const others = await Promise.all(answers.slice(0, -20));
  expect(others.filter((each) => each === 'answered')).toHaveLength(272);
});

test.each(['reconnect', 'close'] as const)(
  'what is being asked is withdrawn when the host does %s',
  async (way) => {
    const door = gate();
    const { connection, ask, until } = await beforeSdk({
      elicit: async (_, { signal }) => {
        await door.pass(signal);
        return { action: 'decline' };
      },
      report: () => {},
    });
    const answer = ask('elicitation/create', form);
    answer.catch(() => {});
    await door.arrived();
    await connection[way]();
    await until(({ type }) => type === 'withdrawn');
  },
);

test('what one request was answered with is given to no other one [LISTS-10]', async () => {
  const server = createMcpServer({
    name: 'ours',
    version: '1',
    tools: [tool('a')],
    resources: ['a', 'b'].map((name) =>
      defineResource({ uri: `test://${name}`, name, read: () => `this is ${name}` }),
    ),
  });
  const transport = () => {
    const { transport: ours, peer } = memory();
    server.listen(ours, { report: () => {} });
    return toSdkTransport(peer);
  };
  const connection = await connect({ transport });
  onTestFinished(() => connection.close());
  expect(namesOf(await connection.listTools())).toEqual(['a']);
  expect(namesOf(await connection.listResources())).toEqual(['a', 'b']);
  for (const name of ['a', 'b', 'a']) {
    const { contents } = await connection.readResource(`test://${name}`);
    expect(contents).toMatchObject([{ uri: `test://${name}`, text: `this is ${name}` }]);
  }
});
