import { cancelled, gate, request, toolCall, flush } from 'mcp-actors/testing';
import { expect, test } from 'vitest';
import { asking } from './asking.ts';
import { eachByteTransport, everywhere } from './everywhere.ts';
import { operate, operateWarm, serve, textOf, tool } from './serving.ts';

everywhere('the end of the input', eachByteTransport, (combination) => {
  test('answers running requests [LIFE-15]', async () => {
    const door = gate();
    const hold = tool('hold', async () => {
      await door.pass();
      return 'held';
    });
    const { peer, session } = await operateWarm({ tools: [hold] }, combination);
    peer.send(toolCall(1, 'hold'));
    await door.arrived();
    peer.end();
    await flush();
    expect(session.actor.getSnapshot().matches('draining')).toBe(true);
    door.release();
    expect(textOf((await peer.response(1)).result)).toBe('held');
    expect(await session.closed).toEqual({ kind: 'input-ended' });
  });

  test('starts and answers queued requests [LIFE-15]', async () => {
    const door = gate();
    const hold = tool('hold', async ({ n }) => {
      await door.pass();
      return String(n);
    });
    const { peer, session } = await operateWarm(
      { tools: [hold] },
      { ...combination, limits: { maxRunning: 1 } },
    );
    peer.send(...[1, 2, 3].map((n) => toolCall(n, 'hold', { n })));
    peer.end();
    await door.arrived();
    door.release();
    for (const n of [1, 2, 3]) expect(textOf((await peer.response(n)).result)).toBe(`${n}`);
    await session.closed;
  });

  test('answers all requests if the input ends right behind them [LIFE-15] [BASE-08]', async () => {
    const { peer, session } = await operate(
      { tools: [tool('late', async ({ n }) => await Promise.resolve(String(n)))] },
      combination,
    );
    peer.send(...[1, 2, 3].map((n) => toolCall(n, 'late', { n })));
    peer.end();
    for (const n of [1, 2, 3]) expect(textOf((await peer.response(n)).result)).toBe(`${n}`);
    await session.closed;
  });

  test('fails our pending requests at once, since no answer can arrive [CORR-05] [LIFE-15]', async () => {
    const { ask, errors } = asking();
    const { peer, session } = await operateWarm({ tools: [ask] }, combination);
    peer.send(toolCall(1, 'ask', { method: 'custom/question' }));
    await peer.request('custom/question');
    peer.end();
    expect(textOf((await peer.response(1)).result)).toContain('TRANSPORT_CLOSED');
    expect(errors).toMatchObject([{ code: 'TRANSPORT_CLOSED' }]);
    await session.closed;
    expect(peer.count('notifications/cancelled')).toBe(0);
  });

  test('aborts a hanging handler at the drain deadline and answers with an error [LIFE-16]', async () => {
    const reasons: unknown[] = [];
    const hang = tool('hang', (_, { signal }) => {
      signal.addEventListener('abort', () => reasons.push(signal.reason));
      return new Promise(() => {});
    });
    const { peer, session, clock } = await operateWarm({ tools: [hang] }, combination);
    peer.send(toolCall(1, 'hang'));
    await peer.quiet();
    peer.end();
    await flush();
    clock.increment(1000);
    await flush();
    expect(reasons).toEqual([]);
    clock.increment(1000);
    const { code, data } = await peer.error(1);
    expect(code).toBe(-32000);
    expect(data).toEqual({ reason: 'shutting-down', retryable: false });
    expect(reasons).toMatchObject([{ code: 'TRANSPORT_CLOSED' }]);
    expect(await session.closed).toEqual({ kind: 'input-ended' });
  });
});

test('gives a handler time to clean up before the drain deadline [LIFE-16]', async () => {
  const cleanUp = gate();
  const cleans = tool('cleans', async (_, { signal }) => {
    await gate()
      .pass(signal)
      .catch(() => cleanUp.pass());
  });
  const { peer, session, clock } = await operateWarm({ tools: [cleans] });
  peer.send(toolCall(1, 'cleans'));
  await peer.quiet();
  peer.end();
  await flush();
  clock.increment(1900);
  await cleanUp.arrived();
  expect((await peer.error(1)).code).toBe(-32000);
  expect(session.actor.getSnapshot().status).toBe('active');
  cleanUp.release();
  expect(await session.closed).toEqual({ kind: 'input-ended' });
  expect(peer.received.filter((frame) => (frame as { id?: unknown }).id === 1)).toHaveLength(1);
});

everywhere('a draining session', eachByteTransport, () => {
  /** A draining session, kept open by a handler. */
  const draining = async () => {
    const door = gate();
    const { ask, errors } = asking();
    const hold = tool('hold', async (_, context) => {
      await door.pass();
      const late = await context.request('custom/question').catch((error: unknown) => error);
      return String((late as { readonly code?: string }).code);
    });
    const serving = await operateWarm({ tools: [hold, ask] });
    serving.peer.send(toolCall('held', 'hold'));
    await door.arrived();
    serving.session.shutdown('enough');
    return { ...serving, door, errors };
  };

  test('answers ping, and rejects new requests with a code of their own [LIFE-17]', async () => {
    const { peer, door, session } = await draining();
    peer.send(toolCall(1, 'echo'), request(2, 'ping'));
    expect((await peer.response(2)).result).toEqual({});
    const { code, data } = await peer.error(1);
    expect(code).toBe(-32000);
    expect(data).toEqual({ reason: 'shutting-down', retryable: false });
    door.release();
    await peer.response('held');
    expect(await session.closed).toEqual({ kind: 'shutdown', reason: 'enough' });
  });

  test('rejects requests of handlers at once [CORR-05]', async () => {
    const { peer, door, session } = await draining();
    door.release();
    expect(textOf((await peer.response('held')).result)).toBe('TRANSPORT_CLOSED');
    await session.closed;
    expect(peer.count('custom/question')).toBe(0);
  });

  test('accepts a cancellation, and ends the session if it was the last request [CANCEL-01] [LIFE-15]', async () => {
    const hold = tool('hold', (_, { signal }) => gate().pass(signal));
    const { peer, session } = await operateWarm({ tools: [hold] });
    peer.send(toolCall(1, 'hold'));
    await peer.quiet();
    session.shutdown('enough');
    peer.send(cancelled(1));
    expect(await session.closed).toEqual({ kind: 'shutdown', reason: 'enough' });
    expect(peer.received.some((frame) => (frame as { id?: unknown }).id === 1)).toBe(false);
  });

  test('ignores another end of input and another shutdown [LIFE-19]', async () => {
    const { peer, door, session } = await draining();
    session.shutdown('again');
    peer.end();
    await flush();
    door.release();
    await peer.response('held');
    expect(await session.closed).toEqual({ kind: 'shutdown', reason: 'enough' });
  });

  test('rejects initialize like any other request [LIFE-17]', async () => {
    const { peer, door, session } = await draining();
    await expect(peer.handshake()).rejects.toMatchObject({ error: { code: -32000 } });
    door.release();
    await session.closed;
  });
});

everywhere('closing a session', eachByteTransport, () => {
  test('ends at once if nothing is running, at any point of its life [LIFE-15]', async () => {
    const uninitialized = serve({});
    uninitialized.peer.end();
    expect(await uninitialized.session.closed).toEqual({ kind: 'input-ended' });

    const silentAboutRoots = await operate({}, { capabilities: { roots: {} } });
    await silentAboutRoots.peer.request('roots/list');
    silentAboutRoots.peer.end();
    expect(await silentAboutRoots.session.closed).toEqual({ kind: 'input-ended' });
    expect(silentAboutRoots.clock.liveTimers).toBe(0);
  });

  test('ends with the reason given by the embedding program [LIFE-19]', async () => {
    const abort = new AbortController();
    const { session } = serve({}, { signal: abort.signal });
    abort.abort('the host is closing');
    expect(await session.closed).toEqual({ kind: 'shutdown', reason: 'the host is closing' });
  });

  test('ends before it starts if the signal has already fired [LIFE-19]', async () => {
    const { session } = serve({}, { signal: AbortSignal.abort('too late') });
    expect(await session.closed).toEqual({ kind: 'shutdown', reason: 'too late' });
  });

  test('ends when disposed [LIFE-15]', async () => {
    const { session, peer } = await operateWarm({});
    await session[Symbol.asyncDispose]();
    expect(await session.closed).toEqual({ kind: 'shutdown', reason: 'disposed' });
    await expect(peer.request('roots/list')).rejects.toThrow('the session has ended (shutdown)');
  });
});

everywhere('the end of the input', eachByteTransport, () => {
  test('rejects handlers waiting for roots [CORR-05] [ROOTS-16]', async () => {
    const wait = tool('wait', async (_, context) => JSON.stringify(await context.roots()));
    const { peer, session } = await operateWarm({ tools: [wait] }, { capabilities: { roots: {} } });
    peer.send(toolCall(1, 'wait'));
    await peer.quiet();
    peer.end();
    const answer = await peer.response(1);
    expect(answer.result ?? answer.error).toBeDefined();
    await session.closed;
  });
});
