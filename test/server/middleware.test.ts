import { ProtocolError, ToolError, createMcpServer, defineTool } from 'mcp-actors';
import type { IncomingCall, McpServer, Middleware } from 'mcp-actors';
import { gate, toolCall } from 'mcp-actors/testing';
import { describe, expect, test } from 'vitest';
import { eachRevision, everywhere } from '../contract/everywhere.ts';
import { connect, echo, textOf, tool } from '../contract/serving.ts';
import type { Serving } from '../contract/serving.ts';
import { withMiddleware } from '../../src/server/features/middleware.ts';

/** A server with these layers, in operation. */
async function operate(
  layers: readonly Middleware[],
  definition: Partial<Parameters<typeof createMcpServer>[0]> = {},
): Promise<Serving> {
  const server = createMcpServer({ name: 'm', version: '1', tools: [echo], ...definition });
  for (const layer of layers) server.use(layer);
  return begin(server);
}

async function begin(server: McpServer): Promise<Serving> {
  const serving = connect(server);
  await serving.peer.handshake();
  return serving;
}

const answer = (text: string) => ({ content: [{ type: 'text', text }] });

describe('middleware', () => {
  test('runs in order of registration, outermost first [MIDDLE-01]', async () => {
    const order: string[] = [];
    const layer =
      (name: string): Middleware =>
      async (_call, next) => {
        order.push(`${name} in`);
        const result = await next();
        order.push(`${name} out`);
        return result;
      };
    const handler = tool('work', () => {
      order.push('handler');
      return '';
    });
    const { peer } = await operate([layer('a'), layer('b')], { tools: [handler] });
    await peer.call('work');
    expect(order).toEqual(['a in', 'b in', 'handler', 'b out', 'a out']);
  });

  test('wraps every method with a handler, but not ping [MIDDLE-01]', async () => {
    const seen: string[] = [];
    const { peer } = await operate(
      [
        ({ method }, next) => {
          seen.push(method);
          return next();
        },
      ],
      {
        resources: [{ uri: 'a:b', name: 'ab', read: () => 'ab' }],
        resourceTemplates: [],
        logging: {},
        prompts: [{ name: 'p', arguments: { a: { complete: () => ['a'] } }, get: () => 'p' }],
      },
    );
    const uri = { uri: 'a:b' };
    const requests = [
      ['tools/list', {}],
      ['tools/call', { name: 'echo' }],
      ['resources/list', {}],
      ['resources/templates/list', {}],
      ['resources/read', uri],
      ['resources/subscribe', uri],
      ['resources/unsubscribe', uri],
      ['prompts/list', {}],
      ['prompts/get', { name: 'p' }],
      [
        'completion/complete',
        { ref: { type: 'ref/prompt', name: 'p' }, argument: { name: 'a', value: '' } },
      ],
      ['logging/setLevel', { level: 'error' }],
    ] as const;
    for (const [method, params] of requests) await peer.ask(method, params);
    await peer.ask('ping');
    expect(seen).toEqual(requests.map(([method]) => method));
  });

  test('can answer without running inner layers or the handler [MIDDLE-02]', async () => {
    let ran = 0;
    const handler = tool('work', () => String(ran++));
    const { peer } = await operate(
      [
        ({ params }, next) => (params?.['name'] === 'work' ? answer('no need') : next()),
        (_call, next) => {
          ran++;
          return next();
        },
      ],
      { tools: [handler] },
    );
    expect(await peer.call('work')).toEqual(answer('no need'));
    expect(ran).toBe(0);
  });

  test('can change the result [MIDDLE-02]', async () => {
    const { peer } = await operate([
      async (_call, next) => ({ ...(await next()), _meta: { 'example.org/seen': true } }),
    ]);
    expect(await peer.call('echo', { a: 1 })).toEqual({
      ...answer('{"a":1}'),
      _meta: { 'example.org/seen': true },
    });
  });

  test('is awaited without blocking other requests [MIDDLE-02]', async () => {
    const door = gate();
    const { peer } = await operate(
      [
        async ({ params }, next) => {
          if (params?.['name'] === 'held') await door.pass();
          return next();
        },
      ],
      { tools: [echo, tool('held', () => 'held')] },
    );
    peer.send(toolCall(1, 'held'), toolCall(2, 'echo'));
    expect(textOf((await peer.response(2)).result)).toBe('{}');
    expect(peer.received.some((frame) => (frame as { id?: unknown }).id === 1)).toBe(false);
    door.release();
    expect(textOf((await peer.response(1)).result)).toBe('held');
  });

  test.each([
    [
      'at once',
      () => {
        throw new ProtocolError(-32001, 'Who are you?', { need: 'a name' });
      },
    ],
    ['later', () => Promise.reject(new ProtocolError(-32001, 'Who are you?', { need: 'a name' }))],
  ] as const)(
    'answers any method with a thrown ProtocolError %s [MIDDLE-02]',
    async (_, refuse) => {
      const { peer } = await operate([refuse]);
      const error = { code: -32001, message: 'Who are you?', data: { need: 'a name' } };
      for (const method of ['tools/list', 'tools/call']) {
        await expect(peer.ask(method, { name: 'echo' })).rejects.toMatchObject({ error });
      }
    },
  );

  test('answers a tool call with a thrown ToolError like the tool would [MIDDLE-02] [TOOLS-03]', async () => {
    const { peer } = await operate([
      () => Promise.reject(new ToolError('Come back tomorrow', { code: 'QUOTA' })),
    ]);
    expect(await peer.call('echo')).toEqual({
      ...answer('QUOTA: Come back tomorrow'),
      isError: true,
    });
  });

  test('logs any other thrown error without sending its message [MIDDLE-02] [BASE-06]', async () => {
    const { peer, facts } = await operate([() => Promise.reject(new Error('secret'))]);
    await expect(peer.call('echo')).rejects.toMatchObject({
      error: { code: -32603, message: 'Internal error' },
    });
    expect((await facts.next('handler.failed')).message).toContain('secret');
  });

  test('receives a failed tool as a result and a protocol error as an exception [MIDDLE-02]', async () => {
    const seen: unknown[] = [];
    const failing = tool('failing', () => {
      throw new ToolError('try again');
    });
    const broken = tool('broken', () => {
      throw new TypeError('a bug');
    });
    const watch: Middleware = async (_call, next) => {
      try {
        const result = await next();
        seen.push(result['isError']);
        return result;
      } catch (error) {
        seen.push(error);
        throw error;
      }
    };
    const { peer } = await operate([watch], { tools: [failing, broken] });
    await peer.call('failing');
    expect(await peer.call('broken')).toEqual({ ...answer('a bug'), isError: true });
    await expect(peer.call('missing')).rejects.toMatchObject({ error: { code: -32602 } });
    expect(seen).toEqual([true, true, expect.any(ProtocolError)]);
  });

  test('can convert an error to a result [MIDDLE-02]', async () => {
    const broken = tool('broken', () => {
      throw new TypeError('a bug');
    });
    const soothe: Middleware = async (_call, next) => {
      const result = await next();
      return result['isError'] ? answer('never mind') : result;
    };
    const { peer } = await operate([soothe], { tools: [broken] });
    expect(await peer.call('broken')).toEqual(answer('never mind'));
  });

  test.each([undefined, null, 'text', [], 7])(
    'is reported as faulty if it returns %j [MIDDLE-02]',
    async (given) => {
      const { peer, facts } = await operate([() => given as never]);
      await expect(peer.ask('tools/list')).rejects.toMatchObject({ error: { code: -32603 } });
      expect((await facts.next('handler.failed')).message).toContain(
        'middleware must return a result',
      );
    },
  );

  test('runs the handler once even if it calls next twice [MIDDLE-04]', async () => {
    let ran = 0;
    const work = tool('work', () => String(++ran));
    const twice: Middleware = async (_call, next) => {
      await next();
      return next();
    };
    const { peer, facts } = await operate([twice], { tools: [work] });
    await expect(peer.call('work')).rejects.toMatchObject({ error: { code: -32603 } });
    expect((await facts.next('handler.failed')).message).toContain('next() at most once');
    expect(ran).toBe(1);
  });

  test('receives the context of the call: client, request id and signal [MIDDLE-03]', async () => {
    const seen: IncomingCall[] = [];
    const { peer } = await operate([
      (call, next) => {
        seen.push(call);
        return next();
      },
    ]);
    peer.send(toolCall(7, 'echo', { a: 1 }, { 'example.org/x': 1 }));
    await peer.response(7);
    const [{ method, params, context }] = seen as [IncomingCall];
    expect({ method, params }).toEqual({
      method: 'tools/call',
      params: { name: 'echo', arguments: { a: 1 }, _meta: { 'example.org/x': 1 } },
    });
    expect(context.requestId).toBe(7);
    expect(context.client.info.name).toBe('scripted-peer');
    expect(context.signal.aborted).toBe(false);
  });

  test('is aborted by a cancellation, after which its result is discarded [MIDDLE-03]', async () => {
    const door = gate();
    const reasons: unknown[] = [];
    const { peer } = await operate([
      async ({ context, params }, next) => {
        if (params?.['name'] !== 'echo') return next();
        await door.pass(context.signal).catch((reason: unknown) => reasons.push(reason));
        return next();
      },
    ]);
    peer.send(toolCall(1, 'echo'));
    await door.arrived();
    peer.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } });
    await peer.quiet();
    expect(reasons).toEqual([expect.objectContaining({ code: 'CANCELLED' })]);
    expect(peer.received.some((frame) => (frame as { id?: unknown }).id === 1)).toBe(false);
  });

  test('can send requests to the client on behalf of the call [MIDDLE-03]', async () => {
    const { peer } = await operate([
      async ({ context }, next) => {
        await context.request('custom/question');
        return next();
      },
    ]);
    const result = peer.call('echo');
    peer.answer(await peer.request('custom/question'), {});
    expect(textOf(await result)).toBe('{}');
  });

  test('applies to sessions that start after its registration [MIDDLE-01]', async () => {
    const { peer, server } = await operate([]);
    server.use(() => answer('replaced'));
    const later = await begin(server);
    expect(textOf(await peer.call('echo'))).toBe('{}');
    expect(textOf(await later.peer.call('echo'))).toBe('replaced');
  });
});

everywhere('middleware', eachRevision, ({ revision }) => {
  test('runs after the validator has been loaded [MIDDLE-01]', async () => {
    const strict = defineTool({
      name: 'strict',
      description: 'Has a schema',
      inputSchema: { type: 'object', properties: { n: { type: 'number' } } },
      handler: ({ n }) => String(n),
    });
    const { peer } = await operate([(_call, next) => next()], { tools: [strict] });
    expect(textOf(await peer.call('strict', { n: 1 }))).toBe('1');
    const refused = peer.call('strict', { n: '' });
    if (revision >= '2025-11-25') expect(await refused).toHaveProperty('isError', true);
    else await expect(refused).rejects.toMatchObject({ error: { code: -32602 } });
  });
});

test('calls handlers directly without middleware [MIDDLE-05]', () => {
  const handler = () => ({});
  expect(withMiddleware(handler, [])).toBe(handler);
});
