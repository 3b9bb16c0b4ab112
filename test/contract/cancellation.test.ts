import { cancelled, gate, notification, request, toolCall, flush } from 'mcp-actors/testing';
import { expect, test } from 'vitest';
import { eachTransport, eachTransportAndStreams, everywhere } from './everywhere.ts';
import { echo, initialize, operate, serve, textOf, tool } from './serving.ts';

/** A tool that waits until its gate opens or its signal fires, and the gate. */
function holding() {
  const door = gate();
  const reasons: unknown[] = [];
  const hold = tool('hold', async (args, { signal }) => {
    signal.addEventListener('abort', () => reasons.push(signal.reason));
    await door.pass(signal);
    return `held ${JSON.stringify(args)}`;
  });
  return { door, hold, reasons };
}

everywhere('cancellation', eachTransportAndStreams, (combination) => {
  test.each([1, 0, '', '0', 'a'])(
    'aborts the signal of the request with id %j and sends no answer [CANCEL-01] [CANCEL-02] [CANCEL-10]',
    async (id) => {
      const { door, hold, reasons } = holding();
      const { peer } = await operate({ tools: [hold] }, combination);
      peer.send(toolCall(id, 'hold'));
      await door.arrived();
      const before = peer.received.length;
      peer.send(cancelled(id, 'no longer wanted'));
      await peer.quiet();
      expect(peer.received).toHaveLength(before + 1);
      expect(reasons).toMatchObject([{ code: 'CANCELLED' }]);
      expect(String(reasons[0])).toContain('no longer wanted');
    },
  );
});

everywhere('cancellation', eachTransportAndStreams, () => {
  test('sends no answer even if the handler ignores its signal [CANCEL-01] [BASE-08]', async () => {
    const door = gate();
    const stubborn = tool('stubborn', async () => {
      await door.pass();
      return 'done';
    });
    const { peer } = await operate({ tools: [stubborn] });
    peer.send(toolCall(1, 'stubborn'));
    await door.arrived();
    const before = peer.received.length;
    peer.send(cancelled(1));
    await flush();
    door.release();
    await peer.quiet();
    expect(peer.received).toHaveLength(before + 1);
  });

  test('compares the type of the id too [CANCEL-02]', async () => {
    const { door, hold, reasons } = holding();
    const { peer, facts } = await operate({ tools: [hold] });
    peer.send(toolCall(1, 'hold'));
    await door.arrived();
    peer.send(cancelled('1'), cancelled(1.5), cancelled(null), cancelled([1]));
    await peer.quiet();
    expect(reasons).toEqual([]);
    expect(facts.of('cancellation.ignored')).toHaveLength(4);
    door.release();
    expect((await peer.response(1)).result).toBeDefined();
  });

  test('ignores a cancellation without an id, or of an unknown or finished request [CANCEL-03]', async () => {
    const { peer, facts } = await operate({ tools: [echo] });
    await peer.call('echo');
    peer.send(toolCall(1, 'echo'));
    await peer.response(1);
    const before = peer.received.length;
    peer.send(cancelled(1), cancelled('never'), notification('notifications/cancelled'));
    await peer.quiet();
    expect(peer.received).toHaveLength(before + 1);
    expect(facts.of('cancellation.ignored')).toHaveLength(3);
  });

  test('ignores a repeated cancellation [CANCEL-03]', async () => {
    const { door, hold, reasons } = holding();
    const { peer, facts } = await operate({ tools: [hold] });
    peer.send(toolCall(1, 'hold'));
    await door.arrived();
    peer.send(cancelled(1), cancelled(1));
    await facts.next('cancellation.ignored');
    expect(reasons).toHaveLength(1);
  });

  test('frees the id for the next request [CANCEL-04]', async () => {
    const door = gate();
    const stubborn = tool('stubborn', async ({ n }) => {
      await door.pass();
      return String(n);
    });
    const { peer } = await operate({ tools: [stubborn] });
    peer.send(toolCall(1, 'stubborn', { n: 'first' }));
    await door.arrived();
    peer.send(cancelled(1), toolCall(1, 'stubborn', { n: 'second' }));
    await door.arrived(2);
    door.release();
    expect(textOf((await peer.response(1)).result)).toBe('second');
    const before = peer.received.length;
    await peer.quiet();
    expect(peer.received).toHaveLength(before + 1);
  });

  test('removes a queued request before it starts [CANCEL-08]', async () => {
    const { door, hold } = holding();
    const { peer } = await operate({ tools: [hold] }, { limits: { maxRunning: 1 } });
    peer.send(toolCall(1, 'hold', { n: 1 }), toolCall(2, 'hold'), toolCall(3, 'hold', { n: 3 }));
    await door.arrived();
    peer.send(cancelled(2));
    await flush();
    door.release();
    expect(textOf((await peer.response(1)).result)).toBe('held {"n":1}');
    expect(textOf((await peer.response(3)).result)).toBe('held {"n":3}');
    expect(door.arrivals).toBe(2);
  });

  test('affects no other request [CANCEL-01]', async () => {
    const { door, hold } = holding();
    const { peer } = await operate({ tools: [hold] });
    peer.send(toolCall(1, 'hold', { n: 1 }), toolCall(2, 'hold', { n: 2 }));
    await door.arrived(2);
    peer.send(cancelled(1));
    await flush();
    door.release();
    expect(textOf((await peer.response(2)).result)).toBe('held {"n":2}');
  });

  test('gives the slot of a cancelled request to a queued one [CANCEL-01] [FLOW-01]', async () => {
    const { door, hold } = holding();
    const { peer } = await operate({ tools: [hold, echo] }, { limits: { maxRunning: 1 } });
    peer.send(toolCall(1, 'hold'), toolCall(2, 'echo', { n: 2 }));
    await door.arrived();
    peer.send(cancelled(1));
    expect(textOf((await peer.response(2)).result)).toBe('{"n":2}');
  });

  test('ignores a cancellation of an answered ping [CANCEL-03]', async () => {
    const { peer, facts } = await operate({});
    peer.send(request(1, 'ping'), cancelled(1));
    await peer.response(1);
    await facts.next('cancellation.ignored');
  });
});

// Over HTTP no message is accepted before a session, and no two messages share a chunk.
everywhere('cancellation', eachTransport, () => {
  test('ignores a cancellation before initialize [CANCEL-03]', async () => {
    const { peer, facts } = serve({ tools: [echo] });
    peer.send(cancelled(1));
    await facts.next('cancellation.ignored');
    await peer.handshake();
  });

  test('does not cancel initialize [CANCEL-07]', async () => {
    const { peer } = serve({ tools: [echo] });
    peer.send(initialize(1), cancelled(1));
    expect((await peer.response(1)).result).toBeDefined();
    expect(textOf(await peer.call('echo', {}))).toBe('{}');
  });

  test('prevents the handler from running if received in the same chunk as the request [CANCEL-08]', async () => {
    let runs = 0;
    const door = gate();
    const counted = tool('counted', () => `${++runs}`);
    const held = tool('held', () => door.pass().then(() => 'held'));
    const limits = { maxRunning: 1 };
    const { peer } = await operate({ tools: [counted, held, echo] }, { limits });
    const first = peer.call('held');
    await door.arrived();
    peer.send(toolCall(1, 'counted'), cancelled(1));
    door.release();
    await first;
    await peer.call('echo');
    await peer.quiet();
    expect(runs).toBe(0);
  });
});
