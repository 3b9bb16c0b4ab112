/** Notifications about changes at other nodes, including possibly missed ones. */
import { expect, test } from 'vitest';
import { createMcpServer, defineResource, defineTool } from '../../../../src/index.ts';
import { StoreUnavailable } from '../../src/nodes/stores.ts';
import type { BroadcastListener } from '../../src/nodes/stores.ts';
import { changesOf } from '../../../../src/server/changes.ts';
import { TestClock, enveloped, flush } from '../../../testing/src/index.ts';
import { MemoryNodes } from '../../../nodes/test/memory-stores.ts';
import { EventReader, begin, post } from '../raw-client.ts';
import type { Message } from '../raw-client.ts';
import { serveEndpoint } from '../serving.ts';
import { startNodes, stateKey } from './nodes.ts';

const uri = 'test://watched';
const definition = () => ({
  name: 'changing',
  tools: [defineTool({ name: 'one', description: 'One', handler: () => '1' })],
  resources: [
    defineResource({ uri, name: 'watched', read: () => 'text' }),
    defineResource({ uri: 'test://other', name: 'other', read: () => 'text' }),
  ],
  prompts: [],
});

/** Formats a notification: its method and resource. */
function said({ method, params }: Message): string {
  const about = params?.['uri'];
  return typeof about === 'string' ? `${method} ${about}` : String(method);
}

/** Reads a stream until a given method arrives. */
async function until(events: EventReader, method: string): Promise<readonly string[]> {
  const methods: string[] = [];
  do {
    const { data } = await events.message();
    methods.push(said(data));
  } while (methods.at(-1) !== method);
  return methods;
}

const updated = `notifications/resources/updated ${uri}`;
const lists = ['notifications/tools/list_changed', 'notifications/resources/list_changed'];

test('notifies clients of all lists and subscriptions if their node missed a broadcast', async () => {
  const [a] = await startNodes(1, definition);
  const session = await begin(a!.url);
  await (await session.request('resources/subscribe', { uri })).text();
  const stream = await session.get();
  const params = { notifications: { toolsListChanged: true, resourceSubscriptions: [uri] } };
  const listen = enveloped(1, 'subscriptions/listen', params);
  const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'subscriptions/listen' };
  const listening = new EventReader(await post(a!.url, listen, headers));
  await listening.message();
  const listener = a!.shared.listenerOf(a!.stores);
  listener?.missed();
  const told = new Set<string>();
  while (![...lists, updated].every((each) => told.has(each))) {
    const { data } = await stream.message();
    const what = said(data);
    expect(told.has(what)).toBe(false);
    told.add(what);
  }
  const heard = [await listening.message(), await listening.message()];
  const methods = ['notifications/resources/updated', 'notifications/tools/list_changed'];
  expect(new Set(heard.map(({ data }) => data.method))).toEqual(new Set(methods));
});

test('notifies clients of everything if another node could not publish a change', async () => {
  const clock = new TestClock();
  const shared = new MemoryNodes({ clock, leaseMs: 10_000 });
  const stores = shared.start();
  let store: 'there' | 'away' = 'there';
  const published: string[] = [];
  const publish = async (text: string) => {
    if (store === 'away') throw new StoreUnavailable('away', 'It is away', { retryAfterMs: 1000 });
    published.push(text);
    await stores.broadcasts.publish(text);
  };
  const make = () => createMcpServer({ version: '1', stateKeys: [stateKey], ...definition() });
  const report = () => {};
  const changing = make();
  await serveEndpoint(changing, {
    ...{ clock, report },
    stores: { ...stores, broadcasts: { ...stores.broadcasts, publish } },
  });
  const { url } = await serveEndpoint(make(), { clock, report, stores: shared.start() });
  const session = await begin(url);
  await (await session.request('resources/subscribe', { uri })).text();
  const stream = await session.get();
  store = 'away';
  changing.resourceUpdated(uri);
  await flush();
  store = 'there';
  // The next lease renewal detects it.
  await expect
    .poll(async () => {
      clock.increment(2500);
      await flush();
      return published.some((text) => text.includes('"missed":true'));
    })
    .toBe(true);
  expect(await until(stream, updated)).toContain(updated);
  const count = published.length;
  clock.increment(2500);
  await flush();
  expect(published).toHaveLength(count);
});

test('delivers a change once to each other node, and not back to its server', async () => {
  const [a, b] = await startNodes(2, definition);
  const session = await begin(b!.url);
  await (await session.request('resources/subscribe', { uri })).text();
  await (await session.request('resources/subscribe', { uri: 'test://other' })).text();
  const stream = await session.get();
  // Changes of one turn share a broadcast, each listed once.
  const texts: string[] = [];
  const listener = b!.shared.listenerOf(b!.stores) as BroadcastListener;
  const { received } = listener;
  listener.received = (text) => {
    texts.push(text);
    received.call(listener, text);
  };
  for (let n = 0; n < 3; n++) a!.server.resourceUpdated(uri);
  a!.server.resourceUpdated('test://other');
  const told = await until(stream, 'notifications/resources/updated test://other');
  expect(told).toEqual([updated, 'notifications/resources/updated test://other']);
  expect(texts).toHaveLength(1);
  expect(changesOf(a!.server)).toBeDefined();
});
