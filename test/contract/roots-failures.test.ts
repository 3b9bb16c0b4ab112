import { cancelled, rootsChanged, toolCall } from 'mcp-actors/testing';
import { expect, test } from 'vitest';
import { list, operateRoots, urisOf, wait } from './roots-serving.ts';
import { eachTransport, eachTransportAndHttp, everywhere } from './everywhere.ts';
import { echo, initialize, serve, textOf } from './serving.ts';

/** Every way a query can fail, and what a person is told. */
const failures: readonly [what: string, answer: object, told: string][] = [
  ['an internal error', { error: { code: -32603, message: 'disk on fire' } }, 'disk on fire'],
  ['an error with data', { error: { code: 7, message: 'no', data: { reason: 'x' } } }, 'error 7'],
  ['an error of the client’s own', { error: { code: 42, message: 'own' } }, 'error 42'],
  ['invalid params', { error: { code: -32602, message: 'params?' } }, 'params?'],
];

/** What cannot be read: the client is asked once more, right away. */
const unreadable: typeof failures = [
  ['a result without roots', { result: {} }, 'roots must be an array'],
  ['roots that are null', { result: { roots: null } }, 'roots must be an array'],
  ['roots that are an object', { result: { roots: {} } }, 'roots must be an array'],
  ['roots that are a text', { result: { roots: 'file:///a' } }, 'roots must be an array'],
];

/** Those that the SDK's own transports over streams drop. */
const malformed: typeof failures = [
  ['neither a result nor an error', {}, 'malformed'],
  ['a result in another version of JSON-RPC', { jsonrpc: '1.0', result: {} }, 'malformed'],
  ['a result and a method that is null', { method: null, result: {} }, 'malformed'],
  ['a malformed error', { error: 'no' }, 'malformed'],
  ['a result that is a list', { result: [{ uri: 'file:///a' }] }, 'malformed'],
  ['a result and an error', { result: { roots: [] }, error: { code: 1, message: '' } }, 'both'],
];

const answerError = (answer: object) => (answer as { readonly error: object }).error;

everywhere('a roots query', eachTransportAndHttp, (combination) => {
  test('answered -32601 means unsupported for good [ROOTS-10]', async () => {
    const roots = await operateRoots(combination);
    roots.peer.refuse(await roots.query(), { code: -32601, message: 'Roots not supported' });
    const report = await roots.waited();
    expect(report).toMatchObject({ status: 'unsupported', settled: true, roots: [] });
    expect(report.problem).toContain('Roots not supported');
    expect(report.failure).toMatchObject({ code: 'REQUEST_FAILED', remote: { code: -32601 } });
    roots.peer.send(rootsChanged);
    roots.clock.increment(3_600_000);
    await roots.peer.quiet();
    expect(roots.queries).toBe(1);
  });

  test('a list that is longer than what may be kept is not taken', async () => {
    const roots = await operateRoots({ ...combination, limits: { maxRetainedBytes: 1000 } });
    roots.peer.answer(await roots.query(), list('x'.repeat(2000)));
    const report = await roots.waited();
    expect(report).toMatchObject({
      status: 'failed',
      roots: [],
      failure: { code: 'LIMIT_EXCEEDED' },
    });
    roots.peer.send(rootsChanged);
    roots.peer.answer(await roots.query(), list('short'));
    expect(urisOf(await roots.waited())).toEqual(['short']);
  });

  test('that fails keeps the roots known before [ROOTS-11]', async () => {
    const roots = await operateRoots(combination);
    roots.peer.answer(await roots.query(), list('kept'));
    await roots.waited();
    roots.peer.send(rootsChanged);
    roots.peer.refuse(await roots.query(), { code: -32603, message: 'disk on fire' });
    const report = await roots.waited();
    expect(report).toMatchObject({ status: 'failed', settled: true, generation: 2 });
    expect(urisOf(report)).toEqual(['kept']);
    roots.peer.send(rootsChanged);
    roots.peer.answer(await roots.query(), list('next'));
    expect(urisOf(await roots.waited())).toEqual(['next']);
  });
});

everywhere('a roots query', eachTransportAndHttp, ({ transport }) => {
  const garbled = transport === 'SDK stdio' ? unreadable : [...unreadable, ...malformed];

  test.each(failures)(
    'answered with %s has failed, and says why [ROOTS-12] [ROOTS-13] [ROOTS-11]',
    async (_, answer, told) => {
      const roots = await operateRoots();
      const { id } = await roots.query();
      roots.peer.send({ jsonrpc: '2.0', id, ...answer });
      const report = await roots.waited();
      expect(report).toMatchObject({ status: 'failed', settled: true, roots: [] });
      expect(report.problem).toContain(told);
      expect(report.failure).toEqual({ code: 'REQUEST_FAILED', remote: answerError(answer) });
      expect(roots.queries).toBe(1);
      expect(roots.peer.count('notifications/cancelled')).toBe(0);
    },
  );

  test.each(garbled)(
    'answered with %s is asked again right away; a second such answer is a failure [ROOTS-12] [ROOTS-13] [ROOTS-11]',
    async (_, answer, told) => {
      const roots = await operateRoots();
      const waiting = roots.waited();
      for (let queries = 1; queries <= 2; queries++) {
        const { id } = await roots.query();
        roots.peer.send({ jsonrpc: '2.0', id, ...answer });
      }
      const report = await waiting;
      expect(report).toMatchObject({ status: 'failed', settled: true, roots: [], generation: 1 });
      expect(report.problem).toContain(told);
      expect(report.failure).toEqual({ code: 'INVALID_RESPONSE' });
      expect(roots.peer.count('notifications/cancelled')).toBe(0);
      await roots.peer.quiet();
      expect(roots.queries).toBe(2);
    },
  );

  test('answered unreadably at first has the roots of the second answer [ROOTS-12] [ROOTS-07]', async () => {
    const roots = await operateRoots();
    const waiting = roots.waited();
    roots.peer.answer(await roots.query(), {});
    roots.peer.answer(await roots.query(), list('a'));
    expect(await waiting).toMatchObject({ status: 'known', settled: true, generation: 1 });
  });

  test('whose list changes after an unreadable answer gets the newest list alone [ROOTS-07]', async () => {
    const roots = await operateRoots();
    const waiting = roots.waited();
    roots.peer.answer(await roots.query(), {});
    const second = await roots.query();
    roots.peer.send(rootsChanged);
    roots.peer.answer(second, list('old'));
    roots.peer.answer(await roots.query(), list('new'));
    expect(urisOf(await waiting)).toEqual(['new']);
  });

  test('that the client cancels has failed [ROOTS-12] [CANCEL-06]', async () => {
    const roots = await operateRoots();
    const { id } = await roots.query();
    roots.peer.send(cancelled(id, 'no'));
    const failure = { code: 'REMOTE_CANCELLED' };
    expect(await roots.waited()).toMatchObject({ status: 'failed', settled: true, failure });
  });

  test('that failed is asked again after a while, ever more seldom [ROOTS-09]', async () => {
    const roots = await operateRoots({ limits: { rootsRetryMs: 1000 } });
    const refuse = async () => {
      roots.peer.refuse(await roots.query(), { code: -32603, message: 'not now' });
      await roots.peer.quiet();
    };
    await refuse();
    for (const [delay, queries] of [
      [1000, 2],
      [2000, 3],
      [4000, 4],
      [8000, 5],
      [10_000, 6],
      [10_000, 7],
    ] as const) {
      roots.clock.increment(delay - 1);
      await roots.peer.quiet();
      expect(roots.queries).toBe(queries - 1);
      roots.clock.increment(1);
      await refuse();
      expect(roots.queries).toBe(queries);
    }
    roots.peer.send(rootsChanged);
    roots.peer.answer(await roots.query(), list('at last'));
    expect(await roots.waited()).toMatchObject({ status: 'known' });
  });

  test('whose resolution fails by a bug has failed, and the session lives [ROOTS-12]', async () => {
    let resolutions = 0;
    const roots = await operateRoots({
      resolveRoots: async (entries) => {
        if (++resolutions === 1) throw new TypeError('a bug');
        return await Promise.resolve(entries);
      },
    });
    roots.peer.answer(await roots.query(), list('a'));
    const failure = { code: 'RESOLVER_FAILED' };
    expect(await roots.waited()).toMatchObject({ status: 'failed', settled: true, failure });
    const { level, details } = await roots.facts.next('resolver.failed');
    expect(level).toBe('error');
    expect((details?.['error'] as Error | undefined)?.stack).toContain('roots-failures.test.ts');
    roots.peer.send(rootsChanged);
    roots.peer.answer(await roots.query(), list('b'));
    expect(urisOf(await roots.waited())).toEqual(['b']);
  });

  test('whose listener fails harms nobody [ROOTS-12]', async () => {
    const { peer, facts } = serve(
      { tools: [echo] },
      {
        onRootsUpdated: () => {
          throw new Error('a bug of the host’s');
        },
      },
    );
    await peer.handshake({ capabilities: { roots: {} } });
    peer.answer(await peer.request('roots/list'), list('a'));
    await facts.next('listener.failed');
    expect(textOf(await peer.call('echo', {}))).toBe('{}');
  });
});

everywhere('who waits for roots', eachTransportAndHttp, () => {
  test('gets them once they are settled, and never the old ones [ROOTS-16] [ROOTS-07]', async () => {
    const roots = await operateRoots();
    const waiting = [roots.waited(), roots.waited(), roots.waited()];
    const first = await roots.query();
    roots.peer.send(rootsChanged);
    roots.peer.answer(first, list('old'));
    roots.peer.answer(await roots.query(), list('new'));
    for (const report of await Promise.all(waiting)) expect(urisOf(report)).toEqual(['new']);
    expect(roots.queries).toBe(2);
  });

  test('does not hold up who needs none [ROOTS-16]', async () => {
    const roots = await operateRoots();
    const waiting = roots.peer.call('wait');
    const query = await roots.query();
    expect(textOf(await roots.peer.call('echo', { n: 1 }))).toBe('{"n":1}');
    roots.peer.answer(query, list());
    await waiting;
  });

  test('waits at most the time it gives, then gets what is known [ROOTS-16] [ROOTS-12]', async () => {
    const roots = await operateRoots();
    roots.peer.answer(await roots.query(), list('known'));
    await roots.waited();
    roots.peer.send(rootsChanged);
    await roots.query();
    const waiting = roots.waited({ timeoutMs: 100 });
    await roots.peer.quiet();
    roots.clock.increment(100);
    const report = await waiting;
    expect(report.settled).toBe(false);
    expect(urisOf(report)).toEqual(['known']);
  });

  test('and is cancelled leaves no timer behind [ROOTS-16] [CANCEL-01]', async () => {
    const roots = await operateRoots({ limits: { rootsTimeoutMs: 60_000 } });
    await roots.query();
    const before = roots.clock.liveTimers;
    roots.peer.send(toolCall(1, 'wait', { timeoutMs: 10 }));
    await roots.peer.quiet();
    expect(roots.clock.liveTimers).toBe(before + 1);
    roots.peer.send(cancelled(1));
    await roots.peer.quiet();
    expect(roots.clock.liveTimers).toBe(before);
  });
});

// Over HTTP no call is taken with `initialize`: the session has not begun.
everywhere('who waits for roots', eachTransport, () => {
  test('before initialized is told why nothing is known [ROOTS-16] [ROOTS-12]', async () => {
    const { peer, clock } = serve({ tools: [echo, wait] });
    peer.send(initialize(1, { capabilities: { roots: {} } }));
    await peer.call('echo');
    peer.send(toolCall(2, 'wait'));
    await peer.quiet();
    clock.increment(5000);
    const report = JSON.parse(textOf((await peer.response(2)).result)) as object;
    expect(report).toMatchObject({ status: 'failed', settled: false, roots: [] });
    expect(JSON.stringify(report)).toContain('initialized');
  });
});
