import { initialized, request, toolCall } from 'mcp-actors/testing';
import { expect, test } from 'vitest';
import { asking } from '../contract/asking.ts';
import { eachTransport, eachTransportAndHttp, everywhere } from '../contract/everywhere.ts';
import { echo, initialize, operate, operateWarm, serve } from '../contract/serving.ts';
import type { ServingOptions, Serving } from '../contract/serving.ts';

const limits = { keepaliveIntervalMs: 30_000, keepaliveTimeoutMs: 10_000, keepaliveFailures: 3 };

/** Lets time pass step by step, as a real clock would. */
async function wait({ clock, peer }: Pick<Serving, 'clock' | 'peer'>, ms: number) {
  const before = peer.received.length;
  clock.increment(ms);
  await settled();
  return peer.received.slice(before);
}

/** Every promise that was ready has run; unlike `peer.quiet`, nothing is sent, so the session hears nothing. */
async function settled() {
  for (let n = 0; n < 50; n++) await Promise.resolve();
  await new Promise((resolve) => setImmediate(resolve));
}

everywhere('ping', eachTransportAndHttp, (combination) => {
  test('ping accepts any response of the client [PING-02]', async () => {
    const { peer, session, clock } = await operate({}, combination);
    const first = session.ping();
    const asked = await peer.request('ping');
    expect(asked).not.toHaveProperty('params');
    clock.increment(7);
    peer.answer(asked, {});
    expect(await first).toBe(7);
    const second = session.ping();
    peer.refuse(await peer.request('ping'), { code: -32601, message: 'Method not found' });
    expect(await second).toBe(0);
  });

  test.each([NaN, 0, -1])(
    'ping rejects timeoutMs %s without affecting other deadlines',
    async (timeoutMs) => {
      const { peer, session, clock } = await operate({}, combination);
      await expect(session.ping({ timeoutMs })).rejects.toThrow(
        `timeoutMs must be a positive number of milliseconds, got ${timeoutMs}`,
      );
      const first = expect(session.ping({ timeoutMs: 100 })).rejects.toThrow('within 100 ms');
      await peer.request('ping');
      clock.increment(100);
      await first;
      const second = expect(session.ping({ timeoutMs: 200 })).rejects.toThrow('within 200 ms');
      await peer.request('ping');
      clock.increment(200);
      await second;
    },
  );

  test('ping without a response fails and is reported [PING-03]', async () => {
    const { peer, session, clock, facts } = await operate({}, combination);
    const pinged = session.ping({ timeoutMs: 50 }).catch((error: unknown) => error);
    const { id } = await peer.request('ping');
    clock.increment(50);
    expect(await pinged).toMatchObject({ code: 'REQUEST_TIMEOUT' });
    expect((await peer.notification('notifications/cancelled')).params?.['requestId']).toBe(id);
    expect(await facts.next('request.timedOut')).toMatchObject({ level: 'warning' });
  });

  test('unanswered keepalive pings end the session [PING-05]', async () => {
    const serving = await operate({}, { ...combination, limits });
    const { peer, session } = serving;
    for (let n = 1; n <= 3; n++) {
      await wait(serving, 30_000);
      expect(peer.count('ping')).toBe(n);
      await wait(serving, 10_000);
    }
    expect(await session.closed).toEqual({ kind: 'unresponsive', failures: 3 });
  });
});

everywhere('a session’s ping', eachTransportAndHttp, () => {
  test('ping fails after the end of the session and when cancelled [PING-03]', async () => {
    const { peer, session } = await operate({});
    const abort = new AbortController();
    const pinged = session.ping({ signal: abort.signal }).catch((error: unknown) => error);
    await peer.request('ping');
    abort.abort(new Error('enough'));
    expect(await pinged).toMatchObject({ code: 'CANCELLED' });
    await session[Symbol.asyncDispose]();
    await expect(session.ping()).rejects.toMatchObject({ code: 'TRANSPORT_CLOSED' });
  });

  test('ping is exempt from maxPending [PING-04]', async () => {
    const { ask, errors } = asking();
    const { peer, session } = await operateWarm({ tools: [ask] }, { limits: { maxPending: 1 } });
    peer.send(toolCall(1, 'ask', { method: 'custom/question' }));
    const asked = await peer.request('custom/question');
    const pinged = session.ping();
    peer.answer(await peer.request('ping'), {});
    await pinged;
    peer.answer(asked, {});
    await peer.response(1);
    expect(errors).toEqual([]);
  });
});

// Over HTTP nothing is taken before a session, and there is none yet that could ping.
everywhere('a ping before operation', eachTransport, (combination) => {
  test('ping of the client is answered in every state [PING-01]', async () => {
    const { peer } = serve({ tools: [echo] }, combination);
    const pinged = async () => expect(await peer.ask('ping')).toEqual({});
    await pinged();
    peer.send(initialize(1, { protocolVersion: combination.revision }));
    await pinged();
    peer.send(initialized);
    await pinged();
    peer.send(request('a', 'ping'), request(2, 'ping', {}), request('', 'ping', { _meta: {} }));
    for (const id of ['a', 2, '']) expect((await peer.response(id)).result).toEqual({});
  });

  test('ping waits until the client is initialized [LIFE-06]', async () => {
    const { peer, session } = serve({});
    const pinged = session.ping();
    peer.send(initialize(1));
    await peer.response(1);
    expect(peer.count('ping')).toBe(0);
    peer.send(initialized);
    peer.answer(await peer.request('ping'), {});
    await pinged;
  });
});

everywhere('a keepalive', eachTransportAndHttp, () => {
  const start = (options: ServingOptions = {}) =>
    operate({ tools: [echo] }, { limits, ...options });

  test('keepalive is off by default [PING-06]', async () => {
    const serving = await operate({});
    await wait(serving, 24 * 3_600_000);
    expect(serving.peer.count('ping')).toBe(0);
    expect(serving.session.actor.getSnapshot().children.keepalive).toBeUndefined();
  });

  test('keepalive pings an idle client repeatedly [PING-05]', async () => {
    const serving = await start();
    const { peer, session } = serving;
    for (let n = 1; n <= 20; n++) {
      await wait(serving, 29_999);
      expect(peer.count('ping')).toBe(n - 1);
      await wait(serving, 1);
      peer.answer(await peer.request('ping'), {});
      await settled();
    }
    expect(session.state).toBe('rootsKnown');
  });

  test('keepalive measures idle time from the last message [PING-06]', async () => {
    const serving = await start();
    const { peer } = serving;
    for (let n = 0; n < 100; n++) {
      await wait(serving, 20_000);
      await peer.call('echo');
    }
    expect(peer.count('ping')).toBe(0);
    await wait(serving, 29_999);
    expect(peer.count('ping')).toBe(0);
    await wait(serving, 1);
    expect(peer.count('ping')).toBe(1);
  });

  test('keepalive resets its failure count on any message [PING-05]', async () => {
    const serving = await start();
    const { peer, session } = serving;
    const silence = async () => {
      await wait(serving, 30_000);
      await wait(serving, 10_000);
    };
    await silence();
    await silence();
    await wait(serving, 30_000);
    peer.refuse(
      await peer
        .request('ping')
        .then(() => peer.request('ping'))
        .then(() => peer.request('ping')),
      {
        code: -32601,
        message: 'Method not found',
      },
    );
    await settled();
    await silence();
    await silence();
    expect(session.state).toBe('rootsKnown');
    await silence();
    expect(await session.closed).toEqual({ kind: 'unresponsive', failures: 3 });
  });

  test('keepalive keeps a client that sends anything while a ping is pending [PING-05]', async () => {
    const serving = await start({ limits: { ...limits, keepaliveFailures: 1 } });
    const { peer, session } = serving;
    await wait(serving, 30_000);
    await peer.request('ping');
    await wait(serving, 5000);
    await peer.call('echo');
    await wait(serving, 5000);
    expect(session.state).toBe('rootsKnown');
    // It was last heard five seconds ago, so it may be quiet for twenty-five more.
    await wait(serving, 24_999);
    expect(peer.count('ping')).toBe(1);
    await wait(serving, 1);
    expect(peer.count('ping')).toBe(2);
    await wait(serving, 10_000);
    expect((await session.closed).kind).toBe('unresponsive');
  });

  test('keepalive starts when the session is in operation [PING-06] [LIFE-06]', async () => {
    const serving = serve({}, { limits });
    serving.peer.send(initialize(1));
    await serving.peer.response(1);
    await wait(serving, 3_600_000);
    expect(serving.peer.count('ping')).toBe(0);
    expect(serving.session.state).toBe('negotiated');
  });
});

// Over HTTP the endpoint has a timer of its own, which ends with the endpoint.
everywhere('a keepalive', eachTransport, () => {
  test('keepalive and its pending ping end with the session [PING-05]', async () => {
    const serving = await operate({}, { limits });
    await wait(serving, 30_000);
    expect(serving.peer.count('ping')).toBe(1);
    await serving.session[Symbol.asyncDispose]();
    expect(serving.clock.liveTimers).toBe(0);
    expect((await serving.session.closed).kind).toBe('shutdown');
  });
});
