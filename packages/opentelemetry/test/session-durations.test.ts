import { createMcpServer } from 'mcp-actors';
import { sessionDurations } from 'mcp-actors/opentelemetry';
import type { SessionDurationsOptions } from 'mcp-actors/opentelemetry';
import { scriptedConversation } from 'mcp-actors/testing';
import type { ConversationOptions } from 'mcp-actors/testing';
import { describe, expect, test } from 'vitest';
import { revisions } from '../../../test/contract/everywhere.ts';
import { TestClock } from '../../../test/contract/test-clock.ts';
import { memoryMeter } from './stand-ins.ts';

function watched(options?: SessionDurationsOptions, limits: ConversationOptions['limits'] = {}) {
  const { meterProvider, measurements } = memoryMeter();
  const clock = new TestClock();
  const watchers = [sessionDurations({ meterProvider, ...options })];
  const server = createMcpServer({ name: 'watched', version: '1' });
  return { ...scriptedConversation(server, { clock, watchers, limits }), clock, measurements };
}

describe('mcp.server.session.duration [OTEL-05]', () => {
  test.each(revisions)('is recorded when a session ends, in %s', async (protocolVersion) => {
    const { peer, session, clock, measurements } = watched({
      attributes: { 'network.transport': 'pipe' },
    });
    await peer.handshake({ protocolVersion });
    clock.increment(90_500);
    expect(measurements).toEqual([]);
    peer.end();
    await session.closed;
    expect(measurements).toEqual([
      {
        name: 'mcp.server.session.duration',
        options: expect.objectContaining({
          unit: 's',
          advice: {
            explicitBucketBoundaries: [
              0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300,
            ],
          },
        }),
        value: 90.5,
        attributes: { 'network.transport': 'pipe', 'mcp.protocol.version': protocolVersion },
      },
    ]);
  });

  test('has no revision if no client sent initialize', async () => {
    const { session, measurements } = watched();
    session.shutdown('nobody came');
    await session.closed;
    expect(measurements.map(({ attributes }) => attributes)).toEqual([{}]);
  });

  test('has the error type of broken output', async () => {
    const { peer, wire, session, measurements } = watched();
    await peer.handshake();
    wire.breakOutput(new Error('EPIPE'));
    await session.closed;
    expect(measurements[0]?.attributes).toMatchObject({ 'error.type': 'output-broken' });
  });

  test('has the error type of an unresponsive client', async () => {
    const limits = { keepaliveIntervalMs: 1000, keepaliveTimeoutMs: 100, keepaliveFailures: 1 };
    const { peer, session, clock, measurements } = watched({}, limits);
    await peer.handshake();
    clock.increment(1000);
    await peer.request('ping');
    clock.increment(100);
    expect((await session.closed).kind).toBe('unresponsive');
    expect(measurements[0]?.attributes).toMatchObject({ 'error.type': 'unresponsive' });
  });
});
