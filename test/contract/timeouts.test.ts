import { gate, initialized, progressed, toolCall } from 'mcp-actors/testing';
import { expect, test } from 'vitest';
import { asking } from './asking.ts';
import { eachTransport, eachTransportAndHttp, everywhere } from './everywhere.ts';
import { echo, initialize, operateWarm, serve, tool } from './serving.ts';

const method = 'custom/question';
const question = (id: number, options: object = {}) => toolCall(id, 'ask', { method, options });

everywhere('timeouts', eachTransportAndHttp, (combination) => {
  test('cancels an unanswered request on the wire and fails it [LIFE-13]', async () => {
    const { ask, errors } = asking();
    const { peer, clock, facts } = await operateWarm({ tools: [ask] }, combination);
    peer.send(question(1, { timeoutMs: 1000 }));
    const { id } = await peer.request(method);
    clock.increment(999);
    await peer.quiet();
    expect(peer.count('notifications/cancelled')).toBe(0);
    clock.increment(1);
    const { params } = await peer.notification('notifications/cancelled');
    expect(params?.['requestId']).toBe(id);
    expect((await peer.response(1)).result?.['isError']).toBe(true);
    expect(errors).toMatchObject([{ code: 'REQUEST_TIMEOUT' }]);
    await facts.next('request.timedOut');
    await peer.quiet();
    expect(peer.count('notifications/cancelled')).toBe(1);
  });

  test('restarts the timeout on progress, up to the hard limit [LIFE-14]', async () => {
    const { ask, errors, progress } = asking();
    const { peer, clock } = await operateWarm({ tools: [ask] }, combination);
    peer.send(question(1, { timeoutMs: 1000, maxTotalMs: 2500, progress: true }));
    const { id, params } = await peer.request(method);
    const meta = params?.['_meta'] as { readonly progressToken: unknown } | undefined;
    const token = meta?.progressToken;
    expect(token).toBe(id);
    for (const step of [1, 2]) {
      clock.increment(900);
      peer.send(progressed(token, step));
      await peer.quiet();
    }
    expect(progress).toEqual([{ progress: 1 }, { progress: 2 }]);
    expect(errors).toEqual([]);
    clock.increment(600);
    peer.send(progressed(token, 3));
    await peer.quiet();
    expect(errors).toEqual([]);
    clock.increment(100);
    await peer.notification('notifications/cancelled');
    expect((await peer.response(1)).result?.['isError']).toBe(true);
    expect(errors).toMatchObject([{ code: 'REQUEST_TIMEOUT' }]);
  });
});

everywhere('timeouts', eachTransportAndHttp, () => {
  const asked: readonly [method: string, timeoutMs: number][] = [
    ['custom/question', 60_000],
    ['sampling/createMessage', 600_000],
    ['elicitation/create', 600_000],
  ];

  test.each(asked)('defaults the limits of %s to %d ms [LIFE-13]', async (asked, timeoutMs) => {
    const { ask, errors } = asking();
    const params = {
      'sampling/createMessage': { messages: [], maxTokens: 1 },
      'elicitation/create': {
        message: 'Well?',
        requestedSchema: { type: 'object', properties: {} },
      },
    }[asked];
    const { peer, clock } = await operateWarm(
      { tools: [ask] },
      { capabilities: { sampling: {}, elicitation: {}, roots: {} } },
    );
    peer.answer(await peer.request('roots/list'), { roots: [] });
    peer.send(toolCall(1, 'ask', { method: asked, params }));
    await peer.request(asked);
    clock.increment(timeoutMs - 1);
    await peer.quiet();
    expect(errors).toEqual([]);
    clock.increment(1);
    await peer.response(1);
    expect(errors).toMatchObject([{ code: 'REQUEST_TIMEOUT' }]);
  });

  test('ends requests with different timeouts each in time [LIFE-13]', async () => {
    const { ask, errors } = asking();
    const { peer, clock } = await operateWarm({ tools: [ask] });
    peer.send(question(1, { timeoutMs: 3000 }), question(2, { timeoutMs: 1000 }));
    peer.send(question(3, { timeoutMs: 2000 }), question(4, { timeoutMs: 1000 }));
    for (let n = 0; n < 4; n++) await peer.request(method);
    for (const [ms, ended] of [
      [1000, [2, 4]],
      [1000, [3]],
      [1000, [1]],
    ] as const) {
      clock.increment(ms);
      for (const id of ended) await peer.response(id);
    }
    expect(errors).toHaveLength(4);
  });

  test('leaves no timer and cancels nothing for requests answered in time [LIFE-13]', async () => {
    const { ask } = asking();
    const { peer, clock } = await operateWarm({ tools: [ask] });
    peer.send(question(1));
    peer.answer(await peer.request(method), {});
    await peer.response(1);
    clock.increment(3_600_000);
    await peer.quiet();
    expect(peer.count('notifications/cancelled')).toBe(0);
  });

  test('allows a request answered by a person without a time limit [LIFE-14]', async () => {
    const { ask, errors } = asking();
    const { peer, clock } = await operateWarm({ tools: [ask] });
    const forever = Number.MAX_SAFE_INTEGER;
    peer.send(question(1, { timeoutMs: forever, maxTotalMs: forever }));
    const asked = await peer.request(method);
    clock.increment(1e12);
    await peer.quiet();
    expect(errors).toEqual([]);
    peer.answer(asked, {});
    await peer.response(1);
  });
});

everywhere('progress of our requests', eachTransportAndHttp, () => {
  test('drops progress that is malformed or has an unknown token [PROGRESS-04]', async () => {
    const { ask, errors, progress } = asking();
    const { peer, clock } = await operateWarm({ tools: [ask] });
    peer.send(question(1, { timeoutMs: 1000, progress: true }));
    const { id } = await peer.request(method);
    clock.increment(900);
    const before = peer.received.length;
    peer.send(progressed('unknown', 1), progressed(null, 1), progressed(id, '1' as never));
    peer.send({ jsonrpc: '2.0', method: 'notifications/progress' });
    await peer.quiet();
    expect(peer.received).toHaveLength(before + 1);
    clock.increment(100);
    await peer.response(1);
    expect(progress).toEqual([]);
    expect(errors).toMatchObject([{ code: 'REQUEST_TIMEOUT' }]);
  });

  test('does not extend the timeout by progress that was not requested [PROGRESS-04] [LIFE-14]', async () => {
    const { ask, errors } = asking();
    const { peer, clock } = await operateWarm({ tools: [ask] });
    peer.send(question(1, { timeoutMs: 1000 }));
    const { id } = await peer.request(method);
    clock.increment(900);
    peer.send(progressed(id, 1));
    await peer.quiet();
    clock.increment(100);
    await peer.response(1);
    expect(errors).toMatchObject([{ code: 'REQUEST_TIMEOUT' }]);
  });

  test('ignores progress after the end [PROGRESS-04]', async () => {
    const { ask, progress } = asking();
    const { peer } = await operateWarm({ tools: [ask] });
    peer.send(question(1, { progress: true }));
    const asked = await peer.request(method);
    peer.answer(asked, {});
    peer.send(progressed(asked.id, 1));
    await peer.response(1);
    await peer.quiet();
    expect(progress).toEqual([]);
  });

  test('fails only its own request if a progress listener throws [FLOW-04]', async () => {
    const door = gate();
    const careless = tool('careless', async (_, context) => {
      const onProgress = () => {
        throw new Error('a bug');
      };
      await context.request(method, {}, { onProgress }).catch(() => 'failed');
      door.release();
      return 'survived';
    });
    const { peer } = await operateWarm({ tools: [careless] });
    peer.send(toolCall(1, 'careless'));
    const { id } = await peer.request(method);
    peer.send(progressed(id, 1));
    await door.pass();
    await peer.response(1);
    await peer.quiet();
  });
});

// Over HTTP no call is accepted together with `initialize`, because the session has not started.
everywhere('timeouts', eachTransport, () => {
  test('sends neither request nor cancellation before initialized [LIFE-13] [LIFE-06]', async () => {
    const { ask, errors } = asking();
    const { peer, clock } = serve({ tools: [echo, ask] });
    peer.send(initialize(1));
    await peer.call('echo');
    peer.send(question(2, { timeoutMs: 10 }));
    await peer.quiet();
    clock.increment(10);
    await peer.response(2);
    expect(errors).toMatchObject([{ code: 'REQUEST_TIMEOUT' }]);
    peer.send(initialized);
    await peer.quiet();
    expect(peer.count(method)).toBe(0);
    expect(peer.count('notifications/cancelled')).toBe(0);
  });
});
