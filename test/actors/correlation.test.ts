import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import type { Fact } from '../../src/actors/facts.ts';
import type { OutboundFrame } from '../../src/protocol/frames.ts';
import { clientRequest, startCorrelation } from './peer-requests.ts';

const opened = (options = {}) => {
  const started = startCorrelation(options);
  started.open();
  return started;
};

describe('a pending request', () => {
  test('is sent with an unguessable id that is never reused', () => {
    const { send, frames } = opened();
    const ids = Array.from({ length: 100 }, () => send().request.ticket?.id);
    expect(new Set(ids).size).toBe(100);
    for (const [n, id] of ids.entries())
      expect(id).toMatch(new RegExp(`^s-${n + 1}-[0-9a-f-]{36}$`));
    expect(frames()[0]).toEqual({ jsonrpc: '2.0', id: ids[0], method: 'roots/list' });
  });

  test('is settled by the response with its id, in any order', () => {
    const { send, answer } = opened();
    fc.assert(
      fc.property(fc.shuffledSubarray([0, 1, 2, 3, 4, 5], { minLength: 6 }), (order) => {
        const sent = order.map(() => send());
        for (const at of order) answer(sent[at]?.request.ticket?.id, { at });
        for (const [at, { outcomes }] of sent.entries()) {
          expect(outcomes).toEqual([{ ok: true, result: { at } }]);
        }
      }),
    );
  });

  test("fails with the client's error, or with INVALID_RESPONSE for a malformed response", () => {
    const { send, fail } = opened();
    const [refused, garbled] = [send(), send()];
    fail(refused.request.ticket?.id, { error: { code: -32601, message: 'no such method' } });
    fail(garbled.request.ticket?.id, { malformed: '"result" must be an object', isJsonRpc: true });
    expect(refused.outcomes).toMatchObject([
      { ok: false, error: { code: 'REQUEST_FAILED', remote: { code: -32601 } } },
    ]);
    expect(garbled.ending()).toBe('INVALID_RESPONSE');
  });

  test('has its id, method and elapsed time in its error', () => {
    const { send, fail, clock, actor } = opened({ maxPending: 1 });
    const { request, outcomes } = send({ method: 'ping' });
    const beyond = send({ method: 'custom/beyond' });
    clock.increment(250);
    fail(request.ticket?.id, { error: { code: 1, message: 'no', data: { reason: 'later' } } });
    const late = send({ method: 'custom/late' });
    clock.increment(1000);
    const closed = send({ method: 'custom/closed' });
    actor.stop();
    const id = (ended: { request: { ticket?: { id: unknown } | undefined } }) =>
      ended.request.ticket?.id;
    const requestOf = ([outcome]: typeof outcomes) => !outcome?.ok && outcome?.error.request;
    expect([outcomes, beyond.outcomes, late.outcomes, closed.outcomes].map(requestOf)).toEqual([
      { id: id({ request }), method: 'ping', elapsedMs: 250 },
      { method: 'custom/beyond', elapsedMs: 0 },
      { id: id(late), method: 'custom/late', elapsedMs: 1000 },
      { id: id(closed), method: 'custom/closed', elapsedMs: 0 },
    ]);
    expect(outcomes).toMatchObject([{ error: { remote: { data: { reason: 'later' } } } }]);
  });

  test('is reported at debug level when sent and answered, without contents', () => {
    const { send, answer, fail, clock, heard } = opened();
    const [first, second] = [send({ params: { secret: 1 } }), send({ method: 'ping' })];
    clock.increment(5);
    answer(first.request.ticket?.id, { secret: 2 });
    fail(second.request.ticket?.id, { error: { code: 1, message: 'no' } });
    const of = ({ request: { method, ticket } }: typeof first) => ({ id: ticket?.id, method });
    expect(heard).toEqual([
      {
        level: 'debug',
        name: 'request.sent',
        message: 'roots/list was sent',
        details: of(first),
      },
      { level: 'debug', name: 'request.sent', message: 'ping was sent', details: of(second) },
      {
        level: 'debug',
        name: 'request.answered',
        message: 'roots/list was answered with a result after 5 ms',
        details: { ...of(first), elapsedMs: 5 },
      },
      {
        level: 'debug',
        name: 'request.answered',
        message: 'ping was answered with an error after 5 ms',
        details: { ...of(second), elapsedMs: 5 },
      },
    ]);
  });

  test('creates no facts if the report ignores debug', () => {
    const report = Object.assign(vi.fn<(fact: Fact) => void>(), { threshold: 'info' as const });
    const { send, answer } = opened({ report });
    answer(send().request.ticket?.id);
    expect(report).not.toHaveBeenCalled();
  });

  test('truncates a long error message of the client', () => {
    const { send, fail } = opened();
    const { request, outcomes } = send();
    fail(request.ticket?.id, { error: { code: 1, message: 'x'.repeat(1_000_000) } });
    const [outcome] = outcomes;
    expect(!outcome?.ok && outcome?.error.message.length).toBeLessThan(1000);
  });

  test('fails alone if its params are not JSON, without any message to the client', () => {
    const { send, writer, wire, pending } = opened();
    const { ending } = send({ params: { a: 1n } });
    const [event] = writer.events;
    if (event?.type !== 'frames.send') expect.unreachable();
    const [frame] = event.frames;
    event.reportTo?.send({
      type: 'frame.rejected',
      frame: frame as OutboundFrame,
      error: new TypeError('BigInt'),
    });
    expect(ending()).toBe('UNSERIALIZABLE');
    expect([wire(), pending()]).toEqual([['roots/list'], 0]);
  });

  test('fails alone and unsent if reading its params throws', () => {
    const { send, frames, pending, errors } = opened();
    const params = {
      get _meta(): never {
        throw new Error('no');
      },
    };
    const { ending } = send({ params, onProgress: () => {} });
    expect(ending()).toBe('UNSERIALIZABLE');
    expect([frames(), pending(), errors]).toEqual([[], 0, []]);
  });

  test('is rejected beyond maxPending, until another one ends', () => {
    const { send, answer, pending } = opened({ maxPending: 2 });
    const [first] = [send(), send()];
    expect(send().ending()).toBe('LIMIT_EXCEEDED');
    expect(pending()).toBe(2);
    answer(first.request.ticket?.id);
    expect(send().ending()).toBeUndefined();
  });
});

describe('a response', () => {
  test.each(['s-1-guess', 1, '', '__proto__'])(
    'with an unknown id is reported as unknown and settles nothing: %j',
    (id) => {
      const { send, answer, names } = opened();
      const { outcomes } = send();
      answer(id);
      expect(names()).toEqual(['response.unknown']);
      expect(outcomes).toEqual([]);
    },
  );

  test('matches ids exactly: a number is not its string', () => {
    const { send, answer, names } = opened();
    const { request } = send();
    answer(Number.parseInt(String(request.ticket?.id).slice(2), 10));
    answer(String(request.ticket?.id).toUpperCase());
    answer(` ${request.ticket?.id}`);
    expect(names()).toEqual(['response.unknown', 'response.unknown', 'response.unknown']);
  });

  test('is reported as duplicate if repeated, and as late after a timeout or a cancellation', () => {
    const { send, answer, cancel, remoteCancel, clock, names } = opened();
    const [twice, cancelled, remote] = [send(), send(), send()];
    answer(twice.request.ticket?.id);
    answer(twice.request.ticket?.id, { other: true });
    cancel(cancelled.request);
    answer(cancelled.request.ticket?.id);
    remoteCancel(remote.request.ticket?.id ?? '');
    answer(remote.request.ticket?.id);
    const slow = send();
    clock.increment(1000);
    answer(slow.request.ticket?.id);
    expect(names().filter((name) => name !== 'request.timedOut')).toEqual([
      'response.duplicate',
      'response.late',
      'response.late',
      'response.late',
    ]);
    expect([twice, cancelled, remote, slow].map(({ outcomes }) => outcomes.length)).toEqual([
      1, 1, 1, 1,
    ]);
  });

  test('is reported correctly after many others, while the last 1,024 unanswered requests are remembered', () => {
    const { send, answer, cancel, names } = opened();
    const [answered, cancelled] = [send(), send()];
    answer(answered.request.ticket?.id);
    cancel(cancelled.request);
    const others = Array.from({ length: 1024 }, () => send());
    for (const { request } of others) answer(request.ticket?.id);
    answer(answered.request.ticket?.id);
    answer(cancelled.request.ticket?.id);
    expect(names()).toEqual(['response.duplicate', 'response.late']);
    for (const { request } of Array.from({ length: 1023 }, () => send())) cancel(request);
    answer(cancelled.request.ticket?.id);
    cancel(send().request);
    answer(cancelled.request.ticket?.id);
    expect(names().slice(2)).toEqual(['response.late', 'response.duplicate']);
  });

  test('is never answered if unknown or late, even if it violates MCP', () => {
    const { send, answer, fail, frames } = opened();
    const { request } = send();
    answer(request.ticket?.id);
    answer(request.ticket?.id);
    answer('s-9-unknown');
    fail('s-9-unknown', { malformed: '"result" must be an object', isJsonRpc: true });
    expect(frames()).toHaveLength(1);
  });

  test('is answered with an error without an id if it is not JSON-RPC and matches no request', () => {
    const { fail, frames } = opened();
    fail('s-9-unknown', { malformed: 'it has both', isJsonRpc: false });
    expect(frames()).toEqual([
      { jsonrpc: '2.0', error: { code: -32600, message: expect.any(String) as string } },
    ]);
  });
});

describe('a deadline of a request', () => {
  test('ends the request in time, cancels it at the client, and is reported', () => {
    const { send, clock, frames, names } = opened();
    const { request, ending } = send({ timeoutMs: 5000 });
    clock.increment(4999);
    expect(ending()).toBeUndefined();
    clock.increment(1);
    expect(ending()).toBe('REQUEST_TIMEOUT');
    expect(frames()[1]).toEqual({
      jsonrpc: '2.0',
      method: 'notifications/cancelled',
      params: {
        requestId: request.ticket?.id,
        reason: expect.stringContaining('5000 ms') as string,
      },
    });
    expect(names()).toEqual(['request.timedOut']);
  });

  test('is extended by progress up to the hard limit', () => {
    const { send, clock, progress } = opened();
    const { request, ending } = send({ timeoutMs: 1000, maxTotalMs: 2500, onProgress: () => {} });
    for (let n = 1; n <= 5; n++) {
      clock.increment(499);
      progress({ progressToken: request.ticket?.id, progress: n });
    }
    expect(ending()).toBeUndefined();
    clock.increment(4);
    expect(ending()).toBeUndefined();
    clock.increment(1);
    expect(ending()).toBe('REQUEST_TIMEOUT');
  });

  test('is capped by the hard limit, even if timeoutMs is longer', () => {
    const { send, clock } = opened();
    const { ending } = send({ timeoutMs: 1000, maxTotalMs: 10 });
    clock.increment(10);
    expect(ending()).toBe('REQUEST_TIMEOUT');
  });

  test('uses one timer for a thousand requests, and none once all are answered and the timer has fired', () => {
    const { send, answer, clock } = opened();
    const sent = Array.from({ length: 1000 }, (_, n) => send({ timeoutMs: 1000 + n }));
    expect(clock.timers).toBe(1);
    for (const { request } of sent) answer(request.ticket?.id);
    clock.increment(1000);
    expect(clock.timers).toBe(0);
  });
});

describe('progress of a request', () => {
  test('is requested with the id as token, besides the meta of the params', () => {
    const { send, frames } = opened();
    const params = { a: 1, _meta: { trace: 't' } };
    const { request } = send({ params, onProgress: () => {} });
    expect(frames()[0]).toMatchObject({
      params: { a: 1, _meta: { trace: 't', progressToken: request.ticket?.id } },
    });
    expect(params).toEqual({ a: 1, _meta: { trace: 't' } });
    send();
    expect(frames()[1]).not.toHaveProperty('params');
  });

  test('reaches the sender without malformed members', () => {
    const { send, progress } = opened();
    const { hears, progress: heard } = clientRequest();
    const { request } = send({ onProgress: hears });
    const progressToken = request.ticket?.id;
    progress({ progressToken, progress: 1, total: 'x', message: 7 });
    progress({ progressToken, progress: 2, total: 3, message: 'half' });
    expect(heard).toEqual([{ progress: 1 }, { progress: 2, total: 3, message: 'half' }]);
  });

  test.each([
    undefined,
    {},
    { progressToken: 1, progress: 1 },
    { progressToken: { a: 1 }, progress: 1 },
    { progress: 1 },
  ])('with an unknown token is ignored: %j', (params) => {
    const { send, progress, errors } = opened();
    const { outcomes } = send({ onProgress: () => expect.unreachable() });
    progress(params);
    expect([errors, outcomes]).toEqual([[], []]);
  });

  test('without a number is not delivered and extends no deadline', () => {
    const { send, progress, clock } = opened();
    const { request, ending } = send({ onProgress: () => expect.unreachable() });
    clock.increment(999);
    progress({ progressToken: request.ticket?.id, progress: '1' });
    clock.increment(1);
    expect(ending()).toBe('REQUEST_TIMEOUT');
  });

  test('extends no deadline if it was not requested', () => {
    const { send, progress, clock } = opened();
    const { request, ending } = send();
    clock.increment(999);
    progress({ progressToken: request.ticket?.id, progress: 1 });
    clock.increment(1);
    expect(ending()).toBe('REQUEST_TIMEOUT');
  });

  test('is ignored after the answer', () => {
    const { send, progress, answer, errors } = opened();
    const { request } = send({ onProgress: () => expect.unreachable() });
    answer(request.ticket?.id);
    progress({ progressToken: request.ticket?.id, progress: 1 });
    expect(errors).toEqual([]);
  });
});

describe('correlation before the gate opens', () => {
  test('holds requests and sends them in order when it opens', () => {
    const { send, open, frames, pending } = startCorrelation();
    const ids = ['a', 'b', 'c'].map((method) => send({ method }).request.ticket?.id);
    expect([frames(), pending()]).toEqual([[], 3]);
    open();
    expect(frames().map((frame) => ('id' in frame ? frame.id : undefined))).toEqual(ids);
    open();
    expect(frames()).toHaveLength(3);
  });

  test('never sends a request cancelled while held, nor its cancellation', () => {
    const { send, cancel, open, frames, pending } = startCorrelation();
    const { request, ending } = send();
    cancel(request);
    open();
    expect([ending(), frames(), pending()]).toEqual(['CANCELLED', [], 0]);
  });

  test('never sends a request timed out while held, nor its cancellation', () => {
    const { send, open, frames, clock } = startCorrelation();
    const { ending } = send();
    clock.increment(1000);
    open();
    expect([ending(), frames()]).toEqual(['REQUEST_TIMEOUT', []]);
  });

  test('counts held requests towards maxPending', () => {
    const { send } = startCorrelation({ maxPending: 1 });
    send();
    expect(send().ending()).toBe('LIMIT_EXCEEDED');
  });
});

describe('cancellation', () => {
  test('settles the request and notifies the client, once', () => {
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

  test('ignores requests that were never sent or are answered', () => {
    const { send, cancel, answer, open, wire, names } = startCorrelation();
    open();
    cancel(clientRequest().request);
    const { request, outcomes } = send();
    answer(request.ticket?.id);
    cancel(request);
    expect(outcomes).toHaveLength(1);
    expect([wire(), names()]).toEqual([['roots/list'], []]);
  });

  test('by the client ends our request without a reply', () => {
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
    'by the client of an unknown request is reported: %j',
    (id) => {
      const { remoteCancel, open, names } = startCorrelation();
      open();
      remoteCancel(id);
      expect(names()).toEqual(['cancellation.ignored']);
    },
  );
});

describe('correlation after the gate closes', () => {
  test('fails all pending requests with the reason, and sends nothing to the client', () => {
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

  test('rejects new requests at once and starts no timer', () => {
    const { send, open, close, frames, pending, clock } = startCorrelation();
    open();
    close();
    expect(send().ending()).toBe('TRANSPORT_CLOSED');
    expect([frames(), pending(), clock.timers]).toEqual([[], 0, 0]);
  });

  test('treats a later answer as late', () => {
    const { send, open, close, answer, names } = startCorrelation();
    open();
    const { request, outcomes } = send();
    close();
    answer(request.ticket?.id);
    expect(outcomes).toHaveLength(1);
    expect(names()).toEqual(['response.late']);
  });

  test('behaves the same when the actor is stopped', () => {
    const { actor, send, open, clock } = startCorrelation();
    open();
    const { outcomes } = send();
    actor.stop();
    expect(outcomes).toMatchObject([{ ok: false, error: { code: 'TRANSPORT_CLOSED' } }]);
    expect(clock.timers).toBe(0);
  });
});

test('settles each request exactly once and leaves no timer, whatever happens', () => {
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
