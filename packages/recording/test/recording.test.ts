import { createMcpServer, memory } from 'mcp-actors';
import type { JsonObject } from 'mcp-actors';
import { RecordingError, readRecording, record, replay } from 'mcp-actors/recording';
import type { Recording } from 'mcp-actors/recording';
import { RecordedFacts, toolCall, flush } from 'mcp-actors/testing';
import { describe, expect, test } from 'vitest';
import { RecordingWriter } from '../src/recording-writer.ts';
import { connect, echo, tool } from '../../../test/contract/serving.ts';
import type { Serving } from '../../../test/contract/serving.ts';
import { expectSame, linesOf, recordedSession } from './recorded-session.ts';

const named = { name: 'recorded', version: '1.0.0' };
const secret = 'hunter2-and-more';

async function secretive(redact?: boolean) {
  const login = tool('login', ({ password }) => `password: ${String(password)}`);
  const options = redact === undefined ? {} : { recording: { redact } };
  const { peer, finish, text } = recordedSession({ ...named, tools: [login, echo] }, options);
  await peer.handshake();
  await peer.call('login', { password: secret, user: 'ann', pin_token: 1234 });
  await peer.call('echo', { header: `Bearer ${secret}`, url: `https://ann:${secret}@host/` });
  await peer.call('login', { password: 'another' });
  return { recording: await finish(), text: text() };
}

describe('secrets in a recording', () => {
  test('are replaced consistently, so the recording still replays', async () => {
    const { recording, text } = await secretive();
    expect(text).not.toContain(secret);
    expect(text).not.toContain('1234');
    expect(text).not.toContain('another');
    expect(text).toContain('ann');
    const calls = linesOf(text).flatMap(({ client }) => (Array.isArray(client) ? client : []));
    const [first, , second] = calls
      .filter(({ method }) => method === 'tools/call')
      .map(({ params }) => params.arguments.password as string);
    expect(first).toMatch(/^\[redacted \d+\]$/);
    expect(second).toMatch(/^\[redacted \d+\]$/);
    expect(second).not.toBe(first);
    expect(text).toContain(`password: ${first}`);
    await expectSame(recording);
  });

  test('are recorded if redaction is off', async () => {
    const { recording, text } = await secretive(false);
    expect(text).toContain(secret);
    expect(recording.header?.redacted).toBe(false);
    await expectSame(recording);
  });
});

describe('the size limit of a recording', () => {
  test('ends it with a notice, and the session continues', async () => {
    const facts = new RecordedFacts();
    let text = '';
    const environment = record({ write: (more) => (text += more) }, { maxBytes: 8192 });
    const { transport, peer } = memory();
    const server = createMcpServer({ ...named, tools: [echo] });
    const session = server.listen(transport, { environment, report: facts.report });
    const received: unknown[] = [];
    peer.received$.subscribe((frame) => received.push(frame));
    const hello = {
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name: 'c', version: '1' },
    };
    peer.send({ jsonrpc: '2.0', id: 0, method: 'initialize', params: hello });
    for (let id = 1; id <= 100; id++) {
      peer.send({ jsonrpc: '2.0', id, method: 'ping', params: { fill: 'ä'.repeat(100) } });
    }
    await flush();
    environment.flush();
    expect(received).toHaveLength(101);
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(8192);
    expect(linesOf(text).at(-1)).toMatchObject({ stopped: 'the limit of 8192 bytes is reached' });
    expect(facts.all.filter(({ name }) => name === 'recording.stopped')).toHaveLength(1);
    peer.end();
    await session.closed;
    const recording = readRecording(text, 'bounded.jsonl');
    const { note, outputs } = await expectSame(recording);
    expect(note).toBe('recording stopped: the limit of 8192 bytes is reached');
    expect(outputs).toBeGreaterThan(5);
  });

  test('must be positive', () => {
    expect(() => record({ write: () => {} }, { maxBytes: 0 })).toThrow(RangeError);
  });
});

describe('a failing sink', () => {
  test('is reported once, and does not affect the session', async () => {
    let writes = 0;
    const facts = new RecordedFacts();
    const environment = record({
      write: () => {
        writes++;
        throw new Error('the disk is full');
      },
    });
    const { transport, peer } = memory();
    const server = createMcpServer({ ...named, tools: [echo] });
    const session = server.listen(transport, { environment, report: facts.report });
    const received: unknown[] = [];
    peer.received$.subscribe((frame) => received.push(frame));
    for (const id of [1, 2, 3]) {
      peer.send({ jsonrpc: '2.0', id, method: 'ping' });
      environment.flush();
      await flush();
    }
    peer.end();
    expect((await session.closed).kind).toBe('input-ended');
    expect(received).toHaveLength(3);
    expect(writes).toBe(1);
    expect(facts.all.filter(({ name }) => name === 'recording.failed')).toHaveLength(1);
  });
});

describe('a recorder changes nothing', () => {
  const nested = (depth: number): JsonObject => {
    let value: JsonObject = {};
    for (let level = 1; level < depth; level++) value = { a: value };
    return value;
  };
  const deep = tool('deep', ({ depth }) => ({
    content: [],
    _meta: nested(Number(depth)),
  }));
  const features = { ...named, tools: [deep] };
  /** The answer as text: to compare it member by member would need as deep a stack. */
  const answerOf = async ({ peer }: Serving, depth: number) => {
    await peer.handshake();
    return JSON.stringify(await peer.call('deep', { depth }));
  };

  test('answers a result nested 2,000 deep with and without a recorder, and replays it', async () => {
    const plain = await answerOf(connect(createMcpServer(features)), 2000);
    expect(plain.length).toBeGreaterThan(2000 * '{"a":}'.length);
    const recorded = recordedSession(features);
    expect((await answerOf(recorded, 2000)) === plain).toBe(true);
    await expectSame(await recorded.finish());
  });

  test('ends the recording at a line that cannot be serialized, and the session continues', async () => {
    const facts = new RecordedFacts();
    const writer = new RecordingWriter({ write: (more) => (text += more) }, {});
    let text = '';
    writer.reportTo(facts.report);
    writer.put({ at: 1, client: [nested(100_000)] });
    writer.put({ at: 2, end: true });
    writer.flush();
    expect(linesOf(text)).toEqual([
      { at: 1, stopped: expect.stringMatching(/^a line cannot be written: /) as string },
    ]);
    expect(facts.all).toMatchObject([{ name: 'recording.stopped' }]);
  });
});

test('numbers tasks in the order of their first events', async () => {
  const untilStopped = tool('wait', (_, { signal }) => {
    return new Promise((_resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason as Error));
    });
  });
  const wait = { ...untilStopped, taskSupport: 'optional' } as const;
  const { peer, finish, text } = recordedSession({ ...named, tools: [wait] });
  await peer.handshake();
  const create = async () => {
    const { task } = await peer.ask('tools/call', { name: 'wait', arguments: {}, task: {} });
    return (task as { readonly taskId: string }).taskId;
  };
  const [older, newer] = [await create(), await create()];
  await peer.ask('tasks/cancel', { taskId: newer });
  await peer.ask('tasks/cancel', { taskId: older });
  await expectSame(await finish());
  const lines = linesOf(text());
  const cancelled = lines.filter(({ on }) => on === 'task.cancel');
  expect(cancelled).toMatchObject([
    { machine: 'task', task: 1, from: 'kept.open.working', to: 'kept.cancelled' },
    { machine: 'task', task: 2, from: 'kept.open.working', to: 'kept.cancelled' },
  ]);
});

test('rejects a second session for one recorder', () => {
  const environment = record({ write: () => {} });
  const server = createMcpServer(named);
  const session = server.listen(memory().transport, { environment });
  expect(() => server.listen(memory().transport, { environment })).toThrow(
    'create one recorder for each',
  );
  session.shutdown('done');
});

describe('a file that is not a recording', () => {
  const header = async () => {
    const { peer, finish, text } = recordedSession({ ...named, tools: [echo] });
    await peer.handshake();
    await finish();
    return text();
  };

  test.each([
    ['', /^x\.jsonl:1: the file is empty$/],
    ['\n\n', /^x\.jsonl:1: the file is empty$/],
    ['{"about":"nothing"}\n', /^x\.jsonl:1: nothing is recorded here$/],
    ['hello\n', /^x\.jsonl:1: this is not JSON: /],
    ['{"client":[]}\n[1]\n', /^x\.jsonl:2: a line is a JSON object, this is an array$/],
    [
      '{"client":[]}\n{"level":"info","msg":"x"}\n',
      /^x\.jsonl:2: this is not a line of a recording: .*"level", "msg"$/,
    ],
    ['{"client":{}}\n', /^x\.jsonl:1: "client" must be an array of messages, this is an object$/],
    ['{"timer":"x"}\n', /^x\.jsonl:1: "timer" must be a whole number, this is "x"$/],
    [
      '{"end":true,"at":"noon"}\n',
      /^x\.jsonl:1: "at" must be a number of milliseconds, this is "noon"$/,
    ],
    [
      '{"end":true,"at":1e300}\n',
      /^x\.jsonl:1: "at" must be a number of milliseconds, this is 1e\+300$/,
    ],
    [
      `{"client":${'['.repeat(4001)}${']'.repeat(4001)}}\n`,
      /^x\.jsonl:1: it nests deeper than 4000 levels$/,
    ],
    ...[null, { kind: 'request' }, { kind: 'zip' }, { kind: 'invalid' }, { kind: 'toString' }].map(
      (frame): [string, RegExp] => [
        `${JSON.stringify({ frames: [frame] })}\n`,
        /^x\.jsonl:1: "frames" must be an array of frames as a reader classifies them/,
      ],
    ),
    ['{"end":true,"rounds":0.5}\n', /^x\.jsonl:1: "rounds" must be a whole number, this is 0.5$/],
    [
      '{"recording":2}\n',
      /^x\.jsonl:1: this recording has version 2 of the format, .* use a newer one$/,
    ],
    ['{"recording":"new"}\n', /^x\.jsonl:1: "recording" is the format's version/],
    [
      '{"recording":1}\n',
      /^x\.jsonl:1: the header of the recording: "at" must be a number of milliseconds, this is missing$/,
    ],
    [
      '{"shutdown":"done","drainTimeoutMs":"soon"}\n',
      /^x\.jsonl:1: "drainTimeoutMs" must be a number of milliseconds, this is "soon"$/,
    ],
    [
      '{"random":"a","for":"fun"}\n',
      /^x\.jsonl:1: "for" must be one of "request", "task", "error", "call", "jitter", this/,
    ],
    ['{"output":"dry"}\n', /^x\.jsonl:1: "output" must be one of "blocked", .*, this is "dry"$/],
    ['{"call":1,"ask":1}\n', /^x\.jsonl:1: "method" must be a string, this is missing$/],
    ['{"call":1,"error":{}}\n', /^x\.jsonl:1: "error" must be an object with "code" and "message"/],
    ['{"resolved":1,"roots":["/a"]}\n', /^x\.jsonl:1: "roots" must be .*, this one is not$/],
  ])('with %j is rejected with the line and the problem', (text, message) => {
    const read = () => readRecording(text, 'x.jsonl');
    expect(read).toThrow(RecordingError);
    expect(read).toThrow(message);
  });

  /** A recording with other members in its header. */
  async function withHeader(members: object): Promise<string> {
    const [first = '', ...rest] = (await header()).split('\n');
    const changed = { ...(JSON.parse(first) as object), ...members };
    return [JSON.stringify(changed), ...rest].join('\n');
  }

  test.each([
    [{ limits: { maxRunning: 'many' } }, '"limits" must be an object of numbers, this one is not'],
    [{ methods: [1] }, '"methods" must be an array of strings, this one is not'],
    [{ at: 1e300 }, '"at" must be a number of milliseconds, this is 1e+300'],
    [{ startedAt: 'noon' }, '"startedAt" must be a date, this is "noon"'],
    [{ launch: 'by hand' }, '"launch" must be an object, this is "by hand"'],
  ])('rejects a header with %j', async (members, fault) => {
    const text = await withHeader(members);
    expect(() => readRecording(text, 'x.jsonl')).toThrow(
      `x.jsonl:1: the header of the recording: ${fault}`,
    );
  });

  test('replays a null limit as Infinity', async () => {
    const { peer, finish, text } = recordedSession({ ...named, tools: [echo] });
    await peer.handshake();
    await peer.call('echo', {});
    await finish();
    const [first = '', ...rest] = text().split('\n');
    const { limits, ...header } = JSON.parse(first) as { readonly limits: object };
    const changed = { ...header, limits: { ...limits, maxRunning: null, maxOutboundBytes: null } };
    const recording = [JSON.stringify(changed), ...rest].join('\n');
    await expectSame(readRecording(recording, 'x.jsonl'));
  });

  test.each([{ 'no name!': 'optional' }, { name: 'perhaps' }])(
    'rejects a header with the task tools %j',
    async (taskTools) => {
      const recording = readRecording(await header(), 'x.jsonl');
      const spoilt = {
        ...recording,
        header: { ...recording.header, taskTools },
      } as never as Recording;
      await expect(replay(spoilt)).rejects.toThrow(
        /^x\.jsonl:1: the header of the recording: "taskTools": /,
      );
      await expect(replay(spoilt)).rejects.toBeInstanceOf(RecordingError);
    },
  );

  test('rejects two recordings in one file', async () => {
    const text = await header();
    expect(() => readRecording(text + text, 'x.jsonl')).toThrow(/x\.jsonl:\d+: a second recording/);
  });

  test('replays a truncated recording as far as it goes, and reports the truncation', async () => {
    const text = await header();
    const first = text.indexOf('\n') + 40;
    for (let end = first; end < text.length - 1; end += 97) {
      const recording = readRecording(text.slice(0, end), 'cut.jsonl');
      expect(recording.unfinished).toMatch(/killed/);
      await expectSame(recording);
    }
  });

  test('rejects a transcript without a header unless a server is given', async () => {
    const recording = readRecording('{"client":[]}\n', 'x.jsonl');
    await expect(replay(recording)).rejects.toThrow(
      'x.jsonl:1: this is a transcript without a header',
    );
    const timed = readRecording('{"timer":1}\n', 'x.jsonl');
    const server = createMcpServer(named);
    await expect(replay(timed, { server })).rejects.toThrow('x.jsonl:1: a transcript without');
  });
});

test('writes nothing before the end of the current turn', async () => {
  const writes: string[] = [];
  const environment = record({ write: (text) => writes.push(text) });
  const { transport, peer } = memory();
  const session = createMcpServer({ ...named, tools: [echo] }).listen(transport, { environment });
  peer.send(toolCall(1, 'echo'));
  expect(writes).toEqual([]);
  environment.flush();
  expect(writes.join('')).toContain('-32');
  session.shutdown('done');
  await session.closed;
});
