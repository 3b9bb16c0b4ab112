/** What becomes of a request that was handed to another node: by the token, the time and the store that it depends on. */
import { describe, expect, onTestFinished, test } from 'vitest';
import { createMcpServer, defineTool } from '../../../src/index.ts';
import type { Tool } from '../../../src/index.ts';
import type { HttpOptions } from '../../../src/http/index.ts';
import { windowBytes } from '../../../src/http/owner/letters.ts';
import { StoreUnavailable } from '../../../src/http/nodes/stores.ts';
import type { Stores } from '../../../src/http/nodes/stores.ts';
import { TestClock, gate, turn } from '../../../src/testing/index.ts';
import { MemoryNodes } from '../nodes/memory-stores.ts';
import { callTool, request } from '../modern/asking.ts';
import type { Asking } from '../modern/asking.ts';
import { EventReader, RawSession, begin, initializeOf, jsonOf, post } from '../raw-client.ts';
import { reported, serveEndpoint } from '../serving.ts';

const echo = defineTool({ name: 'echo', description: 'Says hello', handler: () => 'hello' });

const stateKeys = [Buffer.alloc(32, 1).toString('base64')];

interface PairOptions {
  readonly tools?: readonly Tool[];
  readonly options?: HttpOptions;
  /** What the first node has in the place of what it would have of the stores. */
  first?(stores: Stores, shared: MemoryNodes): Partial<Stores>;
  second?(stores: Stores, shared: MemoryNodes): Partial<Stores>;
}

/** Two nodes on a clock that the test drives. */
async function startPair({
  tools = [echo],
  options = {},
  first = () => ({}),
  second = () => ({}),
}: PairOptions = {}) {
  const clock = new TestClock();
  clock.increment(1_000_000);
  const shared = new MemoryNodes({ clock, leaseMs: 40_000 });
  const facts = reported();
  const start = async (change: NonNullable<PairOptions['first']>) => {
    const stores = shared.start();
    const server = createMcpServer({ name: 'pair', version: '1', tools, stateKeys });
    const { report } = facts;
    const session = { report };
    const served = await serveEndpoint(server, {
      clock,
      report,
      session,
      ...options,
      stores: { ...stores, ...change(stores, shared) },
    });
    return { ...served, kill: () => shared.kill(stores) };
  };
  const here = await start(first);
  const there = await start(second);
  /** Lets time pass, with turns of the loop between the steps. */
  const pass = async (ms: number) => {
    for (let left = ms; left > 0; left -= 50) {
      clock.increment(50);
      await turn();
    }
  };
  /** Lets time pass until something has come to its end, however long the machine takes. */
  const until = async <T>(ending: Promise<T>): Promise<T> => {
    let isOver = false;
    const over = () => void (isOver = true);
    ending.then(over, over);
    // A test that has failed waits no longer.
    onTestFinished(over);
    while (!isOver) await pass(50);
    return ending;
  };
  /** A session that the first node has, as the second one sees it. */
  const beginHere = async (revision?: string) => {
    const session = await begin(here.url, revision);
    await (await session.call('echo')).text();
    return new RawSession(there.url, session.headers);
  };
  return { ...facts, shared, here, there, pass, until, beginHere };
}

/** A tool that waits until it is let go. */
function holding() {
  const held = gate();
  const hold = defineTool({
    name: 'hold',
    description: 'Holds',
    handler: async () => {
      await held.pass();
      return 'held';
    },
  });
  return { held, hold };
}

const away = () => new StoreUnavailable('slow', 'It is slow', { retryAfterMs: 1000 });

describe('a request that the owner of its session does not read', () => {
  test('is taken back after five seconds, once the store can say that it was not read', async () => {
    const sent = gate();
    let asked = 0;
    const { pass, until, beginHere } = await startPair({
      second: ({ inbox }) => ({
        inbox: {
          ...inbox,
          send: async (node, text) => {
            if (!text.includes('"request"')) return inbox.send(node, text);
            void sent.pass();
            return 'its place';
          },
          withdraw: async (_, place) => {
            if (++asked < 3) throw away();
            return place === 'its place';
          },
        },
      }),
    });
    const answer = (await beginHere()).call('echo');
    await sent.arrived();
    await pass(4900);
    expect(asked).toBe(0);
    const refused = await until(answer);
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1']);
    expect((await jsonOf(refused)).error?.message).toContain('5000 ms');
    expect(asked).toBe(3);
  });

  const ended = {
    error: {
      message: expect.stringContaining('has ended') as string,
      data: { reason: 'process-ended', retryable: true },
    },
  };
  const ping = (at: string) => ({ jsonrpc: '2.0', id: at, method: 'ping' });
  const changed = { jsonrpc: '2.0', method: 'notifications/roots/list_changed' };
  test.each([
    ['one', '2025-11-25', ping('p1'), 200, { id: 'p1', ...ended }],
    [
      'a batch',
      '2025-03-26',
      [ping('p1'), changed, ping('p2')],
      200,
      [
        { id: 'p1', ...ended },
        { id: 'p2', ...ended },
      ],
    ],
    ['a notification', '2025-11-25', changed, 503, { error: {} }],
  ])(
    'is not taken back if the store has lost data meanwhile, and may have been read: %s',
    async (_, revision, message, status, told) => {
      const [sent, asked] = [gate(), gate()];
      const { until, beginHere } = await startPair({
        second: ({ inbox }, shared) => ({
          inbox: {
            ...inbox,
            send: async (node, text) => {
              if (!text.includes('"request"')) return inbox.send(node, text);
              void sent.pass();
              return 'its place';
            },
            withdraw: async () => {
              shared.lose(shared.rules.copy());
              void asked.pass();
              return true;
            },
          },
        }),
      });
      const answer = (await beginHere(revision)).post(message);
      await sent.arrived();
      await until(asked.arrived());
      const given = await until(answer);
      expect(given.status).toBe(status);
      const said: unknown = await given.json();
      expect(said).toMatchObject(told);
      expect(Array.isArray(said)).toBe(Array.isArray(told));
    },
  );
});

describe('a request whose node is known', () => {
  const asking = { capabilities: { elicitation: { form: {} } } } satisfies Asking;
  const ask = defineTool({
    name: 'ask',
    description: 'Asks for a name',
    replay: false,
    handler: async (_, { elicit }) =>
      (await elicit({ message: 'Sure?', schema: { type: 'object', properties: {} } })).action,
  });

  /** Two nodes, of which the second hands on what is called `lost` with these stores. */
  async function known(lose: () => string | undefined) {
    let kind: 'heard' | 'lost' = 'heard';
    const pair = await startPair({
      tools: [echo, ask],
      second: ({ inbox }, shared) => ({
        inbox: {
          ...inbox,
          send: async (node, text) => {
            const isHeard = kind === 'heard' || !text.includes('"request"');
            return isHeard ? inbox.send(node, text) : lose();
          },
          withdraw: async () => {
            shared.lose(shared.rules.copy());
            return true;
          },
        },
      }),
    });
    onTestFinished(
      async () => void (await pair.until(Promise.all([pair.here.close(), pair.there.close()]))),
    );
    const session = await pair.beginHere();
    expect((await session.call('echo')).status).toBe(200);
    const { result } = await callTool(pair.here.url, 'ask', {}, asking);
    const [key = ''] = Object.keys(result?.['inputRequests'] as object);
    const retry = {
      name: 'ask',
      arguments: {},
      requestState: result?.['requestState'] as string,
      inputResponses: { [key]: { action: 'accept', content: {} } },
    };
    kind = 'lost';
    const retried = request(pair.there.url, 'tools/call', retry, asking);
    return { ...pair, answers: [session.request('ping', undefined, 1), retried] };
  }

  test('is answered under its id if it may have been read, in a session or without', async () => {
    const { until, answers } = await known(() => 'its place');
    for (const answer of answers) {
      const given = await until(answer);
      expect([given.status, await jsonOf(given)]).toMatchObject([
        200,
        { id: 1, error: { data: { reason: 'process-ended' } } },
      ]);
    }
  });

  test('is served as one of a node that is no more if that ends meanwhile', async () => {
    let kill = () => {};
    const { here, until, answers } = await known(() => {
      kill();
      return undefined;
    });
    kill = () => here.kill();
    const [ping, retried] = await Promise.all(answers.map((answer) => until(answer)));
    expect([ping?.status, await jsonOf(ping!)]).toMatchObject([200, { id: 1, result: {} }]);
    expect(await retried?.text()).toContain('NOT_RESUMABLE');
  });
});

describe('a request whose owner has no inbox any more', () => {
  const deaf = () => {
    let tries = 0;
    let isDeaf = false;
    const second: PairOptions['second'] = ({ inbox }) => ({
      inbox: {
        ...inbox,
        send: async (node, text) => {
          if (!text.includes('"request"')) return inbox.send(node, text);
          if (!isDeaf) return inbox.send(node, text);
          tries++;
          return undefined;
        },
      },
    });
    return {
      second,
      tries: () => tries,
      turn: (to: 'deaf' | 'hearing') => (isDeaf = to === 'deaf'),
    };
  };

  test('is served once the directory says who has its session', async () => {
    const { second, tries, turn: becomes } = deaf();
    const { pass, until, beginHere } = await startPair({ second });
    const session = await beginHere();
    // From now on the node knows who has it.
    expect((await session.call('echo')).status).toBe(200);
    becomes('deaf');
    const answer = session.call('echo', {}, 'e1');
    await expect.poll(tries).toBe(1);
    await pass(1000);
    becomes('hearing');
    expect(await jsonOf(await until(answer))).toMatchObject({ id: 'e1', result: {} });
    expect(tries()).toBeGreaterThan(2);
  });

  test('is refused after five seconds', async () => {
    const { second, tries, turn: becomes } = deaf();
    const { pass, until, beginHere } = await startPair({ second });
    becomes('deaf');
    const answer = (await beginHere()).call('echo');
    await expect.poll(tries).toBe(1);
    await pass(4900);
    const refused = await until(answer);
    expect(tries()).toBeGreaterThan(2);
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1']);
    expect((await jsonOf(refused)).error?.message).toContain('nobody has the session yet');
  });

  test('is refused after five seconds if it is of HTTP+SSE, too', async () => {
    const { second, tries, turn: becomes } = deaf();
    const { until, here, there } = await startPair({ second, options: { sse: true } });
    const abort = new AbortController();
    onTestFinished(() => abort.abort());
    const stream = await fetch(new URL('/sse', here.url), { signal: abort.signal });
    const path = String((await new EventReader(stream).next())?.data);
    becomes('deaf');
    const refused = await until(post(new URL(path, there.url), initializeOf('2024-11-05')));
    expect([refused.status, tries()]).toEqual([503, expect.any(Number)]);
    expect(tries()).toBeGreaterThan(2);
  });
});

test('a stream at another node ends once its token is revoked, and no answer to a call does', async () => {
  let isRevoked = false;
  const verifyToken = () => (isRevoked ? undefined : { subject: 'ada' });
  const { held, hold } = holding();
  const { pass, until, here, there, facts } = await startPair({
    tools: [hold],
    options: { authorization: { verifyToken } },
  });
  const bearer = { authorization: 'Bearer ada' };
  const greeted = await post(here.url, initializeOf(), bearer);
  await greeted.text();
  const headers = { ...bearer, 'mcp-session-id': greeted.headers.get('mcp-session-id') ?? '' };
  expect(await new RawSession(here.url, headers).notify('notifications/initialized')).toBe(202);
  const session = new RawSession(there.url, headers);
  const stream = await session.get();
  expect(stream.response.status).toBe(200);
  const answer = session.call('hold', {}, 'h1');
  await held.arrived();
  await pass(50_000);
  isRevoked = true;
  expect((await until(stream.rest())).at(-1)).toEqual({ retry: '1000' });
  const revoked = facts.filter(({ name }) => name === 'authorization.revoked');
  expect(revoked).toMatchObject([{ level: 'info' }]);
  const events = new EventReader(await answer);
  await pass(70_000);
  held.release();
  expect((await until(events.messages())).at(-1)).toMatchObject({ id: 'h1', result: {} });
});

test('a stream goes on if the store has lost what its owner was told of the bytes that were taken', async () => {
  const text = 'x'.repeat(16 * 1024);
  const count = 3 * (windowBytes / text.length);
  const much = defineTool({
    name: 'much',
    description: 'Says much',
    handler: (_, context) => {
      for (let n = 0; n < count; n++) context.notify('test/step', { text });
      return 'done';
    },
  });
  let told = 0;
  const { shared, pass, until, beginHere } = await startPair({ tools: [echo, much] });
  shared.loses = (letter) => {
    const [, bytes] = /"kind":"taken",[^}]*"bytes":(\d+)/.exec(letter) ?? [];
    told = Math.max(told, Number(bytes ?? 0));
    return bytes !== undefined;
  };
  const messages = new EventReader(await (await beginHere()).call('much')).messages();
  await expect
    .poll(async () => {
      await pass(50);
      return told;
    })
    .toBe(windowBytes);
  shared.loses = () => false;
  shared.lose();
  expect(await until(messages)).toHaveLength(count + 1);
});

test('a request of which the store has not said that it took it is sent again, and served once', async () => {
  let [sends, served] = [0, 0];
  const sentAgain = gate();
  const count = defineTool({
    name: 'count',
    description: 'Counts its calls',
    handler: () => `call ${++served}`,
  });
  const { until, beginHere } = await startPair({
    tools: [echo, count],
    second: ({ inbox }) => ({
      inbox: {
        ...inbox,
        send: async (node, text) => {
          const place = await inbox.send(node, text);
          if (!text.includes('"request"')) return place;
          if (++sends === 1) throw away();
          void sentAgain.pass();
          return place;
        },
      },
    }),
  });
  const session = await beginHere();
  const answer = session.call('count', {}, 'c1');
  await until(sentAgain.arrived());
  expect(await jsonOf(await until(answer))).toMatchObject({
    id: 'c1',
    result: { content: [{ text: 'call 1' }] },
  });
  expect((await until(session.call('echo'))).status).toBe(200);
  expect([sends, served]).toEqual([3, 1]);
});

test('a request that the store has refused is refused at once, and is not sent later', async () => {
  let sends = 0;
  const { until, beginHere } = await startPair({
    second: ({ inbox }) => ({
      inbox: {
        ...inbox,
        send: async (node, text) => {
          if (text.includes('"request"') && ++sends === 1) {
            throw new StoreUnavailable('full', 'It is full', { retryAfterMs: 3000 });
          }
          return inbox.send(node, text);
        },
      },
    }),
  });
  const session = await beginHere();
  const refused = await session.call('echo');
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '3']);
  expect((await jsonOf(refused)).error?.message).toContain('It is full');
  expect((await until(session.call('echo'))).status).toBe(200);
  expect(sends).toBe(2);
});

describe('a node that closes', () => {
  test('waits for what other nodes have still to answer', async () => {
    const { held, hold } = holding();
    const { pass, until, there, beginHere } = await startPair({ tools: [echo, hold] });
    const answer = (await beginHere()).call('hold', {}, 'h1');
    await held.arrived();
    let isClosed = false;
    const closed = there.close().then(() => (isClosed = true));
    await pass(1000);
    expect(isClosed).toBe(false);
    held.release();
    expect(await jsonOf(await until(answer))).toMatchObject({ id: 'h1', result: {} });
    await until(closed);
  });

  test('waits no longer than a drain may take, and says that nobody knows', async () => {
    const { held, hold } = holding();
    const { until, there, beginHere } = await startPair({ tools: [echo, hold] });
    const answer = (await beginHere()).call('hold', {}, 'h1');
    await held.arrived();
    await until(there.close());
    const { data } = await until(new EventReader(await answer).message());
    expect(data).toMatchObject({ id: 'h1', error: { data: { reason: 'process-ended' } } });
    held.release();
  });
});

test('a node that loses its lease says of what it has handed on that nobody knows', async () => {
  let isAway = false;
  const { held, hold } = holding();
  const { until, facts, beginHere } = await startPair({
    tools: [echo, hold],
    options: { limits: { streamAfterMs: 3_600_000 } },
    second: ({ directory }) => ({
      directory: {
        ...directory,
        lease: async (...args) => {
          if (isAway) throw away();
          return directory.lease(...args);
        },
      },
    }),
  });
  const answer = (await beginHere()).call('hold', {}, 'h1');
  await held.arrived();
  isAway = true;
  expect(await jsonOf(await until(answer))).toMatchObject({
    id: 'h1',
    error: { data: { reason: 'process-ended' } },
  });
  expect(facts.filter(({ name }) => name === 'nodes.lapsed')).toHaveLength(1);
  isAway = false;
  held.release();
});

describe('once a node has died', () => {
  test('its clients have left the streams of others', async () => {
    const { until, there, told, beginHere } = await startPair();
    const stream = await (await beginHere()).get();
    expect(stream.response.status).toBe(200);
    there.kill();
    await until(told('stream.left'));
  });

  test('what it has said before still counts, if it comes soon', async () => {
    let isHeld = false;
    const late: (() => void)[] = [];
    const [said, gone] = [gate(), gate()];
    const { held, hold } = holding();
    const { until, here, beginHere } = await startPair({
      tools: [echo, hold],
      second: ({ inbox }) => ({
        inbox: {
          ...inbox,
          open: (node, listener) =>
            inbox.open(node, {
              received: (...args) => {
                if (!isHeld) return listener.received(...args);
                late.push(() => listener.received(...args));
                void said.pass();
              },
            }),
          send: async (node, text) => {
            const place = await inbox.send(node, text);
            if (place === undefined) void gone.pass();
            return place;
          },
        },
      }),
    });
    const answer = (await beginHere()).call('hold', {}, 'h1');
    await held.arrived();
    isHeld = true;
    held.release();
    await said.arrived();
    here.kill();
    await until(gone.arrived());
    await turn();
    for (const receive of late) receive();
    expect(await jsonOf(await answer)).toMatchObject({ id: 'h1', result: {} });
  });
});

test('a stream whose client has left is let go of, though the store has lost that it has', async () => {
  const go = gate();
  const steps = defineTool({
    name: 'steps',
    description: 'Says two things',
    handler: async (_, context) => {
      context.notify('test/step', { n: 0 });
      await go.pass();
      context.notify('test/step', { n: 1 });
      await go.pass();
      return 'done';
    },
  });
  const { shared, until, told, beginHere } = await startPair({ tools: [echo, steps] });
  const events = new EventReader(await (await beginHere()).call('steps'));
  await events.message();
  const lost = gate();
  shared.loses = (text) => {
    const isLost = text.includes('"left"');
    if (isLost) void lost.pass();
    return isLost;
  };
  await events.leave();
  await lost.arrived();
  shared.loses = () => false;
  go.release(1);
  await until(told('stream.left'));
  go.release();
});

test('a stream says nothing until other nodes can know it', async () => {
  const [kept, go] = [gate(), gate()];
  const say = defineTool({
    name: 'say',
    description: 'Says something',
    handler: async (_, context) => {
      context.notify('test/step', { n: 0 });
      await go.pass();
      return 'done';
    },
  });
  const { here, beginHere } = await startPair({
    tools: [echo, say],
    first: ({ log }) => ({
      log: {
        ...log,
        append: async (...args) => {
          await kept.pass();
          return log.append(...args);
        },
      },
    }),
  });
  const session = new RawSession(here.url, (await beginHere()).headers);
  const events = new EventReader(await session.call('say'));
  let isSaid = false;
  const first = events.next().then(() => (isSaid = true));
  await kept.arrived();
  for (let n = 0; n < 3; n++) expect((await session.call('echo')).status).toBe(200);
  expect(isSaid).toBe(false);
  kept.release();
  await first;
  go.release();
});
