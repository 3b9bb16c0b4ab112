/** Dumps of HTTP sessions. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { SimulatedClock } from 'xstate';
import { defineTool } from 'mcp-actors';
import type { Limits, SessionDump } from 'mcp-actors';
import { gate } from 'mcp-actors/testing';
import { describeDump, explainDump } from '../../diagnostics/src/dump-text.ts';
import type { HttpOptions } from '../src/index.ts';
import { defaultHttpLimits } from '../src/options.ts';
import { headlineOf } from '../../diagnostics/src/headline.ts';
import {
  describeEndpoint,
  describeSessions,
  dumpEndpoint,
  mostUrgentFirst,
} from '../../diagnostics/src/sessions-text.ts';
import { request } from './modern/modern-client.ts';
import { EventReader, begin, initializeRequest, post } from './raw-client.ts';
import { serveTools } from './serving.ts';

const push = defineTool({
  name: 'push',
  description: 'Notifies without a request.',
  inputSchema: {
    type: 'object',
    properties: { count: { type: 'number' }, bytes: { type: 'number' } },
  },
  handler: ({ count = 1, bytes = 0 }, { session }) => {
    for (let at = 0; at < count; at++) session.notify('test/step', { text: 'x'.repeat(bytes) });
    return 'done';
  },
});

/** A tool that notifies and then waits for a gate. */
function waiting() {
  const held = gate();
  const wait = defineTool({
    name: 'wait',
    description: 'Says something and waits.',
    handler: async (_, { signal, log }) => {
      log.error('begun');
      await held.pass(signal);
      return 'done';
    },
  });
  return { wait, held };
}

/** Serves on a controlled clock and returns dumps. */
async function watched(
  tools: Parameters<typeof serveTools>[0],
  options: { readonly limits?: Partial<Limits> } = {},
  endpoint: HttpOptions = {},
) {
  const clock = new SimulatedClock();
  const dumps: (() => SessionDump)[] = [];
  const watchers = [({ dump }: { dump(): SessionDump }) => void dumps.push(dump)];
  const session = { watchers, ...options };
  const served = await serveTools(tools, { clock, session, ...endpoint }, { logging: {} });
  const dump = (index = 0): SessionDump => (dumps[index] as () => SessionDump)();
  const pass = (ms: number) => {
    for (let at = 0; at < ms; at += 500) clock.increment(500);
  };
  return { ...served, dump, pass, dumps: () => dumps.map((each) => each()) };
}

describe('the dump of an HTTP session', () => {
  test('shows the state and only a shortened session id', async () => {
    const { url, dump, pass } = await watched([push]);
    const session = await begin(url, '2025-11-25', { roots: {} });
    // Roots are requested once there is a stream.
    const waitingPushes = { count: 0 };
    const atFirst = { kind: 'session', state: 'initializing', due: 0, streams: [], waitingPushes };
    expect(dump().http).toMatchObject(atFirst);
    expect(dump().http).not.toHaveProperty('principal');
    pass(5000);
    expect(dump().http).toMatchObject({ state: 'unused', quietMs: 5000 });
    await (await session.request('ping')).text();
    expect(dump().http).toMatchObject({ state: 'active' });
    pass(5000);
    expect(dump().http).toMatchObject({ state: 'idle', quietMs: 5000 });
    const id = `${session.id.slice(0, 8)}…`;
    const text = describeDump(dump());
    expect(text).toContain(`HTTP: session ${id} idle for 5 s`);
    expect(text + JSON.stringify(dump())).not.toContain(session.id);
  });

  test('does not count accepted or rejected messages as pending', async () => {
    const ask = defineTool({
      name: 'ask',
      description: 'Asks for roots',
      handler: (_, { request: asked }) =>
        asked('roots/list', undefined, { probe: true }).then(
          () => 'answered',
          () => 'failed',
        ),
    });
    const { url, dump, pass } = await watched([ask]);
    const session = await begin(url, '2025-03-26', { roots: {} });
    await (await session.request('ping')).text();
    const said = { jsonrpc: '2.0', method: 'notifications/roots/list_changed' };
    expect((await session.post([said, said])).status).toBe(202);
    expect((await session.post({ jsonrpc: '2.0', id: 1 })).status).toBe(400);
    // A malformed response is no request.
    const events = new EventReader(await session.call('ask', {}, 'a1'));
    const { id } = (await events.message()).data;
    const answer = { jsonrpc: '2.0', id, result: {}, error: {} };
    expect((await session.post(answer)).status).toBe(400);
    expect((await events.message()).data).toMatchObject({ id: 'a1', result: {} });
    pass(5000);
    expect(dump().http).toMatchObject({ state: 'idle', due: 0 });
  });

  test('shows the messages queued for a missing stream', async () => {
    const { url, dump } = await watched([push]);
    const session = await begin(url);
    await (await session.call('push', { count: 3 })).text();
    const { maxEvents, maxEventBytes } = defaultHttpLimits;
    expect(dump().http).toMatchObject({
      waitingPushes: { count: 3, max: 256 },
      keptEvents: { count: 0, max: maxEvents },
      keptBytes: { count: 0, max: maxEventBytes },
    });
    const why = 'The client has no stream of its own: 3 messages wait for a GET';
    expect(explainDump(dump())).toEqual([why]);
    expect(headlineOf(dump()).sentence).toBe(
      'Waiting for raw to open a stream: 3 messages wait for it.',
    );
    const stream = await session.get();
    for (let at = 0; at < 3; at++) await stream.message();
    expect(dump().http).toMatchObject({
      waitingPushes: { count: 0 },
      keptEvents: { count: 3 },
      streams: [{ kind: 'get', name: '1', state: 'open', keptEvents: 3, answers: [] }],
    });
    expect(explainDump(dump())).toEqual([expect.stringMatching(/^Nothing is pending/)]);
  });

  test('shows a disconnected call and for how long its client has been away', async () => {
    const { wait, held } = waiting();
    const { url, dump, pass } = await watched([wait]);
    const session = await begin(url);
    const answer = await session.call('wait', {}, 7);
    await held.arrived();
    expect(dump().http).toMatchObject({ due: 1, streams: [{ kind: 'post', answers: [7] }] });
    await answer.body?.cancel();
    await expect.poll(() => dump().http?.streams[0]?.state).toBe('cut');
    pass(12_000);
    expect(explainDump(dump())[0]).toBe(
      'The client was cut off from the answer to 7 12 s ago and has not come back',
    );
    expect(describeDump(dump())).toMatch(/stream \d \(POST 7\): cut for 12 s, 1 event kept/);
    expect(headlineOf(dump())).toMatchObject({
      sentence: 'Waiting for raw to come back to a stream that was cut.',
      ageMs: 12_000,
    });
    held.release();
    await expect.poll(() => dump().http?.streams[0]?.state).toBe('ended');
    expect(explainDump(dump())).toEqual([expect.stringMatching(/^Nothing is pending/)]);
  });

  test('shows that the client is not reading, and since when', async () => {
    const { url, dump, pass } = await watched([push]);
    const session = await begin(url);
    const socket = connect(Number(url.port), '127.0.0.1');
    onTestFinished(() => void socket.destroy());
    const headers = { host: 'localhost', accept: 'text/event-stream', ...session.headers };
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    socket.write(`GET /mcp HTTP/1.1\r\n${lines.join('')}\r\n`);
    await once(socket, 'data');
    socket.pause();
    while ((dump().http?.streams[0]?.unreadBytes ?? 0) < 2 ** 20) {
      await (await session.call('push', { bytes: 2 ** 19 })).text();
    }
    expect(explainDump(dump()).join()).not.toContain('does not read');
    // The first tick, after a second, sees what the system has accepted.
    pass(6000);
    expect(explainDump(dump())[0]).toMatch(
      /^The client does not read its GET stream: it has taken none of [\d.]+ [KM]iB for 5 s/,
    );
  });
});

test('counts sessionless requests and shows their streams', async () => {
  const { wait, held } = waiting();
  const { url, dump, pass } = await watched([wait, push]);
  await (await request(url, 'tools/list')).text();
  const asked = request(url, 'tools/call', { name: 'wait' }, { id: 'w', logLevel: 'error' });
  const answer = await asked;
  await held.arrived();
  pass(4000);
  expect(dump().http).toMatchObject({
    kind: 'requests',
    served: 2,
    due: 1,
    streams: [{ kind: 'post', answers: ['w'], state: 'open', ageMs: 4000, unreadBytes: 0 }],
  });
  expect(describeDump(dump())).toContain(
    'HTTP: requests without a session; 2 have come, 1 waits for an answer',
  );
  held.release();
  await answer.text();
  expect(dump().http).toMatchObject({ due: 0, streams: [] });
  // It waits for no client, even before the first one.
  for (const tags of [dump().tags, ['awaitsInitialize'] as const]) {
    const resting = { ...dump(), tags };
    expect(explainDump(resting)).toEqual(['Nothing is pending: any client may ask']);
    expect(headlineOf(resting)).toMatchObject({ mood: 'idle' });
    expect(describeSessions([resting])).toBe('');
  }
});

test('names the principal of a session', async () => {
  const authorization = { verifyToken: (subject: string) => ({ subject }) };
  const { url, dump } = await watched([], {}, { authorization });
  await (await post(url, initializeRequest(), { authorization: 'Bearer ada' })).text();
  expect(dump().http).toMatchObject({ principal: expect.stringContaining('ada') as string });
});

test('counts pending sessionless requests per principal', async () => {
  const { wait, held } = waiting();
  const authorization = { verifyToken: (subject: string) => ({ subject }) };
  const { url, dump } = await watched([wait], {}, { authorization });
  const asked = ['ada', 'ada', 'bob'].map(async (who) => {
    const headers = { authorization: `Bearer ${who}` };
    return (await request(url, 'tools/call', { name: 'wait' }, { headers })).text();
  });
  await held.arrived(3);
  const { http } = dump();
  const counts = http?.kind === 'requests' ? Object.values(http.dueOf) : [];
  expect(counts.toSorted((one, other) => one - other)).toEqual([1, 2]);
  expect(describeDump(dump())).toMatch(/2 of \S*ada/);
  held.release();
  await Promise.all(asked);
});

test('shows the limits of sessionless clients in total and per client', async () => {
  const { wait, held } = waiting();
  const limits = { maxRunning: 2, maxWaiting: 3, maxTasks: 5 };
  const { url, dump } = await watched([wait], { limits });
  const asked = [1, 2, 3].map(async (id) => {
    const answer = await request(url, 'tools/call', { name: 'wait' }, { id });
    return answer.text();
  });
  await held.arrived(2);
  await expect.poll(() => dump().queues.waiting.count).toBe(1);
  expect(dump().queues).toMatchObject({
    running: { count: 2, max: 8, maxOfEach: 2 },
    waiting: { count: 1, max: 12, maxOfEach: 3 },
    tasks: { count: 0, max: 20, maxOfEach: 5 },
  });
  expect(explainDump(dump()).join('\n')).toMatch(
    /2 of 8 requests run, of each client 2 at most; .*1 waits for a place/,
  );
  await begin(url);
  expect(dump(1).queues.tasks).toEqual({ count: 0, max: 5 });
  held.release();
  await Promise.all(asked);
});

test('lists busy sessions as lines, then counts the rest', async () => {
  const { wait, held } = waiting();
  const { url, dumps, pass } = await watched([wait]);
  const sessions = [];
  for (let at = 0; at < 120; at++) sessions.push(await begin(url));
  const [first, second] = sessions;
  const early = await second?.call('wait');
  await held.arrived();
  pass(3000);
  const late = await first?.call('wait');
  await held.arrived(2);
  const endpoint = dumpEndpoint({ url: url.href, maxSessions: 500 }, dumps());
  expect(describeEndpoint(endpoint)).toBe(
    `${url.href}: 120 of 500 sessions open, 118 idle; 2 streams open; 0 requests without a session, 0 not answered yet\n`,
  );
  const [one = '', other = '', rest, ...more] = describeSessions(mostUrgentFirst(dumps())).split(
    '\n',
  );
  expect(one).toContain(`${second?.id.slice(0, 8)}… raw 1, active, 1 stream open: tools/call`);
  expect(one).toContain('(wait) has run for 3 s');
  expect(other).toContain(`${first?.id.slice(0, 8)}…`);
  expect([rest, ...more]).toEqual([
    '  118 sessions wait for their clients, the longest for 3 s',
    '',
  ]);
  held.release();
  await Promise.all([early?.text(), late?.text()]);
});
