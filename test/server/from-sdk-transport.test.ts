import { createMcpServer, defaultLimits, fromSdkTransport } from 'mcp-actors';
import type { ListenOptions, Tool } from 'mcp-actors';
import {
  RecordedFacts,
  cancelled,
  gate,
  initialize,
  initialized,
  request,
  toolCall,
  flush,
} from 'mcp-actors/testing';
import { describe, expect, onTestFinished, test } from 'vitest';
import { echo, tool } from '../contract/serving.ts';
import { TestClock } from '../contract/test-clock.ts';
import { HandMadeTransport } from './hand-made-transport.ts';

/** A session over a hand-made transport. */
function serve(tools: readonly Tool[] = [echo], options: ListenOptions = {}) {
  const transport = new HandMadeTransport();
  const facts = new RecordedFacts();
  const server = createMcpServer({ name: 'under-test', version: '1', tools });
  const start = () => {
    const session = server.listen(fromSdkTransport(transport), {
      report: facts.report,
      ...options,
    });
    onTestFinished(async () => {
      if (session.actor.getSnapshot().status === 'active') session.shutdown('the test has ended');
      await session.closed;
    });
    return session;
  };
  return { transport, facts, start };
}

/** A session in operation; its first call, which waits for the validator to be loaded, is over. */
async function operate(
  tools: readonly Tool[] = [],
  options: ListenOptions & { revision?: string } = {},
) {
  const { revision = '2025-11-25', ...listenOptions } = options;
  const serving = serve([echo, ...tools], listenOptions);
  const session = serving.start();
  const capabilities = { roots: {}, sampling: {} };
  serving.transport.receive(initialize('hello', { protocolVersion: revision, capabilities }));
  await flush();
  serving.transport.receive(initialized, toolCall('warm', 'echo'));
  await serving.transport.answered('warm');
  await flush();
  serving.transport.forgetResponses();
  return { ...serving, session };
}

const ask = tool('ask', async (_args, context) => {
  const { content } = await context.request('sampling/createMessage', { messages: [] });
  return JSON.stringify(content);
});

describe('fromSdkTransport', () => {
  test('starts the transport after adding its listeners and closes it at the end of the session', async () => {
    const { transport, start } = serve();
    transport.starting = () => {
      expect(transport.onmessage).toBeDefined();
      return Promise.resolve();
    };
    const session = start();
    expect(transport.calls).toEqual(['start']);
    await session[Symbol.asyncDispose]();
    expect(transport.calls).toEqual(['start', 'close']);
    expect(transport.onmessage).toBeUndefined();
  });

  test('sets the protocol version once, before the client receives it', async () => {
    const { transport } = await operate([], { revision: '2025-06-18' });
    expect(transport.calls).toEqual(['start', 'revision 2025-06-18 after 0 messages']);
  });

  test('keeps existing listeners of the transport and calls them first', async () => {
    const { transport, facts, start } = serve();
    const heard: string[] = [];
    transport.onmessage = () => heard.push(`message, ${transport.sent.length} sent`);
    transport.onerror = ({ message }) => heard.push(message);
    transport.onclose = () => heard.push('close');
    const session = start();
    transport.receive(request(1, 'ping'));
    transport.onerror?.(new Error('a hiccup'));
    await flush();
    transport.onclose?.();
    await session.closed;
    expect(heard).toEqual(['message, 0 sent', 'a hiccup', 'close']);
    expect(facts.of('transport.failed')).toMatchObject([
      { message: expect.stringContaining('a hiccup') as string },
    ]);
  });

  test('ends the session and aborts its calls when the transport closes', async () => {
    const hold = tool('hold', (_args, { signal }) => gate().pass(signal));
    const { transport, session } = await operate([hold]);
    transport.receive(toolCall(1, 'hold'));
    await flush();
    transport.onclose?.();
    expect(await session.closed).toEqual({ kind: 'input-ended' });
    expect(transport.calls).not.toContain('close');
  });

  test('ends the session with the error of a transport that fails to start', async () => {
    const { transport, facts, start } = serve();
    transport.starting = () => Promise.reject(new Error('no such port'));
    expect((await start().closed).kind).toBe('input-ended');
    expect(facts.of('transport.failed')[0]?.message).toContain('no such port');
  });

  test('reports a transport that fails to close after the session has ended', async () => {
    const { transport, facts, start } = serve();
    transport.closing = () => Promise.reject(new Error('stuck'));
    await start()[Symbol.asyncDispose]();
    await flush();
    expect(facts.of('transport.failed')[0]?.message).toContain('stuck');
  });

  test('answers input that is no message, too deep or too long with an error', async () => {
    const { transport } = await operate([], { limits: { maxDepth: 8, maxLineBytes: 1024 } });
    let deep: object = {};
    for (let level = 0; level < 8; level++) deep = { deep };
    transport.receive(
      { jsonrpc: '1.0', id: 1, method: 'ping' },
      toolCall(2, 'echo', { deep }),
      toolCall(3, 'echo', { list: Array.from({ length: 512 }, () => 1) }),
    );
    await flush();
    expect(transport.responses).toMatchObject([
      { id: 1, error: { code: -32600 } },
      { error: { code: -32600, message: expect.stringContaining('8 levels') as string } },
      { id: 3, error: { code: -32600, message: expect.stringContaining('1024 bytes') as string } },
    ]);
  });
});

describe('the related request id of fromSdkTransport', () => {
  test('is set for progress, handler requests and their cancellations [STREAM-01]', async () => {
    const { transport } = await operate([
      tool('all', async (_args, context) => {
        context.progress(1);
        await context.request('sampling/createMessage', { messages: [] });
        return '';
      }),
    ]);
    transport.receive(toolCall('call-7', 'all', {}, { progressToken: 'p' }));
    await flush();
    transport.receive(cancelled('call-7'));
    await flush();
    expect(transport.relatedTo('notifications/progress')).toEqual(['call-7']);
    expect(transport.relatedTo('sampling/createMessage')).toEqual(['call-7']);
    expect(transport.relatedTo('notifications/cancelled')).toEqual(['call-7']);
  });

  test('is absent for requests of the session, such as roots/list [STREAM-02]', async () => {
    const { transport } = await operate();
    expect(transport.relatedTo('roots/list')).toEqual([undefined]);
  });

  test('distinguishes concurrent requests [STREAM-01]', async () => {
    const { transport } = await operate([ask]);
    transport.receive(toolCall(1, 'ask'), toolCall('1', 'ask'), toolCall(0, 'ask'));
    await flush();
    expect(transport.relatedTo('sampling/createMessage')).toEqual([1, '1', 0]);
  });
});

describe('send of fromSdkTransport', () => {
  test('is called sequentially in the order of the session', async () => {
    const { transport } = await operate();
    const door = gate();
    transport.taking = () => door.pass();
    transport.receive(request(1, 'ping'), request(2, 'ping'), request(3, 'ping'));
    await flush();
    expect(transport.responses).toMatchObject([{ id: 1 }]);
    door.release();
    await flush();
    expect(transport.responses).toMatchObject([{ id: 1 }, { id: 2 }, { id: 3 }]);
  });

  test('receives a JSON copy that later changes do not affect', async () => {
    const content = [{ type: 'text', text: 'said', extra: undefined }];
    const { transport } = await operate([tool('share', () => ({ content }))]);
    transport.receive(toolCall(1, 'share'));
    await flush();
    await flush();
    if (content[0]) content[0].text = 'changed';
    const { result } = transport.responses[0] ?? {};
    expect(result).toStrictEqual({ content: [{ type: 'text', text: 'said' }] });
  });

  test('delays new calls beyond the outbound limit until a slow send has finished', async () => {
    let runs = 0;
    const write = tool('write', () => `${++runs}`.padEnd(500));
    const { transport, facts } = await operate([write], { limits: { maxOutboundBytes: 600 } });
    const door = gate();
    transport.taking = () => door.pass();
    transport.receive(toolCall(1, 'write'));
    await flush();
    transport.receive(toolCall(2, 'write'), toolCall(3, 'write'));
    await flush();
    expect(facts.of('output.blocked')).toHaveLength(1);
    const before = runs;
    transport.receive(toolCall(4, 'write'), request('control', 'ping'));
    await flush();
    expect(runs).toBe(before);
    door.release();
    await flush();
    await flush();
    expect(facts.of('output.flowing')).toHaveLength(1);
    expect(runs).toBe(before + 1);
    expect(transport.responses.map(({ id }) => id)).toEqual([1, 2, 3, 'control', 4]);
  });

  test('ends the session if it fails on a single connection', async () => {
    const { transport, session } = await operate();
    const gone = new Error('gone');
    transport.taking = () => Promise.reject(gone);
    transport.receive(request(1, 'ping'));
    expect(await session.closed).toEqual({ kind: 'output-broken', error: gone });
  });

  test('is treated as failed if it throws', async () => {
    const { transport, session } = await operate();
    transport.taking = () => {
      throw new Error('gone');
    };
    transport.receive(request(1, 'ping'));
    expect((await session.closed).kind).toBe('output-broken');
  });

  test('loses only its message if it fails on one of several streams', async () => {
    const { transport, facts } = await operate();
    transport.sessionId = 'a-session';
    transport.taking = (message) =>
      'id' in message && message.id === 1
        ? Promise.reject(new Error('no stream'))
        : Promise.resolve();
    transport.receive(request(1, 'ping'), request(2, 'ping'));
    await flush();
    expect(facts.of('output.lost')).toMatchObject([
      { message: 'The response to 1 was not sent: Error: no stream' },
    ]);
    expect(transport.responses.at(-1)).toMatchObject({ id: 2, result: {} });
  });

  test('fails the request of a handler immediately if it fails', async () => {
    const outcomes: unknown[] = [];
    const { transport } = await operate([
      tool('ask', async (_args, context) => {
        await context
          .request('sampling/createMessage', {})
          .catch((error: unknown) => outcomes.push(error));
        return '';
      }),
    ]);
    transport.sessionId = 'a-session';
    transport.taking = (message) =>
      'method' in message ? Promise.reject(new Error('no stream')) : Promise.resolve();
    transport.receive(toolCall(1, 'ask'));
    await flush();
    await flush();
    expect(outcomes).toMatchObject([
      {
        code: 'TRANSPORT_CLOSED',
        message: 'sampling/createMessage was not sent: Error: no stream',
      },
    ]);
  });

  test('ends the session if it hangs and the client exceeds the read-ahead limit', async () => {
    const reasons: unknown[] = [];
    const held = tool('held', (_, { signal }) => {
      signal.addEventListener('abort', () => reasons.push(signal.reason));
      return new Promise<never>(() => {});
    });
    const clock = new TestClock();
    const limits = { maxOutboundBytes: 1000, readAheadBytes: 10_000, maxWaiting: 5 };
    const { transport, session, facts } = await operate([held], { clock, limits });
    transport.receive(toolCall('held', 'held'));
    transport.taking = () => new Promise(() => {});
    let sent = 0;
    while (facts.of('output.blocked').length === 0) {
      transport.receive(request(sent++, 'ping'));
      await flush();
      expect(sent).toBeLessThan(1000);
    }
    while (transport.calls.at(-1) !== 'close') {
      transport.receive(toolCall(sent++, 'echo', { text: 'x'.repeat(100) }));
      await flush();
      expect(sent).toBeLessThan(1000);
    }
    expect(session.dump().state).toContain('draining');
    expect(reasons).toMatchObject([{ code: 'TRANSPORT_CLOSED' }]);
    expect(facts.of('output.overrun')).toMatchObject([{ level: 'warning' }]);
    // Whatever else it sends costs nothing.
    const said = transport.sent.length;
    transport.receive(...Array.from({ length: 100 }, (_, n) => request(`late-${n}`, 'ping')));
    await flush();
    expect(transport.sent).toHaveLength(said);
    clock.increment(defaultLimits.drainTimeoutMs);
    expect(await session.closed).toMatchObject({
      kind: 'output-broken',
      error: { code: 'LIMIT_EXCEEDED' },
    });
    expect(transport.calls.filter((call) => call === 'close')).toHaveLength(1);
  });

  test('continues after a stall', async () => {
    const limits = { maxOutboundBytes: 1000, readAheadBytes: 10_000 };
    const { transport, session, facts } = await operate([], { limits });
    const door = gate();
    transport.taking = () => door.pass();
    for (let id = 0; id < 100; id++) transport.receive(request(id, 'ping'));
    await facts.next('output.blocked');
    transport.receive(toolCall('waits', 'echo', { text: 'x'.repeat(4000) }));
    door.release();
    await transport.answered('waits');
    await facts.next('output.flowing');
    for (let n = 0; n < 4; n++) {
      transport.receive(toolCall(`again-${n}`, 'echo', { text: 'x'.repeat(4000) }));
      await transport.answered(`again-${n}`);
    }
    expect(session.actor.getSnapshot().status).toBe('active');
  });

  test('is abandoned at the drain deadline if it hangs', async () => {
    const clock = new TestClock();
    const { transport, session } = await operate([], { clock });
    transport.taking = () => new Promise(() => {});
    transport.receive(request(1, 'ping'));
    await flush();
    session.shutdown('now');
    await flush();
    clock.increment(defaultLimits.drainTimeoutMs);
    expect((await session.closed).kind).toBe('shutdown');
    expect(transport.calls.at(-1)).toBe('close');
  });

  test('is awaited for the last responses before the session ends', async () => {
    const { transport, session } = await operate();
    const door = gate();
    transport.taking = () => door.pass();
    transport.receive(request(1, 'ping'), request(2, 'ping'));
    session.shutdown('now');
    await flush();
    expect(session.actor.getSnapshot().status).toBe('active');
    door.release();
    await session.closed;
    expect(transport.responses).toMatchObject([{ id: 1 }, { id: 2 }]);
  });

  test('drops only the message that is not serializable', async () => {
    const { transport, facts } = await operate([
      tool('cycle', () => {
        const _meta: { self?: object } = {};
        _meta.self = _meta;
        return { content: [], _meta };
      }),
    ]);
    transport.receive(toolCall(1, 'cycle'), request(2, 'ping'));
    await flush();
    await flush();
    expect(transport.responses.find(({ id }) => id === 1)).toMatchObject({
      error: { code: -32603 },
    });
    expect(transport.responses.find(({ id }) => id === 2)).toMatchObject({ result: {} });
    expect(facts.of('response.unserializable')).toHaveLength(1);
  });
});

describe('a batch over fromSdkTransport', () => {
  test('is answered with a batch if received as an array, in the revision with batches', async () => {
    const { transport } = await operate([], { revision: '2025-03-26' });
    transport.receive([request(1, 'ping'), request(2, 'ping')]);
    await flush();
    expect(transport.responses.at(-1)).toMatchObject([{ id: 1 }, { id: 2 }]);
  });

  test('is answered message by message if the transport split it', async () => {
    const { transport } = await operate([], { revision: '2025-03-26' });
    transport.receive(request(1, 'ping'), request(2, 'ping'));
    await flush();
    expect(transport.responses).toMatchObject([{ id: 1 }, { id: 2 }]);
  });
});
