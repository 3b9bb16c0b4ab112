/** Spans and metrics of HTTP requests, in both eras. */
import { context as contexts, trace } from '@opentelemetry/api';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { createMcpServer } from 'mcp-actors';
import { openTelemetry, sessionDurations } from 'mcp-actors/opentelemetry';
import { serveHttp } from 'mcp-actors/serve';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { echo } from '../../../test/contract/serving.ts';
import { modern } from '../../../test/e2e/both-eras-client.ts';
import { AsyncContexts, memoryMeter, memoryTracing } from './stand-ins.ts';

beforeAll(() => contexts.setGlobalContextManager(new AsyncContexts()));
afterAll(() => contexts.disable());

const inHeader = ['4bf92f3577b34da6a3ce929d0e0e4736', '00f067aa0ba902b7'] as const;
const inMeta = ['0af7651916cd43dd8448eb211c80319c', 'b7ad6b7169203331'] as const;
const traceparentOf = ([traceId, spanId]: readonly [string, string]) =>
  `00-${traceId}-${spanId}-01`;

const http = { 'network.transport': 'tcp', 'network.protocol.name': 'http' };

describe.each([
  ['2025-11-25', 'legacy'],
  ['2026-07-28', modern],
] as const)('over HTTP, in %s', (revision, mode) => {
  async function traced(attributes = {}) {
    const { tracerProvider, spans } = memoryTracing();
    const { meterProvider, measurements } = memoryMeter();
    const propagator = new W3CTraceContextPropagator();
    const server = createMcpServer({ name: 'traced', version: '1', tools: [echo] });
    server.use(openTelemetry({ tracerProvider, meterProvider, propagator, attributes }));
    const session = { watchers: [sessionDurations({ meterProvider })] };
    const serving = await serveHttp(server, { port: 0, session });
    onTestFinished(() => serving.close(0));
    const client = new Client({ name: 'c', version: '1' }, { versionNegotiation: { mode } });
    const headers = { traceparent: traceparentOf(inHeader) };
    await client.connect(
      new StreamableHTTPClientTransport(serving.url, { requestInit: { headers } }),
    );
    onTestFinished(() => client.close());
    const call = (_meta = {}) => client.callTool({ name: 'echo', arguments: {}, _meta });
    const calls = () => spans().filter(({ name }) => name === 'tools/call echo');
    return { serving, client, call, calls, tracerProvider, measurements };
  }

  test('sets network attributes of spans and durations unless overridden [OTEL-01] [OTEL-04]', async () => {
    const { call, calls, measurements } = await traced();
    await call();
    expect(calls()[0]?.attributes).toMatchObject(http);
    expect(measurements.at(-1)?.attributes).toMatchObject(http);
    const other = await traced({ 'network.transport': 'quic' });
    await other.call();
    expect(other.calls()[0]?.attributes).toMatchObject({ ...http, 'network.transport': 'quic' });
  });

  test("uses the header's trace context as parent, or links it if _meta has one [OTEL-02]", async () => {
    const { call, calls } = await traced();
    await call();
    await call({ traceparent: traceparentOf(inMeta) });
    const [plain, said] = calls();
    expect(plain?.spanContext().traceId).toBe(inHeader[0]);
    expect(plain?.parentSpanContext?.spanId).toBe(inHeader[1]);
    expect(plain?.links).toEqual([]);
    expect(said?.parentSpanContext?.spanId).toBe(inMeta[1]);
    expect(said?.links.map(({ context }) => context.spanId)).toEqual([inHeader[1]]);
  });

  test('records durations of sessions only, with network attributes [OTEL-05]', async () => {
    const { call, serving, measurements } = await traced();
    await call();
    await serving.close();
    const sessions = measurements.filter(({ name }) => name === 'mcp.server.session.duration');
    expect(sessions.map(({ attributes }) => attributes)).toEqual(
      mode === 'legacy' ? [{ ...http, 'mcp.protocol.version': revision }] : [],
    );
  });
});

test('prefers an active span to the header [OTEL-02]', async () => {
  const { tracerProvider, spans } = memoryTracing();
  const { meterProvider } = memoryMeter();
  const around = tracerProvider.getTracer('http').startSpan('POST /mcp');
  const server = createMcpServer({ name: 'traced', version: '1', tools: [echo] });
  // Simulates an HTTP instrumentation.
  server.use((_, next) => contexts.with(trace.setSpan(contexts.active(), around), next));
  const propagator = new W3CTraceContextPropagator();
  server.use(openTelemetry({ tracerProvider, meterProvider, propagator }));
  const serving = await serveHttp(server, { port: 0 });
  onTestFinished(() => serving.close(0));
  const client = new Client({ name: 'c', version: '1' });
  const headers = { traceparent: traceparentOf(inHeader) };
  await client.connect(
    new StreamableHTTPClientTransport(serving.url, { requestInit: { headers } }),
  );
  onTestFinished(() => client.close());
  await client.callTool({ name: 'echo', arguments: {} });
  const call = spans().find(({ name }) => name === 'tools/call echo');
  expect(call?.parentSpanContext?.spanId).toBe(around.spanContext().spanId);
});
