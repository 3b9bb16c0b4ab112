import { describe, expect, test } from 'vitest';
import { SimulatedClock } from 'xstate';
import { defineTool } from '../../../../src/index.ts';
import type { RuntimeError } from '../../../../src/index.ts';
import { gate } from '../../../testing/src/index.ts';
import { EventReader, RawSession, begin, initializeRequest, jsonOf, post } from '../raw-client.ts';
import { serveTools } from '../serving.ts';

const hold = (held: ReturnType<typeof gate>) =>
  defineTool({
    name: 'hold',
    description: 'Waits',
    handler: async (_, { signal }) => {
      await held.pass(signal);
      return 'done';
    },
  });

/** Advances time in steps, because maintenance ticks every second. */
function pass(clock: SimulatedClock, ms: number): void {
  for (let at = 0; at < ms; at += 1000) clock.increment(Math.min(1000, ms - at));
}

const statusOf = async (session: RawSession) => {
  const response = await session.request('ping');
  await response.text();
  return response.status;
};

describe('a session', () => {
  test('starts with initialize, which alone reveals its unguessable visible ASCII id [HTTP-11]', async () => {
    const { url } = await serveTools([]);
    const responses = [await post(url, initializeRequest()), await post(url, initializeRequest())];
    const ids = responses.map(({ headers }) => headers.get('mcp-session-id') ?? '');
    expect(new Set(ids).size).toBe(2);
    for (const id of ids) expect(id).toMatch(/^[\x21-\x7e]{32,}$/);
    const session = await begin(url);
    expect((await session.request('ping')).headers.get('mcp-session-id')).toBeNull();
  });

  test('does not start with a malformed initialize [HTTP-11]', async () => {
    const { url } = await serveTools([]);
    const response = await post(url, { jsonrpc: '2.0', id: 1, method: 'initialize', params: {} });
    expect([response.status, response.headers.get('mcp-session-id')]).toEqual([200, null]);
    expect((await jsonOf(response)).error?.code).toBe(-32_602);
  });

  test('rejects a second initialize and continues [HTTP-11]', async () => {
    const { url } = await serveTools([]);
    const session = await begin(url);
    const response = await session.post({ ...initializeRequest(), id: 'again' });
    expect((await jsonOf(response)).error?.code).toBe(-32_600);
    expect(await statusOf(session)).toBe(200);
  });

  test('uses the negotiated revision if no header names one [HTTP-14]', async () => {
    const { url } = await serveTools([]);
    const session = await begin(url, '2025-03-26');
    const batch = [{ jsonrpc: '2.0', id: 1, method: 'ping' }];
    const response = await post(url, batch, { 'mcp-session-id': session.id });
    await expect(response.json()).resolves.toEqual([{ jsonrpc: '2.0', id: 1, result: {} }]);
  });

  test.each([
    ['a notification', { jsonrpc: '2.0', method: 'notifications/none' }],
    ['a response to an unknown request', { jsonrpc: '2.0', id: 's-1', result: {} }],
    ['an error without an id', { jsonrpc: '2.0', error: { code: 1, message: '' } }],
  ])('accepts %s with 202 and no body [HTTP-03]', async (_, message) => {
    const { url } = await serveTools([]);
    const response = await (await begin(url)).post(message);
    expect([response.status, await response.text()]).toEqual([202, '']);
  });

  test('rejects a request that names another revision [HTTP-14]', async () => {
    let ran = 0;
    const count = defineTool({
      name: 'count',
      description: 'Counts',
      handler: () => `${++ran}`,
    });
    const { url } = await serveTools([count]);
    const session = await begin(url);
    const wrong = new RawSession(url, { ...session.headers, 'mcp-protocol-version': '2025-06-18' });
    const responses = [await wrong.call('count'), await wrong.delete()];
    expect(responses.map(({ status }) => status)).toEqual([400, 400]);
    await expect(jsonOf(await session.call('count'))).resolves.toMatchObject({
      result: { content: [{ text: '1' }] },
    });
  });

  test('rejects a malformed response [HTTP-03]', async () => {
    const { url } = await serveTools([]);
    const session = await begin(url);
    const response = await session.post({ jsonrpc: '2.0', id: 's-1', result: {}, error: {} });
    expect([response.status, (await jsonOf(response)).error?.message]).toEqual([
      400,
      expect.stringContaining('either "result" or "error", got both'),
    ]);
  });
});

/** A session with a call that has sent a request, and that call's answer. */
async function questioned(revision?: string) {
  const ask = defineTool({
    name: 'ask',
    description: 'Asks, and says how that has failed',
    handler: (_, context) =>
      context.request('test/question').then(
        () => 'answered',
        (error: RuntimeError) => error.code,
      ),
  });
  const { url } = await serveTools([ask]);
  const session = await begin(url, revision);
  const answer = new EventReader(await session.call('ask'));
  const { data } = await answer.message();
  return { session, answer, id: String(data.id) };
}

describe('a response that cannot be parsed', () => {
  test.each<[string, (id: string) => string]>([
    ['cut off', (id) => `{"jsonrpc":"2.0","id":"${id}","result":{`],
    ['empty', (id) => `{"jsonrpc":"2.0","id":"${id}"}`],
    ['ambiguous', (id) => `{"jsonrpc":"2.0","id":"${id}","result":{},"error":{}}`],
  ])('gets a 400 if it is %s, and rejects the pending request [HTTP-02]', async (_, text) => {
    const { session, answer, id } = await questioned();
    const headers = { ...session.headers, 'content-type': 'application/json' };
    const response = await fetch(session.url, { method: 'POST', headers, body: text(id) });
    expect([response.status, await jsonOf(response)]).toEqual([
      400,
      { jsonrpc: '2.0', error: { code: expect.any(Number), message: expect.any(String) } },
    ]);
    const { data } = await answer.message();
    expect(data.result?.['content']).toEqual([{ type: 'text', text: 'INVALID_RESPONSE' }]);
  });

  test.each(['2025-03-26', '2025-11-25'])(
    'is reported on no GET stream, alone or in a batch, in %s [HTTP-09]',
    async (revision) => {
      const { url } = await serveTools([]);
      const session = await begin(url, revision);
      const stream = await session.get();
      const malformed = { jsonrpc: '2.0', id: 'nobody', result: {}, error: {} };
      for (const message of [malformed, [malformed]]) await (await session.post(message)).text();
      await session.delete();
      expect((await stream.rest()).filter(({ data }) => data !== undefined)).toEqual([]);
    },
  );
});

describe('a batch of 2025-03-26', () => {
  const ping = (id: number) => ({ jsonrpc: '2.0', id, method: 'ping' });

  test('is answered with one JSON array [HTTP-03]', async () => {
    const { url } = await serveTools([]);
    const session = await begin(url, '2025-03-26');
    const response = await session.post([ping(1), { jsonrpc: '2.0', method: 'x' }, ping(2)]);
    await expect(response.json()).resolves.toMatchObject([{ id: 1 }, { id: 2 }]);
  });

  test('without requests is accepted with 202 and no body [HTTP-03]', async () => {
    const { url } = await serveTools([]);
    const session = await begin(url, '2025-03-26');
    const answers = [1, 2].map((id) => ({ jsonrpc: '2.0', id, result: {} }));
    for (const batch of [answers, [{ jsonrpc: '2.0', method: 'x' }]]) {
      const response = await session.post(batch);
      expect([response.status, await response.text()]).toEqual([202, '']);
    }
  });

  test('whose requests are all cancelled gets an empty stream [HTTP-07]', async () => {
    const held = gate();
    const { url } = await serveTools([hold(held)]);
    const session = await begin(url, '2025-03-26');
    const call = { jsonrpc: '2.0', method: 'tools/call', params: { name: 'hold' } };
    const response = session.post([1, 2].map((id) => ({ id, ...call })));
    await held.arrived(2);
    const cancelled = { jsonrpc: '2.0', method: 'notifications/cancelled' };
    await session.post([1, 2].map((requestId) => ({ ...cancelled, params: { requestId } })));
    const { status, headers } = await response;
    expect([status, headers.get('content-type')]).toEqual([200, 'text/event-stream']);
    await expect(response.then((each) => each.text())).resolves.toBe('');
  });

  test('must not contain initialize, nor precede it [HTTP-03]', async () => {
    const { url } = await serveTools([]);
    expect((await post(url, [initializeRequest('2025-03-26')])).status).toBe(400);
    const session = await begin(url, '2025-03-26');
    const response = await session.post([ping(1), initializeRequest('2025-03-26')]);
    await expect(response.json()).resolves.toMatchObject([
      { id: 1, result: {} },
      { id: 'init', error: { code: -32_600 } },
    ]);
  });

  test('with messages before the responses is answered with one stream [HTTP-04]', async () => {
    const steps = defineTool({
      name: 'steps',
      description: 'Says a step',
      handler: (_, context) => {
        context.notify('test/step');
        return 'done';
      },
    });
    const { url } = await serveTools([steps]);
    const session = await begin(url, '2025-03-26');
    const call = { method: 'tools/call', params: { name: 'steps' } };
    const response = await session.post([1, 2].map((id) => ({ jsonrpc: '2.0', id, ...call })));
    await expect(new EventReader(response).rest()).resolves.toMatchObject([
      { id: '1.1%2C2-1', data: { method: 'test/step' } },
      { data: { method: 'test/step' } },
      { data: [{ id: 1 }, { id: 2 }] },
    ]);
  });
});

describe('the end of a session', () => {
  test('answers DELETE with 204, and later requests with 404 [HTTP-10]', async () => {
    const { url } = await serveTools([]);
    const session = await begin(url);
    const response = await session.delete();
    expect([response.status, await response.text()]).toEqual([204, '']);
    // RFC 9110, 8.6: no content-length with 204.
    expect(response.headers.get('content-length')).toBeNull();
    expect([await statusOf(session), (await session.delete()).status]).toEqual([404, 404]);
    expect((await session.get()).response.status).toBe(404);
  });

  test('rejects calls in flight at once and closes streams [HTTP-10]', async () => {
    const held = gate();
    const { url } = await serveTools([hold(held)]);
    const session = await begin(url);
    const stream = await session.get();
    await stream.next();
    const call = session.call('hold');
    await held.arrived();
    await session.delete();
    await expect(stream.rest()).resolves.toEqual([]);
    const { error } = await jsonOf(await call);
    expect(error).toMatchObject({ code: -32_000, data: { reason: 'shutting-down' } });
  });

  test('follows the idle timeout [HTTP-10]', async () => {
    const clock = new SimulatedClock();
    const limits = { sessionIdleTimeoutMs: 60_000 };
    const { url, told } = await serveTools([], { clock, limits });
    const session = await begin(url);
    pass(clock, 50_000);
    expect(await statusOf(session)).toBe(200);
    pass(clock, 59_000);
    expect(await statusOf(session)).toBe(200);
    pass(clock, 60_000);
    expect(await statusOf(session)).toBe(404);
    await expect(told('session.closed')).resolves.toMatchObject({
      details: { cause: { reason: expect.stringContaining('60000 ms') as string } },
    });
  });

  test('waits for open streams and calls in flight [HTTP-10]', async () => {
    const clock = new SimulatedClock();
    const held = gate();
    const { url, told } = await serveTools([hold(held)], {
      clock,
      limits: { sessionIdleTimeoutMs: 10_000, unreadTimeoutMs: Infinity },
    });
    const [listening, calling] = [await begin(url), await begin(url)];
    const stream = await listening.get();
    await stream.next();
    const call = calling.call('hold');
    await held.arrived();
    pass(clock, 100_000);
    expect([await statusOf(listening), await statusOf(calling)]).toEqual([200, 200]);
    pass(clock, 9000);
    held.release();
    await (await call).text();
    await stream.leave();
    await told('stream.left');
    // The timeout starts with the answer, or the end of the stream.
    pass(clock, 9000);
    expect([await statusOf(listening), await statusOf(calling)]).toEqual([200, 200]);
  });

  test('evicts the session that was idle the longest for a new one [HTTP-10]', async () => {
    const clock = new SimulatedClock();
    const { url } = await serveTools([], { clock, limits: { maxSessions: 2 } });
    const [first, second] = [await begin(url), await begin(url)];
    clock.increment(1);
    await statusOf(first);
    const third = await begin(url);
    expect(await Promise.all([first, second, third].map(statusOf))).toEqual([200, 404, 200]);
    // An ended session occupies no slot.
    await first.delete();
    await begin(url);
    expect(await statusOf(third)).toBe(200);
  });

  test('rejects a new session with 503 if all are in use [HTTP-10]', async () => {
    const { url, told } = await serveTools([], { limits: { maxSessions: 1 } });
    const session = await begin(url);
    const stream = await session.get();
    await stream.next();
    const refused = await post(url, initializeRequest());
    expect([refused.status, Number(refused.headers.get('retry-after')) > 0]).toEqual([503, true]);
    expect((await jsonOf(refused)).error?.message).toContain('1 sessions');
    await told('session.refused');
    expect(await statusOf(session)).toBe(200);
  });
});

test('answers 500 and reports the cause if the server factory throws', async () => {
  const { facts, report } = await serveTools([]);
  const { serveHttp } = await import('../serving.ts');
  const url = await serveHttp(
    () => {
      throw new Error('no server today');
    },
    { report },
  );
  const response = await post(url, initializeRequest());
  expect([response.status, await response.text()]).toEqual([
    500,
    expect.not.stringContaining('today'),
  ]);
  expect(facts).toContainEqual(
    expect.objectContaining({
      name: 'server.failed',
      message: expect.stringContaining('today') as string,
      details: { error: expect.objectContaining({ message: 'no server today' }) as Error },
    }),
  );
});

test("ignores errors thrown by the host's report", async () => {
  const report = () => {
    throw new Error('a bug');
  };
  const { url } = await serveTools([], { report });
  const abroad = await fetch(url, { headers: { 'mcp-session-id': 'nobody' } });
  expect(abroad.status).toBe(404);
  expect(await statusOf(await begin(url))).toBe(200);
});

test('reports rejected requests as http.refused with their status', async () => {
  const { url, told } = await serveTools([]);
  const abroad = await fetch(url, { headers: { 'mcp-session-id': 'nobody' } });
  await abroad.text();
  await expect(told('http.refused')).resolves.toMatchObject({
    level: 'debug',
    message: expect.stringMatching(/^GET was rejected with 404: /) as string,
    details: { status: 404 },
  });
});
