/** What becomes of requests that are on their way between nodes when the store loses its data, or a lease ends. */
import { expect, test } from 'vitest';
import { createMcpServer, defineResourceTemplate, defineTool } from '../../../src/index.ts';
import { StoreUnavailable } from '../../../src/http/nodes/stores.ts';
import type { Stores } from '../../../src/http/nodes/stores.ts';
import { gate, turn } from '../../../src/testing/index.ts';
import { MemoryNodes } from '../nodes/memory-stores.ts';
import { EventReader, RawSession, begin, initializeOf, jsonOf, post } from '../raw-client.ts';
import { reported, serveHttp } from '../serving.ts';
import { at, startNodes } from './nodes.ts';

/** Longer than the nodes take to see that the store has other data. */
const lease = { leaseMs: 1000 };

const echo = defineTool({ name: 'echo', description: 'Says hello', handler: () => 'hello' });

const anything = defineResourceTemplate({
  uriTemplate: 'test://{name}',
  name: 'anything',
  read: (uri) => uri,
});

/** What a session hears of these resources. */
async function updatesOf(here: RawSession, names: readonly string[]) {
  for (const name of names) await here.request('resources/subscribe', { uri: `test://${name}` });
  const events = await here.get();
  return async () => (await events.message()).data.params?.['uri'];
}

test('a request that was lost with data of the store is answered with an error', async () => {
  const [a, b] = await startNodes(2, () => ({ tools: [echo] }), lease);
  const here = await begin(a!.url);
  const lost = gate();
  a!.shared.loses = (text) => {
    const isLost = text.includes('"request"');
    if (isLost) void lost.pass();
    return isLost;
  };
  const answer = at(b!, here).call('echo', {}, 'e1');
  await lost.arrived();
  a!.shared.loses = () => false;
  a!.shared.lose();
  expect(await jsonOf(await answer)).toMatchObject({
    id: 'e1',
    error: { data: { reason: 'process-ended' } },
  });
});

test('a request is answered with an error if the store loses the question about it, too', async () => {
  const [a, b] = await startNodes(2, () => ({ tools: [echo] }), lease);
  const here = await begin(a!.url);
  const lost = gate();
  /** As with an inbox whose node comes back too late for it. */
  const loseOnly = (kind: 'request' | 'asked') => {
    a!.shared.loses = (text) => {
      const isLost = text.includes(`"${kind}"`);
      if (isLost) void lost.pass();
      return isLost;
    };
  };
  loseOnly('request');
  const answer = at(b!, here).call('echo', {}, 'e1');
  await lost.arrived();
  loseOnly('asked');
  a!.shared.lose();
  await lost.arrived(2);
  a!.shared.loses = () => false;
  expect(await jsonOf(await answer)).toMatchObject({
    id: 'e1',
    error: { data: { reason: 'process-ended' } },
  });
});

test.each([
  ['a part', 'test/step'],
  ['the rest', '"part"'],
])(
  'a stream of which the store has lost %s ends, and has all of it when it is resumed',
  async (_, said) => {
    const go = gate();
    const steps = defineTool({
      name: 'steps',
      description: 'Says what it does',
      handler: async (_, context) => {
        context.notify('test/step', { n: 0 });
        await go.pass();
        context.notify('test/step', { n: 1 });
        context.notify('test/step', { n: 2 });
        return 'done';
      },
    });
    const [a, b] = await startNodes(2, () => ({ tools: [steps] }), lease);
    const here = await begin(a!.url);
    const there = at(b!, here);
    const events = new EventReader(await there.call('steps', {}, 's1'));
    const { id } = await events.message();
    const lost = gate();
    a!.shared.loses = (text) => {
      const isLost = text.includes(said);
      if (isLost) void lost.pass();
      return isLost;
    };
    go.release();
    await lost.arrived();
    a!.shared.loses = () => false;
    a!.shared.lose();
    expect((await events.rest()).at(-1)).toEqual({ retry: '1000' });
    const messages = await (await there.get(id)).messages();
    expect(messages).toMatchObject([{ params: { n: 1 } }, { params: { n: 2 } }, { id: 's1' }]);
  },
);

test('what was not lost goes on, though no inbox is there at first', async () => {
  const go = gate();
  const waiting = defineTool({
    name: 'wait',
    description: 'Waits',
    handler: async () => {
      await go.pass();
      return 'done';
    },
  });
  const [a, b] = await startNodes(2, () => ({ tools: [waiting] }), lease);
  const here = await begin(a!.url);
  const answer = at(b!, here).call('wait', {}, 'w1');
  await go.arrived();
  a!.shared.lose();
  go.release();
  expect(await jsonOf(await answer)).toMatchObject({ id: 'w1', result: {} });
});

test('a node that loses its lease while it looks for the owner of a session refuses the request, and hands on the next ones', async () => {
  const shared = new MemoryNodes({ leaseMs: 400 });
  const makeServer = () => createMcpServer({ name: 'late', version: '1', tools: [echo] });
  const here = await begin(await serveHttp(makeServer(), { stores: shared.start() }));
  const facts = reported();
  const stores = shared.start();
  const looking = gate();
  let store: 'there' | 'away' = 'there';
  const late = {
    ...stores,
    directory: {
      ...stores.directory,
      find: async (id: string) => {
        const found = await stores.directory.find(id);
        if (id !== '' && store === 'there') await looking.pass();
        return found;
      },
      lease: async (...args: Parameters<typeof stores.directory.lease>) => {
        if (store === 'there') return stores.directory.lease(...args);
        throw new StoreUnavailable('away', 'It is away', { retryAfterMs: 1000 });
      },
    },
  };
  const url = await serveHttp(makeServer(), { stores: late, report: facts.report });
  const there = new RawSession(url, here.headers);
  const answer = there.call('echo');
  await looking.arrived();
  store = 'away';
  await facts.told('nodes.lapsed');
  looking.release();
  expect((await answer).status).toBe(503);
  store = 'there';
  await expect.poll(async () => (await there.call('echo')).status).toBe(200);
});

test('a node that loses its lease while it tells of a change tells of it later, and hands on requests', async () => {
  const shared = new MemoryNodes({ leaseMs: 400 });
  const makeServer = () =>
    createMcpServer({ name: 'late', version: '1', tools: [echo], resourceTemplates: [anything] });
  const here = await begin(await serveHttp(makeServer(), { stores: shared.start() }));
  const updated = await updatesOf(here, ['a']);
  const facts = reported();
  const stores = shared.start();
  const asking = gate();
  let store: 'there' | 'away' = 'there';
  const late: Stores = {
    ...stores,
    directory: {
      ...stores.directory,
      lease: async (...args) => {
        if (store === 'there') return stores.directory.lease(...args);
        throw new StoreUnavailable('away', 'It is away', { retryAfterMs: 1000 });
      },
    },
    inbox: {
      ...stores.inbox,
      others: async (node) => {
        const others = await stores.inbox.others(node);
        if (store === 'there') await asking.pass();
        return others;
      },
    },
  };
  const server = makeServer();
  const url = await serveHttp(server, { stores: late, report: facts.report });
  const there = new RawSession(url, here.headers);
  await there.call('echo');
  server.resourceUpdated('test://a');
  await asking.arrived();
  store = 'away';
  await facts.told('nodes.lapsed');
  asking.release(2);
  await turn();
  store = 'there';
  expect(await updated()).toBe('test://a');
  await expect.poll(async () => (await there.call('echo')).status).toBe(200);
});

test('a session that begins while its node still joins the others waits for that', async () => {
  const stores = new MemoryNodes().start();
  const [joining, asked] = [gate(), gate()];
  const late = {
    ...stores,
    directory: {
      ...stores.directory,
      lease: async (...args: Parameters<typeof stores.directory.lease>) => {
        await joining.pass();
        return stores.directory.lease(...args);
      },
    },
  };
  const server = createMcpServer({ name: 'late', version: '1', tools: [echo] });
  const given = () => {
    void asked.pass();
    return server;
  };
  const greeting = post(await serveHttp(given, { stores: late }), initializeOf());
  await asked.arrived();
  await turn();
  joining.release();
  expect((await greeting).status).toBe(200);
});

test('a session that could not be given to another node is put back into a store that has lost it', async () => {
  const shared = new MemoryNodes(lease);
  const facts = reported();
  const stores = shared.start();
  const given = gate();
  let store: 'there' | 'away' = 'there';
  const failing = {
    ...stores,
    directory: {
      ...stores.directory,
      put: async (...args: Parameters<typeof stores.directory.put>) => {
        if (store === 'there') return stores.directory.put(...args);
        void given.pass();
        throw new StoreUnavailable('away', 'It is away', { retryAfterMs: 1000 });
      },
    },
  };
  const makeServer = () => createMcpServer({ name: 'given', version: '1', tools: [echo] });
  const here = await serveHttp(makeServer(), { stores: failing, report: facts.report });
  const there = await serveHttp(makeServer(), { stores: shared.start() });
  const greeted = await post(here, initializeOf());
  const headers = { 'mcp-session-id': greeted.headers.get('mcp-session-id') ?? '' };
  store = 'away';
  const session = new RawSession(there, headers);
  const moving = session.post({ jsonrpc: '2.0', method: 'notifications/initialized' });
  await given.arrived();
  shared.lose();
  store = 'there';
  await moving;
  await facts.told('nodes.restored');
  await expect.poll(async () => (await session.request('ping')).status).toBe(200);
});

test('a change that was lost with data of the store is told again, and none that was not', async () => {
  const [a, b] = await startNodes(2, () => ({ resourceTemplates: [anything] }), lease);
  const updated = await updatesOf(await begin(a!.url), ['a', 'b', 'c']);
  b!.server.resourceUpdated('test://a');
  expect(await updated()).toBe('test://a');
  const lost = gate();
  a!.shared.loses = (text) => {
    const isLost = text.includes('test://b');
    if (isLost) void lost.pass();
    return isLost;
  };
  b!.server.resourceUpdated('test://b');
  await lost.arrived();
  a!.shared.loses = () => false;
  a!.shared.lose();
  expect(await updated()).toBe('test://b');
  b!.server.resourceUpdated('test://c');
  expect(await updated()).toBe('test://c');
});

test('the other nodes hear of each change once, in order, whatever the store fails at', async () => {
  const shared = new MemoryNodes();
  const facts = reported();
  const makeServer = () =>
    createMcpServer({ name: 'one', version: '1', resourceTemplates: [anything] });
  const here = await begin(await serveHttp(makeServer(), { stores: shared.start() }));
  const stores = shared.start();
  const fails = { others: 0, send: 0 };
  const unavailable = (fault: 'away' | 'slow') =>
    new StoreUnavailable(fault, `It is ${fault}`, { retryAfterMs: 1000 });
  const inbox: typeof stores.inbox = {
    ...stores.inbox,
    others: async (node) => {
      if (fails.others-- > 0) throw unavailable('away');
      return stores.inbox.others(node);
    },
    // It has sent the text nevertheless.
    send: async (node, text) => {
      const place = await stores.inbox.send(node, text);
      if (fails.send-- > 0) throw unavailable('slow');
      return place;
    },
  };
  const there = makeServer();
  await serveHttp(there, { stores: { ...stores, inbox }, report: facts.report });
  const names = ['a', 'b', 'c', 'd', 'e'];
  const updated = await updatesOf(here, names);
  fails.others = 1;
  there.resourceUpdated('test://a');
  await facts.told('nodes.unavailable');
  // What changes again meanwhile has changed once.
  for (const uri of ['test://a', 'test://b', 'test://a']) {
    there.resourceUpdated(uri);
    await turn();
  }
  expect([await updated(), await updated()]).toEqual(['test://b', 'test://a']);
  fails.send = 1;
  for (const uri of ['test://c', 'test://d', 'test://e']) {
    there.resourceUpdated(uri);
    await turn();
  }
  expect(await updated()).toBe('test://c');
  expect([await updated(), await updated()]).toEqual(['test://d', 'test://e']);
});
