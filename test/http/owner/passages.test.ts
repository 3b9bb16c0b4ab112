/** What becomes of a request that was handed to another node: by the token, the time and the store that it depends on. */
import { describe, expect, test } from 'vitest';
import { createMcpServer, defineTool } from '../../../src/index.ts';
import type { Tool } from '../../../src/index.ts';
import type { HttpOptions } from '../../../src/http/index.ts';
import { windowBytes } from '../../../src/http/owner/letters.ts';
import { StoreUnavailable } from '../../../src/http/nodes/stores.ts';
import type { NodeInbox, Stores } from '../../../src/http/nodes/stores.ts';
import { TestClock, gate, turn } from '../../../src/testing/index.ts';
import { MemoryNodes } from '../nodes/memory-stores.ts';
import { EventReader, RawSession, begin, initializeOf, jsonOf, post } from '../raw-client.ts';
import { reported, serveHttp } from '../serving.ts';

const echo = defineTool({ name: 'echo', description: 'Says hello', handler: () => 'hello' });

const stateKeys = [Buffer.alloc(32, 1).toString('base64')];

interface PairOptions {
  readonly tools?: readonly Tool[];
  readonly options?: HttpOptions;
  /** What the second node has in the place of its inbox. */
  inbox?(inbox: NodeInbox, shared: MemoryNodes): Partial<NodeInbox>;
}

/** Two nodes on a clock that the test drives. */
async function startPair({ tools = [echo], options = {}, inbox = () => ({}) }: PairOptions = {}) {
  const clock = new TestClock();
  clock.increment(1_000_000);
  const shared = new MemoryNodes({ clock, leaseMs: 40_000 });
  const facts = reported();
  const serve = (stores: Stores) => {
    const server = createMcpServer({ name: 'pair', version: '1', tools, stateKeys });
    return serveHttp(server, { clock, report: facts.report, ...options, stores });
  };
  const here = await serve(shared.start());
  const second = shared.start();
  const there = await serve({
    ...second,
    inbox: { ...second.inbox, ...inbox(second.inbox, shared) },
  });
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
    const over = () => (isOver = true);
    ending.then(over, over);
    while (!isOver) await pass(50);
    return ending;
  };
  /** A session that the first node has, as the second one sees it. */
  const beginHere = async () => {
    const session = await begin(here);
    await (await session.call('echo')).text();
    return new RawSession(there, session.headers);
  };
  return { ...facts, shared, here, there, pass, until, beginHere };
}

const away = () => new StoreUnavailable('slow', 'It is slow', { retryAfterMs: 1000 });

describe('a request that the owner of its session does not read', () => {
  test('is taken back after five seconds, once the store can say that it was not read', async () => {
    const sent = gate();
    let asked = 0;
    const { pass, until, beginHere } = await startPair({
      inbox: (inbox) => ({
        send: async (node, text) => {
          if (!text.includes('"request"')) return inbox.send(node, text);
          void sent.pass();
          return 'its place';
        },
        withdraw: async (_, place) => {
          if (++asked < 3) throw away();
          return place === 'its place';
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

  test('is not taken back if the store has lost data meanwhile: it may have been read', async () => {
    const sent = gate();
    const asked = gate();
    const { until, beginHere } = await startPair({
      inbox: (inbox, shared) => ({
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
      }),
    });
    const answer = (await beginHere()).call('echo', {}, 'e1');
    await sent.arrived();
    await until(asked.arrived());
    expect(await jsonOf(await until(answer))).toMatchObject({
      id: 'e1',
      error: { data: { reason: 'process-ended' } },
    });
  });
});

describe('a request whose owner has no inbox any more', () => {
  const deaf = () => {
    let tries = 0;
    let isDeaf = true;
    const inbox: PairOptions['inbox'] = (whole) => ({
      send: async (node, text) => {
        if (!text.includes('"request"')) return whole.send(node, text);
        tries++;
        return isDeaf ? undefined : whole.send(node, text);
      },
    });
    return { inbox, tries: () => tries, hear: () => (isDeaf = false) };
  };

  test('is served once the directory says who has its session', async () => {
    const { inbox, tries, hear } = deaf();
    const { pass, until, beginHere } = await startPair({ inbox });
    const answer = (await beginHere()).call('echo', {}, 'e1');
    await expect.poll(tries).toBe(1);
    await pass(1000);
    hear();
    expect(await jsonOf(await until(answer))).toMatchObject({ id: 'e1', result: {} });
    expect(tries()).toBeGreaterThan(2);
  });

  test('is refused after five seconds', async () => {
    const { inbox, tries } = deaf();
    const { pass, until, beginHere } = await startPair({ inbox });
    const answer = (await beginHere()).call('echo');
    await expect.poll(tries).toBe(1);
    await pass(4900);
    const refused = await until(answer);
    expect(tries()).toBeGreaterThan(2);
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1']);
    expect((await jsonOf(refused)).error?.message).toContain('nobody has the session yet');
  });
});

test('a stream at another node ends once its token is revoked', async () => {
  let isRevoked = false;
  const verifyToken = () => (isRevoked ? undefined : { subject: 'ada' });
  const { pass, until, here, there, facts } = await startPair({
    options: { authorization: { verifyToken } },
  });
  const bearer = { authorization: 'Bearer ada' };
  const greeted = await post(here, initializeOf(), bearer);
  await greeted.text();
  const headers = { ...bearer, 'mcp-session-id': greeted.headers.get('mcp-session-id') ?? '' };
  expect(await new RawSession(here, headers).notify('notifications/initialized')).toBe(202);
  const stream = await new RawSession(there, headers).get();
  expect(stream.response.status).toBe(200);
  await pass(50_000);
  isRevoked = true;
  expect((await until(stream.rest())).at(-1)).toEqual({ retry: '1000' });
  const revoked = facts.filter(({ name }) => name === 'authorization.revoked');
  expect(revoked).toMatchObject([{ level: 'info' }]);
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
