import fc from 'fast-check';
import { expect, test } from 'vitest';
import { RuntimeError } from '../../src/protocol/errors.ts';
import { startHostCorrelation } from './host-requests.ts';

test('whatever happens to its channels, each request is settled once, and no id goes out twice [HOST-20]', () => {
  const action = fc.record({
    kind: fc.constantFrom(
      ...(['send', 'send', 'notify', 'greet', 'answer', 'cancel', 'taken', 'reject'] as const),
      ...(['connect', 'open', 'hold', 'lose', 'fail', 'wait', 'giveBack'] as const),
    ),
    at: fc.nat({ max: 12 }),
    ms: fc.nat({ max: 800 }),
  });
  fc.assert(
    fc.property(fc.array(action, { maxLength: 80 }), (actions) => {
      const host = startHostCorrelation({ maxPending: 8, maxWaitingAway: 4 });
      const asked: ReturnType<typeof host.send>[] = [];
      for (const { kind, at, ms } of actions) {
        const request = asked[at]?.request;
        const id = request?.ticket?.id;
        const sending = host.sent[at];
        const timeoutMs = ms + 1;
        if (kind === 'send') asked.push(host.send('tools/call', { timeoutMs }));
        else if (kind === 'notify') asked.push(host.send('n', { timeoutMs, awaits: 'delivery' }));
        else if (kind === 'greet') {
          asked.push(host.send('initialize', { timeoutMs, isHandshake: true }));
        } else if (kind === 'answer') host.answer(sending?.id);
        else if (kind === 'cancel' && request) host.cancel(request);
        else if (kind === 'taken') sending?.taken?.();
        else if (kind === 'reject' && sending) {
          const { method } = sending;
          const frame = { jsonrpc: '2.0', id: sending.id as never, method } as const;
          sending.rejected?.(new RuntimeError('CLOSED', 'cut'), frame);
        } else if (kind === 'connect') host.connect();
        else if (kind === 'open') host.open();
        else if (kind === 'hold') host.hold();
        else if (kind === 'lose') host.lose();
        else if (kind === 'fail') host.close();
        else if (kind === 'wait') host.clock.increment(ms);
        else if (kind === 'giveBack') host.giveBack(at % 2 ? id : sending?.id);
        expect(host.pending().length).toBe(
          asked.filter(({ outcomes }) => outcomes.length === 0).length,
        );
        const waiting = host.pending().filter(({ state }) => state === 'held');
        expect(waiting.length).toBeLessThanOrEqual(8);
      }
      host.close();
      expect(asked.map(({ outcomes }) => outcomes.length)).toEqual(asked.map(() => 1));
      const ids = host.sent
        .filter(({ method }) => method !== 'notifications/cancelled')
        .flatMap(({ id }) => (id === undefined ? [] : [id]));
      expect(new Set(ids).size).toBe(ids.length);
      // A request of a tool's goes out twice at most, one of the handshake once, and is never cancelled.
      expect(host.sent.filter(({ method }) => method === 'initialize').length).toBeLessThanOrEqual(
        asked.filter(({ request }) => request.isHandshake).length,
      );
      const cancelled = host.sent.flatMap(({ method, params }) =>
        method === 'notifications/cancelled' ? [(params as { requestId: unknown }).requestId] : [],
      );
      expect(new Set(cancelled).size).toBe(cancelled.length);
      for (const id of cancelled) expect(ids).toContain(id);
      expect([host.pending(), host.clock.timers, host.errors]).toEqual([[], 0, []]);
    }),
    { numRuns: 500 },
  );
});
