import {
  SpanKind,
  SpanStatusCode,
  context as contexts,
  metrics,
  propagation,
  trace,
} from '@opentelemetry/api';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import { ProtocolError, ToolError, createMcpServer, defaultLimits } from 'mcp-actors';
import type { Middleware, ServerDefinition } from 'mcp-actors';
import { openTelemetry } from 'mcp-actors/opentelemetry';
import type { OpenTelemetryOptions } from 'mcp-actors/opentelemetry';
import { scriptedConversation, gate, request, toolCall } from 'mcp-actors/testing';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { revisions } from '../../../test/contract/everywhere.ts';
import { echo, tool } from '../../../test/contract/serving.ts';
import { TestClock } from '../../../test/contract/test-clock.ts';
import { AsyncContexts, memoryMeter, memoryTracing } from './stand-ins.ts';

const propagator = new W3CTraceContextPropagator();
const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
const parentId = '00f067aa0ba902b7';
const traceparent = `00-${traceId}-${parentId}-01`;

beforeAll(() => contexts.setGlobalContextManager(new AsyncContexts()));
afterAll(() => contexts.disable());

interface Options extends OpenTelemetryOptions {
  readonly revision?: string;
  readonly inside?: Middleware;
}

async function operate(
  definition: Partial<ServerDefinition>,
  { revision = '2025-11-25', inside, ...options }: Options = {},
) {
  const { tracerProvider, spans } = memoryTracing();
  const { meterProvider, measurements } = memoryMeter();
  const server = createMcpServer({ name: 'traced', version: '1', tools: [echo], ...definition });
  server.use(openTelemetry({ tracerProvider, meterProvider, propagator, ...options }));
  if (inside) server.use(inside);
  const conversation = scriptedConversation(server);
  onTestFinished(() => conversation.session[Symbol.asyncDispose]());
  await conversation.peer.handshake({ protocolVersion: revision });
  return { ...conversation, spans, measurements };
}

describe.each(revisions)('a tool call in %s', (revision) => {
  test('has a server span and a duration that follow the conventions [OTEL-01] [OTEL-04]', async () => {
    const { peer, spans, measurements } = await operate({}, { revision });
    peer.send(toolCall(7, 'echo', { secret: 'text' }));
    await peer.response(7);
    const [span] = spans();
    expect(span).toMatchObject({ name: 'tools/call echo', kind: SpanKind.SERVER });
    expect(span?.status).toEqual({ code: SpanStatusCode.UNSET });
    const common = {
      'mcp.method.name': 'tools/call',
      'mcp.protocol.version': revision,
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': 'echo',
    };
    expect(span?.attributes).toEqual({
      ...common,
      'jsonrpc.request.id': '7',
      'mcp.session.id': expect.stringMatching(/./),
    });
    expect(measurements).toEqual([
      {
        name: 'mcp.server.operation.duration',
        options: expect.objectContaining({
          unit: 's',
          advice: {
            explicitBucketBoundaries: [
              0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300,
            ],
          },
        }),
        value: expect.any(Number),
        attributes: common,
      },
    ]);
    expect(measurements[0]?.value).toBeGreaterThanOrEqual(0);
    expect(measurements[0]?.value).toBeLessThan(15);
  });
});

describe('a span', () => {
  test('has the resource URI as an attribute, but not in its name or duration [OTEL-01] [OTEL-04]', async () => {
    const { peer, spans, measurements } = await operate({
      resources: [{ uri: 'a:b', name: 'ab', read: () => 'ab' }],
    });
    await peer.ask('resources/read', { uri: 'a:b' });
    expect(spans()[0]).toMatchObject({
      name: 'resources/read',
      attributes: { 'mcp.method.name': 'resources/read', 'mcp.resource.uri': 'a:b' },
    });
    expect(measurements[0]?.attributes).not.toHaveProperty('mcp.resource.uri');
  });

  test('names the prompt that is read or completed [OTEL-01]', async () => {
    const { peer, spans } = await operate({
      prompts: [{ name: 'review', arguments: { a: { complete: () => [] } }, get: () => '' }],
    });
    await peer.ask('prompts/get', { name: 'review' });
    const ref = { type: 'ref/prompt', name: 'review' };
    await peer.ask('completion/complete', { ref, argument: { name: 'a', value: '' } });
    expect(spans().map(({ name }) => name)).toEqual([
      'prompts/get review',
      'completion/complete review',
    ]);
    for (const span of spans()) expect(span.attributes['gen_ai.prompt.name']).toBe('review');
  });

  test('is named after the method if there is no target, whatever the params are [OTEL-01]', async () => {
    const { peer, spans } = await operate({});
    await peer.ask('tools/list');
    await expect(peer.ask('tools/call', { name: 7 })).rejects.toThrow('-32602');
    await expect(peer.ask('tools/call')).rejects.toThrow('-32602');
    expect(spans().map(({ name }) => name)).toEqual(['tools/list', 'tools/call', 'tools/call']);
  });

  test("carries the author's attributes and session id [OTEL-01]", async () => {
    const { peer, spans, measurements } = await operate(
      {},
      {
        attributes: { 'network.transport': 'pipe' },
        sessionId: ({ context }) => `session of ${context.client.info.name}`,
      },
    );
    await peer.ask('tools/list');
    expect(spans()[0]?.attributes).toMatchObject({
      'network.transport': 'pipe',
      'mcp.session.id': 'session of scripted-peer',
    });
    expect(measurements[0]?.attributes).toMatchObject({ 'network.transport': 'pipe' });
    expect(measurements[0]?.attributes).not.toHaveProperty('mcp.session.id');
  });

  test('truncates long names sent by a client [OTEL-01]', async () => {
    const { peer, spans } = await operate({});
    const id = 'i'.repeat(100_000);
    peer.send(toolCall(id, 'n'.repeat(100_000)));
    await peer.response(id);
    expect(spans()[0]?.name.length).toBeLessThan(300);
    expect(String(spans()[0]?.attributes['jsonrpc.request.id']).length).toBeLessThan(300);
  });
});

describe("the client's trace context", () => {
  test("in _meta is the span's parent [OTEL-02]", async () => {
    const { peer, spans } = await operate({});
    await peer.call('echo', {}, { traceparent, tracestate: 'rojo=1' });
    const span = spans()[0];
    expect(span?.spanContext().traceId).toBe(traceId);
    expect(span?.parentSpanContext).toMatchObject({ spanId: parentId, isRemote: true });
    expect(span?.spanContext().traceState?.get('rojo')).toBe('1');
    expect(span?.links).toEqual([]);
  });

  test.each([
    undefined,
    {},
    { traceparent: 7 },
    { traceparent: 'nonsense' },
    { traceparent: [traceparent] },
  ])('is ignored if _meta is %j, which makes the span a root [OTEL-02]', async (meta) => {
    const { peer, spans } = await operate({});
    await peer.call('echo', {}, meta);
    expect(spans()[0]?.parentSpanContext).toBeUndefined();
  });

  test('is ignored if _meta is not an object [OTEL-02]', async () => {
    const { peer, spans } = await operate({});
    await peer.ask('tools/list', { _meta: 'text' });
    expect(spans()[0]?.parentSpanContext).toBeUndefined();
  });

  test('takes precedence over the surrounding context, which is linked, otherwise the parent [OTEL-02]', async () => {
    const { tracerProvider } = memoryTracing();
    const around = tracerProvider.getTracer('http').startSpan('POST /mcp');
    const { peer, spans } = await contexts.with(
      trace.setSpan(contexts.active(), around),
      async () => {
        const serving = await operate({});
        await serving.peer.call('echo', {}, { traceparent });
        await serving.peer.call('echo');
        return serving;
      },
    );
    void peer;
    const [called, plain] = spans();
    expect(called?.parentSpanContext?.spanId).toBe(parentId);
    expect(called?.links.map(({ context }) => context.spanId)).toEqual([
      around.spanContext().spanId,
    ]);
    expect(plain?.parentSpanContext?.spanId).toBe(around.spanContext().spanId);
    expect(plain?.links).toEqual([]);
  });

  test('is active while the handler runs, also after an await [OTEL-02]', async () => {
    const active: (string | undefined)[] = [];
    const look = tool('look', async () => {
      active.push(trace.getActiveSpan()?.spanContext().spanId);
      await Promise.resolve();
      active.push(trace.getActiveSpan()?.spanContext().spanId);
      return '';
    });
    const { peer, spans } = await operate({ tools: [look] });
    await peer.call('look');
    const id = spans()[0]?.spanContext().spanId;
    expect(active).toEqual([id, id]);
  });
});

describe('a failure', () => {
  test('that the model may recover from is a tool_error without its text [OTEL-03]', async () => {
    const failing = tool('failing', () => {
      throw new ToolError('private');
    });
    const { peer, spans, measurements } = await operate({ tools: [failing] });
    await peer.call('failing');
    expect(spans()[0]?.attributes).toMatchObject({ 'error.type': 'tool_error' });
    expect(spans()[0]?.attributes).not.toHaveProperty('rpc.response.status_code');
    expect(spans()[0]?.status).toEqual({ code: SpanStatusCode.ERROR });
    expect(measurements[0]?.attributes).toMatchObject({
      'error.type': 'tool_error',
      'gen_ai.tool.name': 'failing',
    });
  });

  test('of inner middleware for the model is a tool_error, too [OTEL-03]', async () => {
    const refuse = () => Promise.reject(new ToolError('no'));
    const { peer, spans } = await operate({}, { inside: refuse });
    expect(await peer.call('echo')).toHaveProperty('isError', true);
    expect(spans()[0]?.attributes['error.type']).toBe('tool_error');
  });

  test('that is a protocol error has its code and message [OTEL-03]', async () => {
    const refuse = () => Promise.reject(new ProtocolError(-32001, 'Not you'));
    const { peer, spans, measurements } = await operate({}, { inside: refuse });
    await expect(peer.call('echo')).rejects.toThrow('Not you');
    const attributes = { 'error.type': '-32001', 'rpc.response.status_code': '-32001' };
    expect(spans()[0]?.attributes).toMatchObject(attributes);
    expect(spans()[0]?.status).toEqual({ code: SpanStatusCode.ERROR, message: 'Not you' });
    expect(spans()[0]?.events).toEqual([]);
    expect(measurements[0]?.attributes).toMatchObject(attributes);
  });

  test('that is an unexpected tool error carries the exception [OTEL-03]', async () => {
    const broken = tool('broken', () => {
      throw new TypeError('the bug');
    });
    const { peer, spans } = await operate({ tools: [broken] });
    expect(await peer.call('broken')).toHaveProperty('isError', true);
    expect(spans()[0]?.attributes).toMatchObject({ 'error.type': 'tool_error' });
    expect(spans()[0]?.attributes).not.toHaveProperty('rpc.response.status_code');
    expect(spans()[0]?.status).toEqual({ code: SpanStatusCode.ERROR });
    expect(spans()[0]?.events).toEqual([
      expect.objectContaining({
        name: 'exception',
        attributes: expect.objectContaining({ 'exception.message': 'the bug' }),
      }),
    ]);
  });

  test.each([
    undefined,
    null,
    'text',
    {
      toString: () => {
        throw new Error('no');
      },
    },
  ])('may be any thrown value [OTEL-03]', async (thrown) => {
    const broken = tool('broken', () => {
      // JavaScript handlers may throw anything; the types allow only errors.
      throw thrown as unknown as Error;
    });
    const { peer, spans } = await operate({ tools: [broken] });
    expect(await peer.call('broken')).toHaveProperty('isError', true);
    expect(spans()[0]?.attributes['error.type']).toBe('tool_error');
    expect(spans()[0]?.events).toHaveLength(1);
  });

  test('for an unknown name creates no time series [OTEL-04]', async () => {
    const { peer, spans, measurements } = await operate({});
    await expect(peer.call('random-1')).rejects.toThrow('-32602');
    expect(spans()[0]?.attributes['gen_ai.tool.name']).toBe('random-1');
    expect(measurements[0]?.attributes).not.toHaveProperty('gen_ai.tool.name');
  });

  test('by cancellation ends the span once and at once, though the handler continues [OTEL-03]', async () => {
    const door = gate();
    const held = tool('held', async () => {
      await door.pass();
      return '';
    });
    const { peer, spans, measurements } = await operate({ tools: [held] });
    peer.send(toolCall(1, 'held'));
    await door.arrived();
    expect(spans()).toEqual([]);
    peer.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } });
    await peer.quiet();
    expect(spans()[0]).toMatchObject({
      attributes: { 'error.type': 'cancelled' },
      status: { code: SpanStatusCode.ERROR },
    });
    door.release();
    await peer.quiet();
    expect(spans()).toHaveLength(1);
    expect(measurements).toHaveLength(1);
  });

  test("by the end of the session is recorded as the client's error response [OTEL-03]", async () => {
    const door = gate();
    const held = tool('held', async () => {
      await door.pass();
      return '';
    });
    const { tracerProvider, spans } = memoryTracing();
    const clock = new TestClock();
    const server = createMcpServer({ name: 'ends', version: '1', tools: [held] });
    server.use(openTelemetry({ tracerProvider }));
    const { peer, session } = scriptedConversation(server, { clock });
    await peer.handshake();
    peer.send(toolCall(1, 'held'));
    await door.arrived();
    session.shutdown('now');
    clock.increment(defaultLimits.drainTimeoutMs);
    await session.closed;
    expect((await peer.error(1)).code).toBe(-32000);
    expect(spans()[0]?.attributes).toMatchObject({ 'error.type': '-32000' });
    door.release();
  });
});

describe('openTelemetry without options', () => {
  test('uses globally registered providers, even if registered later [OTEL-01] [OTEL-02]', async () => {
    const layer = openTelemetry();
    const { tracerProvider, spans } = memoryTracing();
    trace.setGlobalTracerProvider(tracerProvider);
    propagation.setGlobalPropagator(propagator);
    onTestFinished(() => {
      trace.disable();
      propagation.disable();
      metrics.disable();
    });
    const server = createMcpServer({ name: 'global', version: '1', tools: [echo] });
    server.use(layer);
    const { peer, session } = scriptedConversation(server);
    await peer.handshake();
    await peer.call('echo', {}, { traceparent });
    expect(spans().map(({ name }) => name)).toEqual(['tools/call echo']);
    expect(spans()[0]?.parentSpanContext?.spanId).toBe(parentId);
    await session[Symbol.asyncDispose]();
  });

  test('serves requests as usual without any provider [OTEL-01]', async () => {
    const server = createMcpServer({ name: 'none', version: '1', tools: [echo] });
    server.use(openTelemetry());
    const { peer, session } = scriptedConversation(server);
    await peer.handshake();
    peer.send(request(1, 'tools/list'), toolCall(2, 'echo'));
    expect((await peer.response(2)).result).toBeDefined();
    await session[Symbol.asyncDispose]();
  });
});
