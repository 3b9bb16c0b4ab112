import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { RuntimeError } from '../../src/protocol/errors.ts';
import { deliver, reject, startHostCorrelation } from './host-requests.ts';

describe('correlation without a channel', () => {
  test('holds requests until a channel opens, and sends them in order', () => {
    const { send, channel, open, wire } = startHostCorrelation();
    send('a');
    send('b');
    channel();
    expect(wire()).toEqual([]);
    open();
    expect(wire()).toEqual(['1 a', '1 b']);
  });

  test('lets held requests time out', () => {
    const { send, clock, connect, wire } = startHostCorrelation();
    const { outcomes } = send('tools/call');
    clock.increment(1000);
    connect();
    expect(outcomes).toMatchObject([
      {
        ok: false,
        error: {
          code: 'REQUEST_TIMEOUT',
          message: 'tools/call was not sent: the server was not connected within 1000 ms',
        },
      },
    ]);
    expect(wire()).toEqual([]);
  });

  test('rejects a request with whenAway refuse at once', () => {
    const { send, channel } = startHostCorrelation();
    expect(send('a', { whenAway: 'refuse' }).ending()).toBe('NOT_READY');
    channel();
    expect(send('a', { whenAway: 'refuse' }).ending()).toBe('NOT_READY');
  });

  test('limits held requests, without counting sent ones', () => {
    const { send, connect, lose, sent } = startHostCorrelation({ maxWaitingAway: 2 });
    connect();
    for (const method of ['a', 'b', 'c']) expect(send(method).ending()).toBeUndefined();
    lose();
    expect([send('d'), send('e'), send('f')].map(({ ending }) => ending())).toEqual([
      undefined,
      undefined,
      'LIMIT_EXCEEDED',
    ]);
    connect();
    expect(sent.map(({ method }) => method)).toEqual(['a', 'b', 'c', 'd', 'e']);
  });

  test('ignores the opening of the gate', () => {
    const { send, open, wire, connect } = startHostCorrelation();
    send('a');
    open();
    expect(wire()).toEqual([]);
    connect();
    expect(wire()).toEqual(['1 a']);
  });
});

describe('correlation of a host that disconnects', () => {
  test('cancels each sent request at the server, and no other', () => {
    const { send, channel, leave, sent } = startHostCorrelation();
    channel();
    const greeting = send('initialize', { isHandshake: true });
    const held = send('held');
    leave();
    expect([greeting.ending(), held.ending()]).toEqual(['CLOSED', 'CLOSED']);
    expect(sent.map(({ method }) => method)).toEqual(['initialize']);
    const other = startHostCorrelation();
    other.connect();
    const [a, b] = [other.send('a'), other.send('b')];
    other.answer(a.request.ticket?.id);
    other.leave();
    expect(b.ending()).toBe('CLOSED');
    expect(other.sent.slice(2)).toMatchObject([
      {
        method: 'notifications/cancelled',
        params: { requestId: b.request.ticket?.id, reason: 'The host has closed it' },
      },
    ]);
  });
});

describe('the handshake in correlation', () => {
  const handshake = { isHandshake: true } as const;

  test('passes the gate, whether requested before the channel opens or after', () => {
    const { send, channel, open, wire } = startHostCorrelation();
    send('a');
    send('server/discover', handshake);
    channel();
    send('initialize', handshake);
    expect(wire()).toEqual(['1 server/discover', '1 initialize']);
    open();
    expect(wire()).toEqual(['1 server/discover', '1 initialize', '1 a']);
  });

  test('is never cancelled on the wire, neither by a signal nor by a timeout [HOST-21]', () => {
    const { send, channel, cancel, clock, wire } = startHostCorrelation();
    channel();
    const probe = send('server/discover', handshake);
    const greeting = send('initialize', handshake);
    cancel(probe.request);
    clock.increment(1000);
    expect([probe.ending(), greeting.ending()]).toEqual(['CANCELLED', 'REQUEST_TIMEOUT']);
    expect(wire()).toEqual(['1 server/discover', '1 initialize']);
  });

  test('can repeat over the same channel: sent requests stay sent, new ones are held', () => {
    const { send, connect, hold, open, answer, wire } = startHostCorrelation();
    connect();
    const before = send('a');
    hold();
    const after = send('b');
    send('initialize', handshake);
    expect(wire()).toEqual(['1 a', '1 initialize']);
    answer(before.request.ticket?.id);
    expect(before.ending()).toBe('ok');
    open();
    expect(wire()).toEqual(['1 a', '1 initialize', '1 b']);
    expect(after.ending()).toBeUndefined();
  });
});

describe('a lost channel', () => {
  test('fails the requests sent over it, with the exit of the process', () => {
    const { send, connect, lose } = startHostCorrelation();
    connect();
    const { outcomes } = send();
    const exit = { code: 1, signal: null, stderr: 'out of memory' };
    lose(new RuntimeError('CLOSED', 'The server has ended with code 1', { exit }));
    expect(outcomes).toMatchObject([
      {
        ok: false,
        error: { code: 'CLOSED', exit, request: { method: 'tools/call', id: 1 } },
      },
    ]);
  });

  test('keeps held requests for the next channel', () => {
    const { send, connect, channel, lose, wire } = startHostCorrelation();
    channel();
    const held = send('a');
    lose();
    expect(held.ending()).toBeUndefined();
    connect();
    expect(wire()).toEqual(['2 a']);
  });

  test('sends no cancellations', () => {
    const { send, connect, lose, cancel, clock, wire } = startHostCorrelation();
    connect();
    send('a');
    lose();
    cancel(send('b').request);
    send('c');
    clock.increment(1000);
    connect();
    expect(wire()).toEqual(['1 a']);
  });

  test('reuses no id, and reports answers over the next channel as late', () => {
    const { send, connect, lose, answer, sent, heard } = startHostCorrelation();
    connect();
    send('a');
    lose();
    connect();
    const { ending } = send('b');
    expect(sent.map(({ id }) => id)).toEqual([1, 2]);
    answer(1);
    answer('02');
    expect(ending()).toBeUndefined();
    expect(heard.map(({ name }) => name)).toEqual([
      'request.sent',
      'request.sent',
      'response.late',
      'response.unknown',
    ]);
  });

  test('cannot reject requests sent over the next channel', () => {
    const { send, connect, lose, sent } = startHostCorrelation();
    connect();
    send('a');
    lose();
    connect();
    const { ending } = send('b');
    const [first] = sent;
    reject(first, new RuntimeError('CLOSED', 'cut'));
    expect(ending()).toBeUndefined();
  });
});

describe('a failed connection', () => {
  test('rejects held and new requests at once, with its reason', () => {
    const { send, close } = startHostCorrelation();
    const waiting = send('a');
    close(new RuntimeError('SPAWN_FAILED', 'Command "servr" not found'));
    const later = send('b');
    for (const { outcomes } of [waiting, later]) {
      expect(outcomes).toMatchObject([
        { ok: false, error: { code: 'SPAWN_FAILED', message: 'Command "servr" not found' } },
      ]);
    }
  });

  test('accepts requests again after it is reopened', () => {
    const { send, close, lose, connect, wire } = startHostCorrelation();
    close();
    lose();
    const { ending } = send('a');
    connect();
    expect([ending(), wire()]).toEqual([undefined, ['1 a']]);
  });
});

describe('a request that the channel rejects', () => {
  test("fails alone, at any time, with the channel's own error", () => {
    const { send, connect, sent, clock } = startHostCorrelation();
    connect();
    const [cut, other] = [send('a'), send('b')];
    clock.increment(500);
    const [sending] = sent;
    const error = new RuntimeError('HTTP_STATUS', 'The server answered with 503', { status: 503 });
    reject(sending, error);
    reject(sending, error);
    expect(cut.outcomes).toMatchObject([
      { ok: false, error: { code: 'HTTP_STATUS', status: 503, request: { id: 1 }, cause: error } },
    ]);
    expect(other.ending()).toBeUndefined();
  });
});

describe('a request whose answer is too long', () => {
  test('fails with LIMIT_EXCEEDED and is no longer pending', () => {
    const { send, connect, actor, pending } = startHostCorrelation();
    connect();
    const { outcomes } = send();
    const outcome = { ok: false, tooLong: 'the message is longer than 9 bytes' } as const;
    actor.send({
      type: 'responses.received',
      responses: [{ kind: 'response', id: 1 as never, outcome }],
    });
    expect(outcomes).toMatchObject([
      { error: { code: 'LIMIT_EXCEEDED', message: expect.stringContaining('9 bytes') as string } },
    ]);
    expect(pending()).toEqual([]);
  });
});

describe('requests returned unserved by an ended session', () => {
  test('are held ahead of the others until the server is initialized, then sent again', () => {
    const { send, connect, hold, giveBack, open, sent, wire, answer } = startHostCorrelation();
    connect();
    const [first, second] = [send('a'), send('b')];
    hold();
    send('c');
    giveBack(2);
    giveBack(1);
    expect(wire()).toEqual(['1 a', '1 b']);
    open();
    expect(wire().slice(2)).toEqual(['1 a', '1 b', '1 c']);
    const again = sent.slice(2).map(({ id }) => id);
    expect(new Set([1, 2, ...again]).size).toBe(5);
    for (const id of again) answer(id);
    expect([first.ending(), second.ending()]).toEqual(['ok', 'ok']);
  });

  test('get their progress under the new id', () => {
    const { send, connect, giveBack, open, sent } = startHostCorrelation();
    connect();
    send('a', { onProgress: () => {} });
    giveBack(1);
    open();
    expect(sent.map(({ id, params }) => [id, params])).toEqual([
      [1, { _meta: { progressToken: 1 } }],
      [2, { _meta: { progressToken: 2 } }],
    ]);
  });

  test("fail with the session's error if returned a second time", () => {
    const { send, connect, giveBack, open, wire, sent } = startHostCorrelation();
    connect();
    const { outcomes } = send('a');
    giveBack(1);
    open();
    giveBack(sent[1]?.id);
    open();
    expect(outcomes).toMatchObject([{ ok: false, error: { code: 'HTTP_STATUS', status: 404 } }]);
    expect(wire()).toEqual(['1 a', '1 a']);
  });

  test('keep their original deadline', () => {
    const { send, connect, giveBack, open, clock, wire } = startHostCorrelation();
    connect();
    const { ending } = send('a');
    clock.increment(600);
    giveBack(1);
    clock.increment(400);
    expect(ending()).toBe('REQUEST_TIMEOUT');
    open();
    expect(wire()).toEqual(['1 a']);
  });

  test('are cancelled silently while held', () => {
    const { send, connect, giveBack, open, cancel, wire } = startHostCorrelation();
    connect();
    const { request, ending } = send('a');
    giveBack(1);
    cancel(request);
    open();
    expect([ending(), wire()]).toEqual(['CANCELLED', ['1 a']]);
  });

  test('exclude the handshake and settled requests', () => {
    const { send, connect, giveBack, answer, open, wire } = startHostCorrelation();
    connect();
    const greeting = send('initialize', { isHandshake: true });
    const answered = send('a');
    answer(2);
    giveBack(1);
    giveBack(2);
    open();
    expect([greeting.ending(), answered.ending()]).toEqual(['HTTP_STATUS', 'ok']);
    expect(wire()).toEqual(['1 initialize', '1 a']);
  });
});

describe('a notification awaited for delivery', () => {
  const delivery = { awaits: 'delivery' } as const;

  test('settles once the transport has accepted it', () => {
    const { send, connect, sent, clock } = startHostCorrelation();
    connect();
    const { ending } = send('notifications/progress', { ...delivery, params: { a: 1 } });
    expect(ending()).toBeUndefined();
    expect(sent).toMatchObject([
      { method: 'notifications/progress', id: undefined, params: { a: 1 } },
    ]);
    deliver(sent[0]);
    deliver(sent[0]);
    expect([ending(), clock.timers]).toEqual(['ok', 1]);
  });

  test('keeps its order among requests', () => {
    const { send, connect, wire } = startHostCorrelation();
    send('a');
    send('notifications/x', delivery);
    send('b');
    connect();
    expect(wire()).toEqual(['1 a', '1 notifications/x', '1 b']);
  });

  test('has a timeout and a signal of its own, and is never cancelled on the wire', () => {
    const { send, connect, sent, cancel, clock, wire } = startHostCorrelation();
    connect();
    const slow = send('notifications/x', delivery);
    const aborted = send('notifications/y', delivery);
    cancel(aborted.request);
    clock.increment(1000);
    expect(slow.outcomes).toMatchObject([
      {
        error: {
          code: 'REQUEST_TIMEOUT',
          message: 'The server has not accepted notifications/x within 1000 ms',
        },
      },
    ]);
    expect(aborted.ending()).toBe('CANCELLED');
    for (const sending of sent) deliver(sending);
    expect(slow.outcomes).toHaveLength(1);
    expect(wire()).toEqual(['1 notifications/x', '1 notifications/y']);
  });

  test('fails with its transport, or if its params are not JSON', () => {
    const { send, connect, lose, sent } = startHostCorrelation();
    connect();
    const lost = send('notifications/x', delivery);
    const unwritable = send('notifications/y', delivery);
    reject(sent[1], new TypeError('cyclic'));
    lose();
    expect([lost.ending(), unwritable.ending()]).toEqual(['CLOSED', 'UNSERIALIZABLE']);
  });
});

test('settles each request once and reuses no id, whatever happens to its channels [HOST-20]', () => {
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
        else if (kind === 'taken') deliver(sending);
        else if (kind === 'reject') reject(sending, new RuntimeError('CLOSED', 'cut'));
        else if (kind === 'connect') host.connect();
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
      // A tool's request is sent at most twice. A handshake request is sent once and never
      // cancelled.
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
