import { gate, request, toolCall } from 'mcp-actors/testing';
import type { ResponseFrame } from '../../packages/testing/src/messages.ts';
import { flush } from 'mcp-actors/testing';
import { expect, test } from 'vitest';
import { eachByteTransport, everywhere } from './everywhere.ts';
import { operateWarm, textOf, tool } from './serving.ts';

/** A tool whose answer is long, and how often it has started. */
function writing(length: number) {
  const started: unknown[] = [];
  const write = tool('write', ({ n }) => {
    started.push(n);
    return `${String(n)}:${'x'.repeat(length)}`;
  });
  return { write, started };
}

const call = (n: number) => toolCall(n, 'write', { n });
const numberOf = ({ result }: ResponseFrame) => Number(textOf(result).split(':')[0]);

everywhere('a client that does not read', eachByteTransport, ({ transport }) => {
  const limits = { maxOutboundBytes: 100_000, readAheadBytes: 10_000 };

  test('stops new work; nothing is lost when it reads again [FLOW-07]', async () => {
    const { write, started } = writing(60_000);
    const { peer, wire, facts } = await operateWarm({ tools: [write] }, { transport, limits });
    wire.stopReading();
    let n = 0;
    while (facts.of('output.blocked').length === 0) {
      peer.send(call(n++));
      await flush();
      expect(n).toBeLessThan(20);
    }
    const startedBefore = started.length;
    peer.send(call(n++), call(n++), call(n++));
    await flush();
    expect(started).toHaveLength(startedBefore);

    wire.resumeReading();
    for (let at = 0; at < n; at++) expect(numberOf(await peer.response(at))).toBe(at);
    expect(started).toHaveLength(n);
    await facts.next('output.flowing');
  });

  test('stops the reading of its input past the read-ahead, in bounded memory [FLOW-07]', async () => {
    const { write } = writing(60_000);
    const { peer, wire, facts } = await operateWarm({ tools: [write] }, { transport, limits });
    wire.stopReading();
    let n = 0;
    while (facts.of('output.blocked').length === 0) {
      peer.send(call(n++));
      await flush();
    }
    expect(wire.paused).toBe(false);
    const padding = 'x'.repeat(1000);
    for (let extra = 0; extra < 50; extra++) {
      peer.send(request(`ping-${extra}`, 'ping', { padding }));
      await flush();
    }
    expect(wire.paused).toBe(true);

    wire.resumeReading();
    for (let extra = 0; extra < 50; extra++) await peer.response(`ping-${extra}`);
    expect(wire.paused).toBe(false);
    for (let at = 0; at < n; at++) await peer.response(at);
  });

  test('may do so again and again; every answer comes once, in order [FLOW-07] [BASE-08]', async () => {
    const { write } = writing(20_000);
    const { peer, wire } = await operateWarm({ tools: [write] }, { transport, limits });
    let n = 0;
    for (let round = 0; round < 5; round++) {
      wire.stopReading();
      for (let calls = 0; calls < 20; calls++) peer.send(call(n++));
      await flush();
      wire.resumeReading();
      await flush();
    }
    for (let at = 0; at < n; at++) await peer.response(at);
    const answered = peer.received
      .map((frame) => (frame as ResponseFrame).id)
      .filter((id) => typeof id === 'number');
    expect(answered).toEqual(Array.from({ length: n }, (_, at) => at));
  });

  test('does not hide the end of its input within the read-ahead [FLOW-07] [LIFE-15]', async () => {
    const { write } = writing(60_000);
    const { peer, wire, facts, session, clock } = await operateWarm(
      { tools: [write] },
      { transport, limits },
    );
    wire.stopReading();
    for (let n = 0; facts.of('output.blocked').length === 0; n++) {
      peer.send(call(n));
      await flush();
    }
    peer.end();
    await flush();
    expect(session.actor.getSnapshot().matches('draining')).toBe(true);
    clock.increment(2000);
    expect(await session.closed).toEqual({ kind: 'input-ended' });
  });

  test('does not read, then ends: what it reads before the deadline ends the session [LIFE-15] [FLOW-07]', async () => {
    const { write } = writing(60_000);
    const { peer, wire, session } = await operateWarm({ tools: [write] }, { transport, limits });
    wire.stopReading();
    peer.send(call(1));
    await flush();
    peer.end();
    await flush();
    wire.resumeReading();
    expect(numberOf(await peer.response(1))).toBe(1);
    expect(await session.closed).toEqual({ kind: 'input-ended' });
  });
});

everywhere('output that breaks', eachByteTransport, ({ transport }) => {
  const epipe = Object.assign(new Error('write EPIPE'), { code: 'EPIPE' });

  test('ends the session once, quietly, and aborts what runs [LIFE-18]', async () => {
    const reasons: unknown[] = [];
    const hold = tool('hold', (_, { signal }) => {
      signal.addEventListener('abort', () => reasons.push(signal.reason));
      return gate().pass(signal);
    });
    const { peer, wire, session, facts } = await operateWarm({ tools: [hold] }, { transport });
    peer.send(toolCall(1, 'hold'));
    await peer.quiet();
    wire.breakOutput(epipe);
    expect(await session.closed).toMatchObject({ kind: 'output-broken', error: epipe });
    expect(reasons).toMatchObject([{ code: 'TRANSPORT_CLOSED' }]);
    wire.breakOutput(epipe);
    peer.send(toolCall(2, 'hold'));
    await flush();
    expect(facts.of('output.broken')).toHaveLength(1);
    expect(facts.of('session.closed')).toHaveLength(1);
  });

  test('while the client does not read ends it as well [LIFE-18]', async () => {
    const { write } = writing(60_000);
    const { peer, wire, session } = await operateWarm(
      { tools: [write] },
      { transport, limits: { maxOutboundBytes: 1000 } },
    );
    wire.stopReading();
    peer.send(call(1), call(2), call(3));
    await flush();
    wire.breakOutput(epipe);
    expect(await session.closed).toMatchObject({ kind: 'output-broken' });
  });

  test('while draining ends it as well, and the cause stays the first [LIFE-18] [LIFE-19]', async () => {
    const hold = tool('hold', (_, { signal }) => gate().pass(signal));
    const { peer, wire, session } = await operateWarm({ tools: [hold] }, { transport });
    peer.send(toolCall(1, 'hold'));
    await peer.quiet();
    peer.end();
    await flush();
    wire.breakOutput(epipe);
    expect((await session.closed).kind).toBe('input-ended');
  });
});
