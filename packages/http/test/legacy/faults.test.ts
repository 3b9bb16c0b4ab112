/** Broken connections, abandoned streams, and repeated or misdirected messages. */
import { connect } from 'node:net';
import { once } from 'node:events';
import { describe, expect, onTestFinished, test } from 'vitest';
import { defineTool } from '../../../../src/index.ts';
import { gate } from '../../../testing/src/index.ts';
import { EventReader, begin, jsonOf, post } from '../raw-client.ts';
import type { RawSession } from '../raw-client.ts';
import { serveTools } from '../serving.ts';

const echo = defineTool({ name: 'echo', description: 'Says hi', handler: () => 'hi' });
const say = defineTool({
  name: 'say',
  description: 'Says something first',
  handler: (_, context) => {
    context.notify('test/step');
    return 'hi';
  },
});

/** The bytes of a call on its own connection. */
function bytesOf(session: RawSession, name: string, id: number): string {
  const body = JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params: { name } });
  const headers = Object.entries({
    host: 'localhost',
    'content-type': 'application/json',
    'content-length': `${body.length}`,
    ...session.headers,
  });
  const head = headers.map(([header, value]) => `${header}: ${value}\r\n`).join('');
  return `POST /mcp HTTP/1.1\r\n${head}\r\n${body}`;
}

const socketTo = (session: RawSession) => {
  const socket = connect(Number(session.url.port), '127.0.0.1');
  socket.on('error', () => {});
  onTestFinished(() => void socket.destroy());
  return socket;
};

describe('a broken connection', () => {
  test('leaves the session unchanged if it breaks at any byte of a request [HTTP-18]', async () => {
    const { url, facts } = await serveTools([echo]);
    const session = await begin(url);
    const text = bytesOf(session, 'echo', 1);
    for (let length = 1; length < text.length; length += 7) {
      const socket = socketTo(session);
      socket.write(text.slice(0, length));
      await once(socket, 'connect');
      socket.destroy();
    }
    await expect(jsonOf(await session.call('echo'))).resolves.toMatchObject({ result: {} });
    expect(facts.filter(({ level }) => level === 'error')).toEqual([]);
  });

  test('loses nothing if it breaks at any byte of an answer, which can be resumed [HTTP-18]', async () => {
    const { url } = await serveTools([say]);
    const session = await begin(url);
    const all = await new EventReader(await session.call('say', {}, 0)).rest();
    expect(all).toHaveLength(3);
    for (let id = 1; id <= 40; id++) {
      const socket = socketTo(session);
      socket.write(bytesOf(session, 'say', id));
      let got = '';
      while (got.length < id * 10) got += String((await once(socket, 'data'))[0]);
      socket.destroy();
      // Events received before the cut, which moves with each round.
      const whole = got.slice(0, id * 10).matchAll(/^id: (\S+)\n(?:[^\n]+\n)*\n/gm);
      const last = [...whole].at(-1)?.[1] ?? `${id + 1}.${id}-0`;
      const again = await session.get(last);
      const missed = again.response.status === 405 ? [] : await again.rest();
      const ids = missed.filter(({ data }) => data !== undefined).map((event) => event.id);
      expect(ids).toEqual(
        [1, 2].map((n) => `${id + 1}.${id}-${n}`).filter((event) => event > last),
      );
    }
  });

  test('still delivers the answer if only half is closed [HTTP-18]', async () => {
    const { url } = await serveTools([echo]);
    const session = await begin(url);
    const socket = connect({ port: Number(url.port), host: '127.0.0.1', allowHalfOpen: true });
    onTestFinished(() => void socket.destroy());
    socket.end(bytesOf(session, 'echo', 1));
    let got = '';
    for await (const chunk of socket) got += String(chunk);
    expect(got).toContain('"text":"hi"');
  });

  test('does not occur with pipelined requests, which are answered in order [HTTP-18]', async () => {
    const { url } = await serveTools([echo]);
    const session = await begin(url);
    const socket = socketTo(session);
    socket.write([1, 2, 3].map((id) => bytesOf(session, 'echo', id)).join(''));
    let got = '';
    while ((got.match(/"jsonrpc"/g) ?? []).length < 3)
      got += String((await once(socket, 'data'))[0]);
    expect([...got.matchAll(/"id":(\d)/g)].map(([, id]) => id)).toEqual(['1', '2', '3']);
  });
});

describe('a misdirected message', () => {
  const ask = defineTool({
    name: 'ask',
    description: 'Asks the client',
    handler: async (_, context) => JSON.stringify(await context.request('custom/question')),
  });

  test('settles a server request once on any connection, and none of another session [HTTP-16]', async () => {
    const { url, facts, told } = await serveTools([ask]);
    const [session, other] = [await begin(url), await begin(url)];
    const stream = new EventReader(await session.call('ask', {}, 1));
    const { id } = (await stream.message()).data;
    const answer = (n: number, as: unknown = id) => ({ jsonrpc: '2.0', id: as, result: { n } });
    await other.post(answer(1));
    await told('response.unknown');
    await session.post(answer(2, 1));
    expect((await session.post(answer(3))).status).toBe(202);
    await session.post(answer(4));
    await told('response.duplicate');
    const { data } = await stream.message();
    expect(JSON.stringify(data.result)).toContain(String.raw`{\"n\":3}`);
    expect(facts.filter(({ name }) => name === 'response.unknown')).toHaveLength(2);
  });

  test('settles nothing with an id of another type [HTTP-16]', async () => {
    const { url } = await serveTools([ask]);
    const session = await begin(url);
    const stream = new EventReader(await session.call('ask', {}, 1));
    const { id } = (await stream.message()).data;
    const answer = (as: unknown) => session.post({ jsonrpc: '2.0', id: as, result: { as } });
    const others = [1, null, true, [id], { id }, `${id} `];
    const answers = await Promise.all(others.map(answer));
    expect(answers.map(({ status }) => status)).toEqual([202, 400, 400, 400, 400, 202]);
    await answer(id);
    const { data } = await stream.message();
    expect(JSON.stringify(data.result)).toContain(String.raw`{\"as\":\"${id}\"}`);
  });

  test('distinguishes requests whose ids differ only by type [HTTP-18]', async () => {
    const held = gate();
    const hold = defineTool({
      name: 'hold',
      description: 'Waits, once it has begun its stream',
      inputSchema: { type: 'object', properties: { as: { type: 'string' } } },
      handler: async ({ as = '' }, { log, signal, http }) => {
        log.info(as);
        http?.closeConnection();
        await held.pass(signal);
        return as;
      },
    });
    const { url } = await serveTools([hold], {}, { logging: {} });
    const session = await begin(url);
    const streams = await Promise.all(
      [1, '1'].map(
        async (id) => new EventReader(await session.call('hold', { as: typeof id }, id)),
      ),
    );
    const [number, string] = await Promise.all(streams.map((stream) => stream.rest()));
    await session.post({
      jsonrpc: '2.0',
      method: 'notifications/cancelled',
      params: { requestId: '1' },
    });
    const lastOf = (events: typeof number) => events?.findLast(({ id }) => id !== undefined)?.id;
    expect((await session.get(lastOf(string))).response.status).toBe(405);
    const resumed = await session.get(lastOf(number));
    held.release();
    expect((await resumed.rest()).at(-1)?.data).toMatchObject({
      id: 1,
      result: { content: [{ text: 'number' }] },
    });
  });

  test('is rejected if a request is posted twice while the first one runs [HTTP-18]', async () => {
    const held = gate();
    const hold = defineTool({
      name: 'hold',
      description: 'Waits',
      handler: async () => {
        await held.pass();
        return 'first';
      },
    });
    const { url } = await serveTools([hold]);
    const session = await begin(url);
    const first = session.call('hold', {}, 'twice');
    await held.arrived();
    const second = await jsonOf(await session.call('hold', {}, 'twice'));
    expect(second).toMatchObject({ id: 'twice', error: { code: -32_600 } });
    held.release();
    expect(JSON.stringify(await jsonOf(await first))).toContain('first');
  });
});

test('rejects a request to a disconnected client at once', async () => {
  const [left, failed] = [gate(), gate()];
  let failure: unknown;
  const ask = defineTool({
    name: 'ask',
    description: 'Asks for roots',
    handler: async (_, { request }) => {
      await left.pass();
      await request('roots/list', undefined, { probe: true }).catch((error: unknown) => {
        failure = error;
      });
      await failed.pass();
      return 'done';
    },
  });
  const { url, told } = await serveTools([ask]);
  const session = await begin(url, '2025-06-18', { roots: {} });
  const abort = new AbortController();
  const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'ask' } };
  const answer = post(url, call, session.headers, abort.signal);
  await left.arrived();
  abort.abort();
  await expect(answer).rejects.toThrow();
  await told('answer.lost');
  left.release();
  await failed.arrived();
  expect(failure).toMatchObject({ code: 'TRANSPORT_CLOSED' });
  failed.release();
});

test('rejects a request that cannot be serialized, and the call continues', async () => {
  const ask = defineTool({
    name: 'ask',
    description: 'Asks with what JSON cannot say',
    handler: (_, { request }) =>
      request('sampling/createMessage', { tokens: 1n }).then(
        () => 'written',
        () => 'refused',
      ),
  });
  const { url } = await serveTools([ask]);
  const session = await begin(url, '2025-06-18', { sampling: {} });
  const answer = await session.call('ask', {}, 'a1');
  expect(answer.headers.get('content-type')).toBe('application/json');
  const told = { id: 'a1', result: { content: [{ text: 'refused' }] } };
  expect(await jsonOf(answer)).toMatchObject(told);
});
