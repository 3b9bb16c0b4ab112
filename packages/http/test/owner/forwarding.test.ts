/** Requests for a session of another node, by that node's behaviour. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { request as httpRequest } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { setImmediate } from 'node:timers/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createMcpServer, defineTool } from '../../../../src/index.ts';
import { forwardHeader } from '../../src/nodes/forwarding-protocol.ts';
import type { ForwardedHead } from '../../src/nodes/forwarding-protocol.ts';
import { allowedPeers, digestOf, keysFrom, sign, verify } from '../../src/forward/index.ts';
import type { HttpOptions } from '../../src/index.ts';
import { gate } from '../../../testing/src/index.ts';
import { StoreProxy } from '../../../../test/tooling/store-proxy.ts';
import { MemoryNodes } from '../../../nodes/test/memory-stores.ts';
import { RawSession, begin, initializeRequest, jsonOf, post, postHeaders } from '../raw-client.ts';
import { reportLog, serveEndpoint } from '../serving.ts';
import { fakePeer, served } from './fake-peer.ts';
import type { Forwarded } from './fake-peer.ts';
import { stateKey } from './nodes.ts';

const ping = (id: string | number = 1) => ({ jsonrpc: '2.0', id, method: 'ping' });
const json = { 'content-type': 'application/json' } as const;
const stream = { 'content-type': 'text/event-stream' } as const;
const processEnded = { error: { data: { reason: 'process-ended' } } };

/** Answers with a complete JSON body. */
function answerJson({ response }: Forwarded, body: string, status = 200): void {
  response.writeHead(status, { ...served, ...json, 'content-length': Buffer.byteLength(body) });
  response.end(body);
}

/** A node, and the peer that owns its clients' sessions. */
async function door(
  answer: (forwarded: Forwarded) => void,
  options: HttpOptions = {},
  peerOptions: Parameters<typeof fakePeer>[2] = {},
) {
  const shared = new MemoryNodes();
  const peer = await fakePeer(shared, answer, peerOptions);
  const facts = reportLog();
  const echo = defineTool({ name: 'echo', description: 'Echoes', handler: () => 'echoed' });
  const server = createMcpServer({
    ...{ name: 'door', version: '1', tools: [echo] },
    stateKeys: [stateKey],
  });
  const stores = shared.start();
  const { url, close } = await serveEndpoint(server, { report: facts.report, ...options, stores });
  return { shared, peer, url, close, ...facts };
}

/** Whether the owner of the session is cached. */
const before = [
  ['that has forwarded for it before', true],
  ['that has not', false],
] as const;

async function forwardedBefore({ url }: { url: URL }, headers: object): Promise<void> {
  const answer = await post(url, ping('before'), headers);
  expect(answer.status).toBe(200);
  await answer.text();
}

describe.each(before)('a request at a node %s', (_, isKnown) => {
  /** The peer answers a first request if the owner must be cached. */
  const begun = async (
    answer: (forwarded: Forwarded) => void,
    options?: HttpOptions,
    peerOptions?: Parameters<typeof fakePeer>[2],
  ) => {
    let count = 0;
    const opened = await door(
      (forwarded) => {
        if (isKnown && count++ === 0)
          answerJson(forwarded, JSON.stringify({ jsonrpc: '2.0', id: 'before', result: {} }));
        else answer(forwarded);
      },
      options,
      peerOptions,
    );
    const headers = await opened.peer.session('s1');
    if (isKnown) await forwardedBefore(opened, headers);
    return { ...opened, headers };
  };

  test('gets 503 if its owner refuses connections, and reports both nodes once', async () => {
    const { url, peer, headers, facts } = await begun(() => expect.unreachable());
    peer.refuse();
    // The close of the idle connection is noticed by then.
    await setImmediate();
    const answers = [await post(url, ping(), headers), await post(url, ping(), headers)];
    for (const answer of answers) {
      const text = await answer.text();
      if (text.includes('process-ended')) continue;
      expect(answer.status).toBe(503);
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
    }
    const named = facts.filter(({ name }) => name === 'nodes.unreachable');
    expect(named).toHaveLength(1);
    expect(named[0]?.message).toContain(peer.node);
    expect(named[0]?.message).toContain(url.href);
  });

  test('gets an error and is sent once if the connection breaks before the head', async () => {
    const { url, peer, headers } = await begun(({ request }) => request.socket.destroy());
    const sent = peer.forwarded.length;
    const answer = await post(url, ping('lost'), headers);
    expect(answer.status).toBe(200);
    expect(await answer.json()).toMatchObject({ id: 'lost', ...processEnded });
    expect(peer.forwarded.length - sent).toBe(1);
  });

  test('gets an error if a short body breaks off', async () => {
    const { url, headers } = await begun(({ request, response }) => {
      response.writeHead(200, { ...served, ...json, 'content-length': 100 });
      response.write('{"jsonrpc"', () => request.socket.destroy());
    });
    const answer = await post(url, ping('lost'), headers);
    expect(await answer.json()).toMatchObject({ id: 'lost', ...processEnded });
  });

  test('is cut off if a long body breaks off', async () => {
    const { url, headers } = await begun(({ request, response }) => {
      response.writeHead(200, { ...served, ...json, 'content-length': 1_000_000 });
      response.write(' '.repeat(70_000), () => request.socket.destroy());
    });
    const answer = await post(url, ping(), headers);
    await expect(answer.text()).rejects.toThrow();
  });

  test.each([
    ['between two events', ': hello\n\ndata: {"jsonrpc":"2.0","method":"a"}\n\n', ''],
    ['within an event', 'data: {"jsonrpc":"2.0","meth', '\nevent: cut\n\n'],
  ])(
    'gets an error per request if its stream breaks %s without an event id',
    async (_where, said, mended) => {
      const { url, headers } = await begun(({ request, response }) => {
        response.writeHead(200, { ...served, ...stream });
        response.write(said, () => request.socket.destroy());
      });
      const one = await post(url, ping('lost'), headers);
      const text = await one.text();
      expect(text.slice(0, said.length + mended.length)).toBe(said + mended);
      const [data = ''] = text.slice(said.length + mended.length).split('\n\n');
      expect(JSON.parse(data.replace('data: ', ''))).toMatchObject({ id: 'lost', ...processEnded });
      const batch = await post(url, [ping(1), ping(2)], headers);
      const last = (await batch.text()).trim().split('\n').at(-1) ?? '';
      expect(JSON.parse(last.replace('data: ', ''))).toMatchObject([
        { id: 1, ...processEnded },
        { id: 2, ...processEnded },
      ]);
    },
  );

  test.each([
    ['between two events', 'id: 1-1\ndata: {}\n\n', 'retry: 1000\n\n'],
    ['within an event', 'id: 1-1\ndata: {}\n\nid: 1-2\ndata: {"json', ''],
  ])('can be resumed if its stream breaks %s after an event id', async (_where, said, added) => {
    const { url, headers } = await begun(({ request, response }) => {
      response.writeHead(200, { ...served, ...stream });
      response.write(said, () => request.socket.destroy());
    });
    const posted = await post(url, ping('lost'), headers);
    expect(await posted.text()).toBe(said + added);
    const accept = { ...headers, accept: 'text/event-stream', 'last-event-id': '1-0' };
    const resumed = await fetch(url, { headers: accept });
    expect(await resumed.text()).toBe(said + added);
  });

  test('gets 503 after another lookup if its owner has moved', async () => {
    const { url, peer, headers } = await begun(({ response }) => {
      response.writeHead(421, { [forwardHeader]: 'moved' }).end();
    });
    const sent = peer.forwarded.length;
    const answer = await post(url, ping(), headers);
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '1']);
    expect(peer.forwarded.length - sent).toBe(1);
  });

  test('is sent to the next owner if the first has moved', async () => {
    const opened = await begun(({ response }) => {
      response.writeHead(421, { [forwardHeader]: 'moved' }).end();
    });
    const { url, headers, shared } = opened;
    const next = await fakePeer(shared, (forwarded) => answerJson(forwarded, '{"next":true}'));
    const { find } = shared.rules;
    let reads = isKnown ? 1 : 0;
    // The directory still has the session on the first read.
    shared.rules.find = function read(id) {
      if (reads++ === 1) void next.session(id);
      return find.call(this, id);
    };
    const answer = await post(url, ping(), headers);
    expect(await answer.json()).toEqual({ next: true });
  });

  test('gets 503 if its owner rejects the signature, and reports it', async () => {
    const { url, headers, told } = await begun(({ response }) => {
      response.writeHead(421, { [forwardHeader]: 'refused' }).end();
    });
    expect((await post(url, ping(), headers)).status).toBe(503);
    const { message } = await told('nodes.unreachable');
    expect(message).toContain('stateKeys');
  });

  test("gets an error if another program answers at its owner's URL, and reports it", async () => {
    const { url, headers, told } = await begun(({ response }) => {
      response.writeHead(502, json).end('{}');
    });
    const answer = await post(url, ping('lost'), headers);
    expect(await answer.json()).toMatchObject({ id: 'lost', ...processEnded });
    expect((await told('nodes.unreachable')).message).toContain('another program answers');
  });

  test('fails within 10 s if its owner becomes silent', async () => {
    const { url, headers } = await begun(() => {}, {}, { probes: 'silent' });
    const since = performance.now();
    const answer = await post(url, ping('lost'), headers);
    expect(await answer.json()).toMatchObject({ id: 'lost', ...processEnded });
    expect(performance.now() - since).toBeLessThan(10_000);
  });

  test('tells its owner at once that the client disconnected', async () => {
    const left = gate();
    const arrived = gate();
    const { url, headers } = await begun(({ response }) => {
      response.on('close', () => void left.pass());
      void arrived.pass();
    });
    const abort = new AbortController();
    const cut = post(url, ping(), headers, abort.signal).catch(() => {});
    await arrived.arrived();
    abort.abort();
    await cut;
    await left.arrived();
    arrived.release();
    left.release();
  });
});

test("carries the client's headers except credentials", async () => {
  const authorization = { verifyToken: (subject: string) => ({ subject, scopes: ['a'] }) };
  const { url, peer, shared } = await door((forwarded) => answerJson(forwarded, '{}'), {
    authorization,
  });
  const mine = { authorization: 'Bearer ada', cookie: 'secret', 'x-more': 'told' };
  const own = await post(url, initializeRequest(), mine);
  const { records } = shared.rules.data;
  const { principal } = records.get(own.headers.get('mcp-session-id') ?? '')!;
  const session = await peer.session('s2');
  records.set('s2', { ...records.get('s2')!, principal });
  const answer = await post(url, ping(), { ...session, ...mine, [forwardHeader]: 'made up' });
  expect(answer.status).toBe(200);
  const [{ request, body }] = peer.forwarded as [Forwarded];
  expect(JSON.parse(body)).toEqual(ping());
  expect(request.headers).toMatchObject({ 'x-more': 'told', accept: postHeaders.accept });
  expect(request.headers).not.toHaveProperty('authorization');
  expect(request.headers).not.toHaveProperty('cookie');
  expect(verify(String(request.headers[forwardHeader]), keysFrom([stateKey]))).toMatchObject({
    kind: 'signed',
    head: {
      to: peer.node,
      method: 'POST',
      target: '/mcp',
      sessionId: 's2',
      host: url.host,
      digest: digestOf(body),
      principal: { subject: 'ada', scopes: ['a'] },
      remoteAddress: expect.stringContaining('127.0.0.1') as string,
    },
  });
});

test('buffers little of a long response for a slow client', async () => {
  const length = 10 * 1024 * 1024;
  let fed = 0;
  const { url, peer } = await door(({ response }) => {
    response.writeHead(200, { ...served, ...json, 'content-length': length });
    const piece = Buffer.alloc(64 * 1024, ' ');
    const feed = (): void => {
      while (fed < length && !response.writableNeedDrain) {
        fed += piece.length;
        response.write(piece);
      }
      if (fed < length) response.once('drain', feed);
      else response.end();
    };
    feed();
  });
  const headers = await peer.session('s1');
  const passing: ServerResponse[] = [];
  const hear = (message: unknown) => {
    const { request, response } = message as { request: IncomingMessage; response: ServerResponse };
    if (request.headers[forwardHeader] === undefined) passing.push(response);
  };
  subscribe('http.server.request.start', hear);
  onTestFinished(() => void unsubscribe('http.server.request.start', hear));
  const slow = httpRequest(url, { method: 'POST', headers: { ...postHeaders, ...headers } });
  slow.end(JSON.stringify(ping()));
  const response = await new Promise<IncomingMessage>((resolve) => slow.once('response', resolve));
  // Until the buffers are full.
  let most = 0;
  for (let last = -1, still = 0; still < 200; still = fed === last ? still + 1 : 0) {
    last = fed;
    most = Math.max(most, ...passing.map(({ writableLength }) => writableLength));
    await setImmediate();
  }
  expect(fed).toBeLessThan(length);
  expect(passing).toHaveLength(1);
  let read = 0;
  for await (const chunk of response) {
    read += (chunk as Buffer).length;
    most = Math.max(most, passing[0]!.writableLength);
  }
  expect(read).toBe(length);
  expect(most).toBeLessThan(1024 * 1024);
});

describe('a node', () => {
  test('speaks the newest common version of the forwarding protocol', async () => {
    const newer = await door((forwarded) => answerJson(forwarded, '{}'), {}, { protocol: 7 });
    expect((await post(newer.url, ping(), await newer.peer.session('s1'))).status).toBe(200);
    const [{ request }] = newer.peer.forwarded as [Forwarded];
    expect(request.headers[forwardHeader]).toMatch(/^1\./);
    const older = await door(() => expect.unreachable(), {}, { protocol: 0 });
    expect((await post(older.url, ping(), await older.peer.session('s1'))).status).toBe(503);
  });

  test('forwards nothing to nodes outside node.peers', async () => {
    const answer = (forwarded: Forwarded) => answerJson(forwarded, '{}');
    const tried = async (peers: readonly string[]): Promise<number> => {
      const url = 'http://127.0.0.1:1/mcp';
      const { url: at, peer } = await door(answer, { node: { url, peers } });
      return (await post(at, ping(), await peer.session('s1'))).status;
    };
    expect(await tried(['10.0.0.0/8', 'node-1.internal'])).toBe(503);
    expect(await tried(['127.0.0.0/8'])).toBe(200);
    expect(await tried(['127.0.0.1'])).toBe(200);
  });

  test.each(['/a', 'http://a', '10.0.0.0/33', ''])('rejects node.peers with %j', (peer) => {
    expect(() => allowedPeers([peer])).toThrow(TypeError);
  });

  test('takes its URL from its host', async () => {
    const server = createMcpServer({ name: 'mounted', version: '1' });
    const { nodeHandler } = await import('../../src/node/index.ts');
    expect(() => nodeHandler(server, { stores: new MemoryNodes().start() })).toThrow(/^node\.url/);
  });

  test('reports that it cannot reach itself', async () => {
    const facts = reportLog();
    const server = createMcpServer({ name: 'lost', version: '1', stateKeys: [stateKey] });
    const node = { url: 'http://127.0.0.1:1/mcp' };
    await serveEndpoint(server, { report: facts.report, node, stores: new MemoryNodes().start() });
    expect((await facts.told('nodes.unreachable')).message).toContain('--node-url');
  });

  test('signs with a key from the store if the nodes have none in common', async () => {
    const shared = new MemoryNodes();
    const urls = await Promise.all(
      [1, 2].map(async () => {
        const server = createMcpServer({ name: 'keyless', version: '1' });
        return (await serveEndpoint(server, { report: () => {}, stores: shared.start() })).url;
      }),
    );
    const here = await begin(urls[0]!);
    expect((await new RawSession(urls[1]!, here.headers).request('ping')).status).toBe(200);
  });
});

describe('a request that claims to be forwarded', () => {
  const head: ForwardedHead = {
    ...{ from: 'a'.repeat(20), to: '', timeMs: 0, method: 'POST', target: '/mcp' },
    ...{ sessionId: undefined, digest: '', remoteAddress: '192.0.2.7', host: 'far.example' },
    ...{ origin: undefined, principal: undefined, tokenValidMs: undefined },
  };
  /** A session, and signed requests that a peer could send. */
  const opened = async () => {
    const shared = new MemoryNodes();
    let seen: readonly string[] = [];
    const show = defineTool({
      name: 'show',
      description: 'Shows the headers',
      handler: (_, { http }) => {
        seen = http?.headerNames() ?? [];
        return `${http?.header('host')} ${http?.remoteAddress}`;
      },
    });
    const server = createMcpServer({
      ...{ name: 'owner', version: '1', tools: [show], stateKeys: [stateKey] },
    });
    const { url } = await serveEndpoint(server, { stores: shared.start(), report: () => {} });
    const { headers } = await begin(url);
    const [lease] = [...shared.rules.data.leases];
    const [to, { untilMs }] = lease!;
    const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'show' } };
    const body = JSON.stringify(call);
    const sessionId = headers['mcp-session-id'];
    // In-memory leases last 10 s.
    const timeMs = untilMs - 10_000;
    const valid = { ...head, to, timeMs, sessionId, digest: digestOf(body) };
    const send = (more: Partial<ForwardedHead>, keys = [stateKey], version = 1) => {
      const signed = sign({ ...valid, ...more }, keysFrom(keys), version);
      return post(url, call, { ...headers, [forwardHeader]: signed });
    };
    return { send, url, call, headers, seen: () => seen };
  };

  test('is accepted with a valid signature, without headers of proxies in between', async () => {
    const { send, seen } = await opened();
    const answer = await send({});
    expect([answer.status, answer.headers.get(forwardHeader)]).toEqual([200, 'served']);
    expect(await answer.text()).toContain('far.example 192.0.2.7');
    expect(seen()).not.toContain(forwardHeader);
  });

  const other = Buffer.alloc(32, 2).toString('base64');

  test('is accepted by a node that has one of the keys during rotation', async () => {
    const { send } = await opened();
    expect((await send({}, [other, stateKey])).status).toBe(200);
  });

  test.each<[string, Partial<ForwardedHead>, string, string[]?, number?]>([
    ['has another key', {}, 'refused', [other]],
    ['uses an unknown protocol version', {}, 'refused', [stateKey], 99],
    ['signed it long ago', { timeMs: -1e6 }, 'refused'],
    ['signed it for a later time', { timeMs: 1e12 }, 'refused'],
    ['signed it for another node', { to: 'b'.repeat(20) }, 'moved'],
  ])('is rejected if its node %s', async (_, more, outcome, keys, version) => {
    const { send } = await opened();
    const answer = await send(more, keys, version);
    expect([answer.status, answer.headers.get(forwardHeader)]).toEqual([421, outcome]);
  });

  test('is rejected if its body differs from the signed one', async () => {
    const { send } = await opened();
    expect((await send({ digest: digestOf('{}') })).status).toBe(400);
  });

  test.each([
    ['nothing', ''],
    ['an outcome', 'served'],
    ['parts', 'a.b.c'],
    ['an object', '1.e30.x'],
    ['a short row', '1.WzEsMl0.x'],
    ['much', `1.${'x'.repeat(5000)}`],
  ])('is an ordinary client request if its unsigned header is %s', async (_, text) => {
    const { url, call, headers, seen } = await opened();
    const answer = await post(url, call, { ...headers, [forwardHeader]: text });
    expect(answer.status).toBe(200);
    expect(await jsonOf(answer)).toMatchObject({ result: {} });
    expect(seen()).not.toContain(forwardHeader);
  });
});

test('gives up on a node behind a silent network and uses it again later', async () => {
  const shared = new MemoryNodes();
  const stateKeys = [stateKey];
  const report = () => {};
  const hold = gate();
  const tool = defineTool({
    name: 'hold',
    description: 'Holds',
    handler: async () => {
      await hold.pass();
      return 'held';
    },
  });
  const make = () => createMcpServer({ name: 'far', version: '1', stateKeys, tools: [tool] });
  const proxies: StoreProxy[] = [];
  const far = await serveEndpoint(make(), (url) => ({
    ...{ stores: shared.start(), report },
    node: {
      url: StoreProxy.to(Number(url.port)).then((proxy) => {
        proxies.push(proxy);
        onTestFinished(() => proxy.close());
        return `http://127.0.0.1:${proxy.port}/mcp`;
      }),
    },
  }));
  const near = await serveEndpoint(make(), { stores: shared.start(), report });
  const session = await begin(far.url);
  const there = new RawSession(near.url, session.headers);
  expect((await there.request('ping')).status).toBe(200);
  const held = there.call('hold', {}, 'held');
  await hold.arrived();
  proxies[0]!.stall();
  expect(await jsonOf(await held)).toMatchObject({ id: 'held', ...processEnded });
  proxies[0]!.heal();
  await expect.poll(async () => (await jsonOf(await there.request('ping'))).result).toEqual({});
  hold.release();
});
