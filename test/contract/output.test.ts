import { gate, request, toolCall } from 'mcp-actors/testing';
import type { ResponseFrame } from '../../packages/testing/src/messages.ts';
import { flush } from 'mcp-actors/testing';
import { expect, test } from 'vitest';
import { eachByteTransport, everywhere } from './everywhere.ts';
import { operateWarm, textOf, tool } from './serving.ts';

/** A tool with a long answer, and the number of its calls. */
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

everywhere('a session whose client does not read', eachByteTransport, ({ transport }) => {
  const limits = { maxOutboundBytes: 100_000, readAheadBytes: 10_000 };

  test('starts no requests while the client is not reading, and loses nothing [FLOW-07]', async () => {
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

  test('pauses its input beyond readAheadBytes, in bounded memory [FLOW-07]', async () => {
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

  test('recovers repeatedly, and sends every answer once, in order [FLOW-07] [BASE-08]', async () => {
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

  test('notices the end of input within the read-ahead [FLOW-07] [LIFE-15]', async () => {
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

  test('ends the session with the output that the client reads before the drain deadline [LIFE-15] [FLOW-07]', async () => {
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

everywhere('broken output', eachByteTransport, ({ transport }) => {
  const epipe = Object.assign(new Error('write EPIPE'), { code: 'EPIPE' });

  test('ends the session once, without an error, and aborts running handlers if the output breaks [LIFE-18]', async () => {
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

  test('ends the session if the output breaks while the client is not reading [LIFE-18]', async () => {
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

  test('ends the session if the output breaks while draining, and keeps the first cause [LIFE-18] [LIFE-19]', async () => {
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
