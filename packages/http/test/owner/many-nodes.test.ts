import { describe, expect, test } from 'vitest';
import { createMcpServer, defineResource, defineTool } from '../../../../src/index.ts';
import { gate } from '../../../testing/src/index.ts';
import {
  EventReader,
  RawSession,
  begin,
  initializeRequest,
  jsonOf,
  post,
  postHeaders,
} from '../raw-client.ts';
import type { Message } from '../raw-client.ts';
import { MemoryNodes } from '../../../nodes/test/memory-stores.ts';
import { reportLog, serveHttp } from '../serving.ts';
import { at, startNodes } from './nodes.ts';

const roots = { roots: [{ uri: 'file:///here' }] };

/** A tool that names the serving node. */
const where = () => {
  const name = crypto.randomUUID();
  const tool = defineTool({ name: 'where', description: 'Says where', handler: () => name });
  return { tools: [tool] };
};

const asking = defineTool({
  name: 'ask',
  description: 'Asks the client for its roots',
  handler: async (_, { request }) =>
    JSON.stringify(await request('roots/list', undefined, { probe: true })),
});

const listing = defineTool({
  name: 'list',
  description: 'Lists the roots',
  handler: async (_, { roots: known }) => (await known()).roots.map(({ uri }) => uri).join(),
});

const logging = defineTool({
  name: 'log',
  description: 'Logs',
  handler: (_, context) => {
    context.log.info('said');
    return 'done';
  },
});

/** Content type of a call that logs: a stream if logs are sent. */
async function kindOf(session: RawSession): Promise<string | null> {
  const response = await session.call('log');
  await response.text();
  return response.headers.get('content-type');
}

const text = (message: Message): unknown => {
  const [content] = (message.result?.['content'] ?? []) as readonly { readonly text: string }[];
  return content?.text;
};

async function asked(response: Response) {
  const events = new EventReader(response);
  const { data } = await events.message();
  return { events, id: data.id, method: data.method };
}

const answerTo = (id: unknown, result: object = roots) => ({ jsonrpc: '2.0', id, result });

describe('a session on several nodes', () => {
  test('is served by its owner, wherever a request arrives', async () => {
    const [a, b] = await startNodes(2, where);
    const here = await begin(a!.url);
    const there = at(b!, here);
    const names = [await here.call('where'), await there.call('where'), await here.call('where')];
    const owners = await Promise.all(names.map(async (r) => text(await jsonOf(r))));
    expect(new Set(owners)).toEqual(new Set([expect.any(String)]));
  });

  test('gets the same parse errors at every node', async () => {
    const [a, b] = await startNodes(2, where);
    const here = await begin(a!.url);
    await at(b!, here).call('where');
    const enveloped = {
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/list',
      params: { _meta: { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' } },
    };
    for (const body of ['{', '[]', '{"jsonrpc":"2.0","id":1}', JSON.stringify(enveloped)]) {
      const answers = [a!, b!].map(async ({ url }) => {
        const headers = { ...postHeaders, ...here.headers };
        const answer = await fetch(url, { method: 'POST', headers, body });
        return { status: answer.status, said: await answer.json() };
      });
      const [own, other] = await Promise.all(answers);
      expect(own?.status).toBe(400);
      expect(other).toEqual(own);
    }
  });

  test.each(['notifications/initialized', 'ping'])(
    'moves to the node that receives the first message after the handshake, %s',
    async (method) => {
      const [a, b] = await startNodes(2, where);
      const greeted = await post(a!.url, initializeRequest());
      const here = new RawSession(a!.url, {
        'mcp-session-id': greeted.headers.get('mcp-session-id') ?? '',
        'mcp-protocol-version': '2025-11-25',
      });
      const there = at(b!, here);
      if (method === 'ping') expect((await there.request(method)).status).toBe(200);
      else expect(await there.notify(method)).toBe(202);
      // The session stays there, wherever its requests arrive.
      const other = await begin(b!.url);
      const calls = [
        await here.call('where'),
        await there.call('where'),
        await other.call('where'),
      ];
      const names = await Promise.all(calls.map(async (answer) => text(await jsonOf(answer))));
      expect(names).not.toContain(undefined);
      expect(new Set(names).size).toBe(1);
    },
  );

  test('moves to the node with its requests once its closing owner has finished its calls', async () => {
    const held = gate();
    const hold = defineTool({
      name: 'hold',
      description: 'Holds',
      handler: async () => {
        await held.pass();
        return 'held';
      },
    });
    const [a, b] = await startNodes(2, () => ({ tools: [hold, ...where().tools] }));
    const [busy, idle, other] = [await begin(a!.url), await begin(a!.url), await begin(b!.url)];
    const doomed = await begin(a!.url);
    await idle.call('where');
    const [running, cut] = [busy.call('hold'), doomed.call('hold')];
    await held.arrived(2);
    const closed = a!.close();
    // The idle session has ended there, and the busy one's call continues.
    const thereText = text(await jsonOf(await other.call('where')));
    expect(text(await jsonOf(await at(b!, idle).call('where')))).toBe(thereText);
    expect((await idle.request('ping')).status).toBe(503);
    const late = at(b!, busy).call('where');
    expect(await at(b!, busy).notify('notifications/roots/list_changed')).toBe(202);
    // A deleted session is not handed over, and a waiting request fails.
    const inVain = at(b!, doomed).call('where');
    // A later message on the same path arrives after it.
    expect(await at(b!, doomed).notify('notifications/roots/list_changed')).toBe(202);
    expect((await at(b!, doomed).delete()).status).toBe(204);
    expect((await inVain).status).toBe(404);
    expect((await at(b!, doomed).request('ping')).status).toBe(404);
    await (await cut).body?.cancel();
    held.release();
    expect(text(await jsonOf(await running))).toBe('held');
    expect(text(await jsonOf(await late))).toBe(thereText);
    await closed;
    expect((await at(b!, busy).delete()).status).toBe(204);
  });

  test('continues at another node with all its state after its owner died', async () => {
    const uri = 'test://watched';
    const watched = defineResource({ uri, name: 'watched', read: () => 'text' });
    const log = defineTool({
      name: 'log',
      description: 'Logs',
      handler: (_, context) => {
        context.log.info('said');
        return 'done';
      },
    });
    const [a, b, c] = await startNodes(3, () => ({
      tools: [log, listing],
      resources: [watched],
      logging: {},
    }));
    const here = await begin(a!.url, '2025-06-18', { roots: {} });
    await here.request('logging/setLevel', { level: 'error' });
    await here.request('resources/subscribe', { uri });
    a!.kill();
    const there = at(b!, here);
    const quiet = await at(c!, here).call('log');
    expect(quiet.headers.get('content-type')).toBe('application/json');
    await quiet.text();
    const { events, id, method } = await asked(await there.call('list'));
    expect(method).toBe('roots/list');
    expect((await there.post(answerTo(id))).status).toBe(202);
    expect(text((await events.message()).data)).toBe('file:///here');
    const stream = await there.get();
    b!.server.resourceUpdated(uri);
    const updated = { method: 'notifications/resources/updated', params: { uri } };
    expect((await stream.message()).data).toMatchObject(updated);
    expect((await there.delete()).status).toBe(204);
    expect((await at(c!, here).request('ping')).status).toBe(404);
  });

  test('is found again by a node with a cached owner', async () => {
    const [a, b, c] = await startNodes(3, where);
    const here = await begin(a!.url);
    const there = at(b!, here);
    const first = text(await jsonOf(await there.call('where')));
    a!.kill();
    const second = text(await jsonOf(await at(c!, here).call('where')));
    expect(second).not.toBe(first);
    expect(text(await jsonOf(await there.call('where')))).toBe(second);
  });

  test("delivers a client's response to the requesting node, wherever it arrives", async () => {
    const [a, b] = await startNodes(2, () => ({ tools: [asking] }));
    const here = await begin(a!.url, '2025-06-18', { roots: {} });
    const { events, id } = await asked(await here.call('ask'));
    const answered = await at(b!, here).post(answerTo(id));
    expect(answered.status).toBe(202);
    expect(text((await events.message()).data)).toBe(JSON.stringify(roots));
  });

  test.each<[string, (id: string) => string]>([
    ['malformed', (id) => `{"jsonrpc":"2.0","id":"${id}","result":{},"error":{}}`],
    ['cut off', (id) => `{"jsonrpc":"2.0","id":"${id}","result":{`],
  ])('rejects a response that is %s, and the requesting node is told', async (_, textOf) => {
    const [a, b] = await startNodes(2, () => ({ tools: [asking] }));
    const here = await begin(a!.url, '2025-06-18', { roots: {} });
    const { events, id } = await asked(await here.call('ask'));
    const headers = { ...here.headers, 'content-type': 'application/json' };
    const body = textOf(String(id));
    expect((await fetch(b!.url, { method: 'POST', headers, body })).status).toBe(400);
    const { data } = await events.message();
    expect(text(data)).toContain('malformed');
  });

  test('reports that the requesting node is gone', async () => {
    const [a, b] = await startNodes(2, () => ({ tools: [asking] }));
    const here = await begin(a!.url, '2025-06-18', { roots: {} });
    const { id } = await asked(await here.call('ask'));
    a!.kill();
    const answered = await at(b!, here).post(answerTo(id));
    expect(answered.status).toBe(400);
    expect((await jsonOf(answered)).error?.message).toContain('has ended');
  });

  test('cancels a call that runs at another node', async () => {
    const held = gate();
    const [a, b] = await startNodes(2, () => ({
      tools: [
        defineTool({
          name: 'wait',
          description: 'Waits until it is cancelled',
          handler: (_, { signal }) =>
            new Promise<string>((resolve) => {
              signal.addEventListener('abort', () => {
                held.release();
                resolve('');
              });
            }),
        }),
      ],
    }));
    const here = await begin(a!.url);
    const call = here.call('wait', {}, 'c1');
    const cancelled = {
      jsonrpc: '2.0',
      method: 'notifications/cancelled',
      params: { requestId: 'c1' },
    };
    // The other node caches the session's owner after one request.
    const there = at(b!, here);
    await there.request('ping');
    expect((await there.post(cancelled)).status).toBe(202);
    await held.pass();
    await expect((await call).text()).resolves.toBe('');
  });

  test.each([[0], [1]])('ends at all nodes if it is deleted at node %i', async (n) => {
    const nodes = await startNodes(2, where);
    const here = await begin(nodes[0]!.url);
    await at(nodes[1]!, here).call('where');
    expect((await at(nodes[n]!, here).delete()).status).toBe(204);
    for (const node of nodes) expect((await at(node, here).request('ping')).status).toBe(404);
  });

  test('requests roots from its client at one node until they change', async () => {
    const [a, b] = await startNodes(2, () => ({ tools: [listing] }));
    const here = await begin(a!.url, '2025-06-18', { roots: { listChanged: true } });
    const there = at(b!, here);
    const first = await asked(await here.call('list'));
    expect(first.method).toBe('roots/list');
    await there.post(answerTo(first.id));
    expect(text((await first.events.message()).data)).toBe('file:///here');
    expect(text(await jsonOf(await there.call('list')))).toBe('file:///here');
    await here.post({ jsonrpc: '2.0', method: 'notifications/roots/list_changed' });
    const second = await asked(await there.call('list'));
    expect(second.method).toBe('roots/list');
    await here.post(answerTo(second.id, { roots: [{ uri: 'file:///new' }] }));
    expect(text((await second.events.message()).data)).toBe('file:///new');
    expect(text(await jsonOf(await here.call('list')))).toBe('file:///new');
  });

  test('has its log level and subscriptions at all nodes, including later ones', async () => {
    const [a, b, c] = await startNodes(3, () => ({ tools: [logging], logging: {} }));
    const here = await begin(a!.url, '2025-06-18');
    const there = at(b!, here);
    await there.call('log').then((response) => response.text());
    await here.request('logging/setLevel', { level: 'error' });
    await expect(kindOf(there)).resolves.toBe('application/json');
    await expect(kindOf(at(c!, here))).resolves.toBe('application/json');
    await there.request('logging/setLevel', { level: 'debug' });
    await expect(kindOf(here)).resolves.toBe('text/event-stream');
  });

  test('keeps the successful part of a batch, not the rejected one', async () => {
    const [a, b] = await startNodes(2, () => ({ tools: [logging], logging: {} }));
    const here = await begin(a!.url, '2025-03-26');
    const set = (id: number, level: string) => ({
      jsonrpc: '2.0',
      id,
      method: 'logging/setLevel',
      params: { level },
    });
    const answers = await here.post([set(1, 'error'), set(2, 'nonsense')]);
    expect(await answers.json()).toMatchObject([{ result: {} }, { error: {} }]);
    a!.kill();
    expect(await kindOf(at(b!, here))).toBe('application/json');
  });

  test('receives changes of any node with a server per session', async () => {
    const shared = new MemoryNodes();
    const start = async () => {
      const server = createMcpServer({ name: 'own', version: '1', tools: [logging] });
      return { url: await serveHttp(() => server, { stores: shared.start() }), server };
    };
    const [a, b] = [await start(), await start()];
    const here = await begin(a.url);
    await here.request('ping');
    const stream = await here.get();
    const other = await begin(b.url);
    await other.request('ping');
    for (const name of ['one', 'two']) {
      b.server.tools.add(defineTool({ name, description: 'New', handler: () => name }));
      expect((await stream.message()).data.method).toBe('notifications/tools/list_changed');
    }
    // Notified twice, and never of its own changes.
    await other.delete();
    await here.delete();
    expect(await stream.messages()).toEqual([]);
  });

  test('receives resource updates of any node until it unsubscribes at any node', async () => {
    const uri = 'test://watched';
    const watched = defineResource({ uri, name: 'watched', read: () => 'text' });
    const [a, b, c] = await startNodes(3, () => ({ resources: [watched] }));
    const here = await begin(a!.url);
    const there = at(b!, here);
    await there.request('ping');
    expect((await here.request('resources/subscribe', { uri })).status).toBe(200);
    const stream = await here.get();
    b!.server.resourceUpdated(uri);
    const updated = { method: 'notifications/resources/updated', params: { uri } };
    expect((await stream.message()).data).toMatchObject(updated);
    // A node that joins later knows it, too.
    await at(c!, here).request('ping');
    c!.server.resourceUpdated(uri);
    expect((await stream.message()).data).toMatchObject(updated);
    await at(c!, here).request('resources/unsubscribe', { uri });
    for (const { server } of [a!, b!, c!]) server.resourceUpdated(uri);
    await there.request('resources/subscribe', { uri });
    b!.server.resourceUpdated(uri);
    expect((await stream.message()).data).toMatchObject(updated);
    await here.delete();
    await expect(stream.rest()).resolves.toEqual([]);
  });

  test('is restored in a store that lost its data, and stays deleted in one with older data', async () => {
    const told = reportLog();
    const { report } = told;
    const [a, b] = await startNodes(2, () => ({ tools: [] }), { leaseMs: 1000 }, { report });
    const { rules } = a!.shared;
    const [kept, deleted] = [await begin(a!.url), await begin(a!.url)];
    const older = rules.copy();
    expect((await deleted.delete()).status).toBe(204);
    a!.shared.lose();
    await told.told('nodes.restored');
    const restored = () => told.facts.filter(({ name }) => name === 'nodes.restored');
    await expect
      .poll(() =>
        restored()
          .map(({ message }) => message)
          .join(),
      )
      .toContain('restored 1 ');
    await expect.poll(async () => (await at(b!, kept).request('ping')).status).toBe(200);
    a!.shared.lose(older);
    await expect.poll(() => restored().length).toBeGreaterThan(2);
    await expect.poll(async () => (await at(b!, deleted).request('ping')).status).toBe(404);
    await expect.poll(async () => (await at(b!, kept).request('ping')).status).toBe(200);
  });

  test('belongs to its principal at every node, whether its owner lives or not', async () => {
    const authorization = {
      verifyToken: (token: string) =>
        ['ada', 'bob'].includes(token) ? { subject: token } : undefined,
    };
    const as = (person: string) => ({ authorization: `Bearer ${person}` });
    const [a, b] = await startNodes(2, where, {}, { authorization });
    const greeted = await post(a!.url, initializeRequest(), as('ada'));
    const id = greeted.headers.get('mcp-session-id') ?? '';
    const here = new RawSession(a!.url, { ...as('ada'), 'mcp-session-id': id });
    const first = text(await jsonOf(await here.call('where')));
    const status = async (person: string) =>
      (await at(b!, here).post({ jsonrpc: '2.0', id: 1, method: 'ping' }, as(person))).status;
    expect(await status('bob')).toBe(404);
    expect(text(await jsonOf(await at(b!, here).call('where')))).toBe(first);
    a!.kill();
    // A broken connection is not noticed immediately.
    await expect.poll(() => status('bob')).toBe(404);
    expect(await status('ada')).toBe(200);
    expect(text(await jsonOf(await at(b!, here).call('where')))).not.toBe(first);
    expect(await status('bob')).toBe(404);
  });

  test('rejects changes beyond 256 KiB and keeps its earlier ones', async () => {
    const uriOf = (n: number) => `test://${n}/${'a'.repeat(60_000)}`;
    const resources = [1, 2, 3, 4, 5].map((n) =>
      defineResource({ uri: uriOf(n), name: `${n}`, read: () => 'text' }),
    );
    const [a, b] = await startNodes(2, () => ({ resources }));
    const here = await begin(a!.url);
    const statuses: number[] = [];
    for (const n of [1, 2, 3, 4, 5])
      statuses.push((await here.request('resources/subscribe', { uri: uriOf(n) })).status);
    // Facts are stored by slot with their params.
    expect(statuses).toEqual([200, 200, 503, 503, 503]);
    expect((await here.request('resources/unsubscribe', { uri: uriOf(1) })).status).toBe(200);
    expect((await here.request('resources/subscribe', { uri: uriOf(3) })).status).toBe(200);
    expect((await at(b!, here).request('ping')).status).toBe(200);
  });

  test('cannot be found under any other id', async () => {
    const [, b] = await startNodes(2, where);
    const there = at(b!, await begin(b!.url));
    const unknown = { ...there.headers, 'mcp-session-id': crypto.randomUUID() };
    const response = await there.post({ jsonrpc: '2.0', id: 1, method: 'ping' }, unknown);
    expect(response.status).toBe(404);
  });
});

describe('a stream on several nodes', () => {
  const steps = (...gates: readonly ReturnType<typeof gate>[]) =>
    defineTool({
      name: 'steps',
      description: 'Says what it does',
      handler: async (_, context) => {
        for (const [n, each] of gates.entries()) {
          context.notify('test/step', { n });
          await each.pass();
        }
        return 'done';
      },
    });

  test('is resumed at another node while its call continues', async () => {
    const [first, second] = [gate(), gate()];
    const [a, b] = await startNodes(2, () => ({ tools: [steps(first, second)] }));
    const here = await begin(a!.url);
    const before = new EventReader(await here.call('steps', {}, 's1'));
    const { id, data } = await before.message();
    expect(data).toMatchObject({ params: { n: 0 } });
    await before.leave();
    const after = await at(b!, here).get(id);
    first.release();
    const next = await after.message();
    expect(next.data).toMatchObject({ params: { n: 1 } });
    second.release();
    expect((await after.message()).data).toMatchObject({ id: 's1', result: {} });
    await expect(after.rest()).resolves.toEqual([]);
    // The stream can be replayed from any event, at any node.
    const again = await here.get(next.id);
    expect((await again.rest()).at(-1)?.data).toMatchObject({ id: 's1' });
  });

  test('ends with an error for its request if its node died', async () => {
    const never = gate();
    const [a, b] = await startNodes(2, () => ({ tools: [steps(never)] }));
    const here = await begin(a!.url);
    const before = new EventReader(await here.call('steps', {}, 's1'));
    const { id } = await before.message();
    await before.leave();
    const after = await at(b!, here).get(id);
    a!.kill();
    expect((await after.rest()).at(-1)).toEqual({ retry: '1000' });
    const again = await at(b!, here).get(id);
    const { data } = await again.message();
    expect(data).toMatchObject({ id: 's1', error: { data: { reason: 'process-ended' } } });
    await expect(again.rest()).resolves.toEqual([]);
    expect((await at(b!, here).request('ping')).status).toBe(200);
    never.release();
  });

  test('is replayed completely by another node after its own died', async () => {
    const open = gate();
    open.release();
    const [a, b] = await startNodes(2, () => ({ tools: [steps(open, open)] }));
    const here = await begin(a!.url);
    const [opening, ...said] = await new EventReader(await here.call('steps', {}, 's1')).rest();
    expect(said).toHaveLength(3);
    a!.kill();
    const again = await (await at(b!, here).get(opening?.id)).rest();
    expect(again.filter(({ data }) => data !== undefined)).toEqual(said);
  });

  test('is restored in a store that lost its data and replayed by another node', async () => {
    const told = reportLog();
    const open = gate();
    open.release();
    const [a, b] = await startNodes(
      2,
      () => ({ tools: [steps(open, open)] }),
      { leaseMs: 1000 },
      { report: told.report },
    );
    const here = await begin(a!.url);
    const said = await new EventReader(await here.call('steps', {}, 's1')).rest();
    a!.shared.lose();
    await expect
      .poll(() => told.facts.filter(({ name }) => name === 'nodes.restored').length)
      .toBe(2);
    a!.kill();
    await expect.poll(async () => (await at(b!, here).request('ping')).status).toBe(200);
    const [opening, ...messages] = said;
    expect(messages.at(-1)?.data).toMatchObject({ id: 's1', result: {} });
    const again = await (await at(b!, here).get(opening?.id)).rest();
    expect(again.filter(({ data }) => data !== undefined)).toEqual(messages);
  });

  test('of HTTP+SSE ends its session at all nodes', async () => {
    const [a] = await startNodes(1, where, {}, { sse: true });
    const abort = new AbortController();
    const stream = await fetch(new URL('/sse', a!.url), { signal: abort.signal });
    await new EventReader(stream).next();
    const { records } = a!.shared.rules.data;
    expect(records.size).toBe(1);
    abort.abort();
    await expect.poll(() => records.size).toBe(0);
  });

  test('without logged events reports a lost response per request', async () => {
    const open = gate();
    open.release();
    const stores = { limits: { maxEvents: 1 } };
    const [a, b] = await startNodes(2, () => ({ tools: [steps(open, open)] }), stores);
    const here = await begin(a!.url);
    const lost = await new EventReader(await here.call('steps', {}, 's1')).message();
    await new EventReader(await here.call('steps', {}, 's2')).rest();
    a!.kill();
    const [answer] = await (await at(b!, here).get(lost.id)).messages();
    expect(answer).toMatchObject({ id: 's1', error: {} });
  });

  test('receives server-initiated messages of any node if it is the newest', async () => {
    const [a, b] = await startNodes(2, () => ({
      tools: [
        defineTool({
          name: 'tell',
          description: 'Tells something',
          handler: (_, { session }) => {
            session.notify('test/told', { by: 'tell' });
            return 'done';
          },
        }),
      ],
    }));
    const here = await begin(a!.url);
    const there = at(b!, here);
    await there.call('tell');
    const older = await here.get();
    expect((await older.message()).data).toMatchObject({ method: 'test/told' });
    await there.call('tell');
    expect((await older.message()).data).toMatchObject({ method: 'test/told' });
    const newer = await there.get();
    await here.call('tell');
    const told = await newer.message();
    expect(told.data).toMatchObject({ method: 'test/told' });
    await newer.leave();
    // A client that resumes gets the events since, and later ones on that node's stream.
    const resumed = await here.get(told.id);
    await there.call('tell');
    expect((await resumed.message()).data).toMatchObject({ method: 'test/told' });
  });
});
