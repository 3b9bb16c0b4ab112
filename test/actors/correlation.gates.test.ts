import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { clientRequest, startCorrelation } from './peer-requests.ts';

describe('before the gate is open', () => {
  test('requests are held, and go out in order when it opens', () => {
    const { send, open, frames, pending } = startCorrelation();
    const ids = ['a', 'b', 'c'].map((method) => send({ method }).request.ticket?.id);
    expect([frames(), pending()]).toEqual([[], 3]);
    open();
    expect(frames().map((frame) => ('id' in frame ? frame.id : undefined))).toEqual(ids);
    open();
    expect(frames()).toHaveLength(3);
  });

  test('a request that is cancelled is never sent, nor is its cancellation', () => {
    const { send, cancel, open, frames, pending } = startCorrelation();
    const { request, ending } = send();
    cancel(request);
    open();
    expect([ending(), frames(), pending()]).toEqual(['CANCELLED', [], 0]);
  });

  test('a request that times out is never sent, nor is its cancellation', () => {
    const { send, open, frames, clock } = startCorrelation();
    const { ending } = send();
    clock.increment(1000);
    open();
    expect([ending(), frames()]).toEqual(['REQUEST_TIMEOUT', []]);
  });

  test('held requests count for the bound', () => {
    const { send } = startCorrelation({ maxPending: 1 });
    send();
    expect(send().ending()).toBe('LIMIT_EXCEEDED');
  });
});

describe('cancelling', () => {
  test('settles the request and tells the client, once', () => {
    const { send, cancel, open, frames } = startCorrelation();
    open();
    const { request, outcomes } = send();
    cancel(request, 'no longer needed');
    cancel(request, 'again');
    expect(outcomes).toMatchObject([{ ok: false, error: { code: 'CANCELLED' } }]);
    expect(frames().slice(1)).toEqual([
      {
        jsonrpc: '2.0',
        method: 'notifications/cancelled',
        params: { requestId: request.ticket?.id, reason: 'no longer needed' },
      },
    ]);
  });

  test('what was never taken, or has been answered, does nothing', () => {
    const { send, cancel, answer, open, wire, names } = startCorrelation();
    open();
    cancel(clientRequest().request);
    const { request, outcomes } = send();
    answer(request.ticket?.id);
    cancel(request);
    expect(outcomes).toHaveLength(1);
    expect([wire(), names()]).toEqual([['roots/list'], []]);
  });

  test('by the client ends our request without a word back', () => {
    const { send, remoteCancel, open, wire } = startCorrelation();
    open();
    const { request, outcomes } = send();
    remoteCancel(request.ticket?.id ?? '', 'the user said no');
    expect(outcomes).toMatchObject([
      {
        ok: false,
        error: {
          code: 'REMOTE_CANCELLED',
          message: expect.stringContaining('the user said no') as string,
        },
      },
    ]);
    expect(wire()).toEqual(['roots/list']);
  });

  test.each(['s-1-x', 1, '', '__proto__'])(
    'by the client of what is not ours is a fact: %j',
    (id) => {
      const { remoteCancel, open, names } = startCorrelation();
      open();
      remoteCancel(id);
      expect(names()).toEqual(['cancellation.ignored']);
    },
  );
});

describe('when the gate closes', () => {
  test('everything pending fails with the reason, sent or held, and the client is told nothing', () => {
    const { send, open, close, frames, pending, clock } = startCorrelation();
    const held = startCorrelation();
    const unsent = held.send();
    held.close();
    expect(unsent.ending()).toBe('TRANSPORT_CLOSED');
    open();
    const sent = [send(), send()];
    close();
    expect(sent.map(({ ending }) => ending())).toEqual(['TRANSPORT_CLOSED', 'TRANSPORT_CLOSED']);
    expect([frames().length, held.frames().length, pending(), clock.timers]).toEqual([2, 0, 0, 0]);
  });

  test('what comes later is refused at once, and leaves no timer', () => {
    const { send, open, close, frames, pending, clock } = startCorrelation();
    open();
    close();
    expect(send().ending()).toBe('TRANSPORT_CLOSED');
    expect([frames(), pending(), clock.timers]).toEqual([[], 0, 0]);
  });

  test('an answer that still comes is late and harms nobody', () => {
    const { send, open, close, answer, names } = startCorrelation();
    open();
    const { request, outcomes } = send();
    close();
    answer(request.ticket?.id);
    expect(outcomes).toHaveLength(1);
    expect(names()).toEqual(['response.late']);
  });

  test('by stopping the actor it is the same', () => {
    const { actor, send, open, clock } = startCorrelation();
    open();
    const { outcomes } = send();
    actor.stop();
    expect(outcomes).toMatchObject([{ ok: false, error: { code: 'TRANSPORT_CLOSED' } }]);
    expect(clock.timers).toBe(0);
  });
});

test('whatever happens, each request is settled exactly once, and no timer or pending is left', () => {
  const action = fc.record({
    kind: fc.constantFrom('send', 'answer', 'cancel', 'remote', 'progress', 'wait', 'open', 'fail'),
    at: fc.nat({ max: 9 }),
    ms: fc.nat({ max: 800 }),
  });
  fc.assert(
    fc.property(fc.array(action, { maxLength: 60 }), (actions) => {
      const all = startCorrelation({ maxPending: 5 });
      const sent: ReturnType<typeof all.send>[] = [];
      for (const { kind, at, ms } of actions) {
        const request = sent[at]?.request;
        const id = request?.ticket?.id ?? 'unknown';
        if (kind === 'send') sent.push(all.send({ timeoutMs: ms, onProgress: () => {} }));
        else if (kind === 'answer') all.answer(id);
        else if (kind === 'fail') all.fail(id, { malformed: 'x', isJsonRpc: true });
        else if (kind === 'cancel' && request) all.cancel(request);
        else if (kind === 'remote') all.remoteCancel(id);
        else if (kind === 'progress') all.progress({ progressToken: id, progress: ms });
        else if (kind === 'wait') all.clock.increment(ms);
        else if (kind === 'open') all.open();
        expect(all.clock.timers).toBeLessThanOrEqual(1);
        expect(all.pending()).toBe(sent.filter(({ outcomes }) => outcomes.length === 0).length);
      }
      all.close();
      expect(sent.map(({ outcomes }) => outcomes.length)).toEqual(sent.map(() => 1));
      expect([all.pending(), all.clock.timers, all.errors]).toEqual([0, 0, []]);
    }),
    { numRuns: 300 },
  );
});
