/** Spans and error codes of 2026-07-28 requests. */
import { context as contexts } from '@opentelemetry/api';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import { ProtocolError, createMcpServer } from 'mcp-actors';
import { openTelemetry } from 'mcp-actors/opentelemetry';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { asking } from '../../../test/contract/asking.ts';
import { enveloped } from 'mcp-actors/testing';
import { connect, echo, tool } from '../../../test/contract/serving.ts';
import { AsyncContexts, memoryMeter, memoryTracing } from './stand-ins.ts';

beforeAll(() => contexts.setGlobalContextManager(new AsyncContexts()));
afterAll(() => contexts.disable());

async function spanOf(name: string, args: object, meta: object = {}) {
  const { tracerProvider, spans } = memoryTracing();
  const { meterProvider } = memoryMeter();
  const missing = tool('missing', () => {
    throw new ProtocolError(-32002, 'Gone');
  });
  const server = createMcpServer({
    name: 'traced',
    version: '1',
    tools: [echo, asking().ask, missing],
  });
  const propagator = new W3CTraceContextPropagator();
  server.use(openTelemetry({ tracerProvider, meterProvider, propagator }));
  const { peer } = connect(server);
  peer.send(enveloped(1, 'tools/call', { name, arguments: args, _meta: meta }));
  await peer.response(1);
  return spans()[0];
}

test("makes a request a child of the client's span in _meta, with revision and no session [OTEL-02]", async () => {
  const [traceId, parentId] = ['4bf92f3577b34da6a3ce929d0e0e4736', '00f067aa0ba902b7'];
  const span = await spanOf('echo', {}, { traceparent: `00-${traceId}-${parentId}-01` });
  expect(span?.spanContext().traceId).toBe(traceId);
  expect(span?.parentSpanContext?.spanId).toBe(parentId);
  expect(span?.attributes).toMatchObject({ 'mcp.protocol.version': '2026-07-28' });
  expect(span?.attributes).not.toHaveProperty('mcp.session.id');
});

test.each([
  ['ask', { method: 'sampling/createMessage' }, '-32021'],
  ['missing', {}, '-32602'],
])('records the code that the client receives: %s', async (name, args, code) => {
  const span = await spanOf(name, args);
  expect(span?.attributes).toMatchObject({ 'rpc.response.status_code': code });
});
