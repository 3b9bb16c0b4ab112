import { cancelled, gate, initialized, result, rootsChanged, toolCall } from 'mcp-actors/testing';
import { expect, test } from 'vitest';
import {
  eachTransport,
  eachTransportAndHttp,
  eachTransportAndStreams,
  everywhere,
} from './everywhere.ts';
import { list, operateRoots, urisOf, wait } from './roots-serving.ts';
import { echo, initialize, serve, textOf } from './serving.ts';

everywhere('roots', eachTransportAndStreams, (combination) => {
  test('requests the roots after initialized, without params, and publishes them [ROOTS-02]', async () => {
    const roots = await operateRoots(combination);
    const query = await roots.query();
    expect(query).toEqual({ jsonrpc: '2.0', id: query.id, method: 'roots/list' });
    roots.peer.answer(query, list('a', 'b'));
    expect(await roots.waited()).toEqual({
      status: 'known',
      generation: 1,
      settled: true,
      roots: [{ uri: 'file:///a' }, { uri: 'file:///b' }],
    });
    expect(roots.queries).toBe(1);
    expect(roots.session.state).toBe('rootsKnown');
  });

  test('requests the roots if the capability is an empty object [ROOTS-01]', async () => {
    const roots = await operateRoots({ ...combination, capabilities: { roots: {} } });
    roots.peer.answer(await roots.query(), list('a'));
    roots.peer.send(rootsChanged);
    roots.peer.answer(await roots.query(), list('b'));
    expect(urisOf(await roots.waited())).toEqual(['b']);
  });

  test('never requests roots from a client that did not declare them [ROOTS-01] [ROOTS-04]', async () => {
    const roots = await operateRoots({ ...combination, capabilities: { sampling: {} } });
    roots.peer.send(rootsChanged, rootsChanged);
    expect(await roots.waited()).toMatchObject({ status: 'undeclared', settled: true, roots: [] });
    expect(roots.queries).toBe(0);
  });

  test('requests the roots again when they change [ROOTS-03]', async () => {
    const roots = await operateRoots(combination);
    const first = await roots.query();
    roots.peer.answer(first, list('a'));
    expect(urisOf(await roots.waited())).toEqual(['a']);
    roots.peer.send(rootsChanged);
    const second = await roots.query();
    expect(second.id).not.toBe(first.id);
    roots.peer.answer(second, list('b', 'c'));
    expect(urisOf(await roots.waited())).toEqual(['b', 'c']);
  });

  test('times out and cancels a request that is never answered, without blocking calls [ROOTS-09] [ROOTS-16]', async () => {
    const roots = await operateRoots(combination);
    const query = await roots.query();
    roots.clock.increment(5000);
    const { params } = await roots.peer.notification('notifications/cancelled');
    expect(params?.['requestId']).toBe(query.id);
    const report = await roots.waited();
    expect(report).toMatchObject({ status: 'failed', settled: true, roots: [] });
    expect(report.problem).toContain('5000 ms');
  });
});

everywhere('roots', eachTransportAndStreams, () => {
  test.each([null, false, true, 'yes'])(
    'treats roots declared as %j as undeclared [ROOTS-01]',
    async (value) => {
      const roots = await operateRoots({ capabilities: { roots: value } });
      expect(await roots.waited()).toMatchObject({ status: 'undeclared' });
      expect(roots.queries).toBe(0);
    },
  );

  test('ignores a change of the roots before initialized [ROOTS-04]', async () => {
    const { peer } = serve({});
    peer.send(rootsChanged, initialize(1, { capabilities: { roots: {} } }));
    peer.send(rootsChanged, rootsChanged);
    await peer.quiet();
    expect(peer.count('roots/list')).toBe(0);
    peer.send(initialized);
    peer.answer(await peer.request('roots/list'), list('a'));
    await peer.quiet();
    expect(peer.count('roots/list')).toBe(1);
  });

  test('clears the roots when the list becomes empty [ROOTS-15] [ROOTS-12]', async () => {
    const roots = await operateRoots();
    roots.peer.answer(await roots.query(), list('a'));
    roots.peer.send(rootsChanged);
    roots.peer.answer(await roots.query(), list());
    expect(await roots.waited()).toMatchObject({ status: 'known', settled: true, roots: [] });
  });

  test('accepts unknown members in roots [ROOTS-18]', async () => {
    const roots = await operateRoots();
    roots.peer.answer(await roots.query(), {
      roots: [{ uri: 'file:///a', name: 'A', _meta: { x: 1 }, colour: 'blue' }],
      nextCursor: 'more',
      _meta: {},
    });
    expect((await roots.waited()).roots).toEqual([{ uri: 'file:///a', name: 'A' }]);
    await roots.peer.quiet();
    expect(roots.queries).toBe(1);
  });

  test('keeps the entries in order, unusable ones with their reason [ROOTS-13] [ROOTS-14]', async () => {
    const roots = await operateRoots();
    roots.peer.answer(await roots.query(), {
      roots: [
        { uri: 'https://example.org' },
        { uri: 'file:///a', name: 7 },
        null,
        'file:///b',
        { uri: 9 },
        { name: 'no uri' },
        { uri: 'FILE:///c', name: 'C' },
        { uri: 'file:///a', name: 'again' },
        { uri: 'file:///a/' },
        { uri: '' },
        { uri: '/plain/path' },
        { uri: 'file:///d' },
      ],
    });
    const report = await roots.waited();
    expect(report.status).toBe('known');
    expect(report.roots.map(({ uri, problem }) => [uri, problem?.code])).toEqual([
      ['https://example.org', 'NOT_A_FILE_URI'],
      ['file:///a', undefined],
      ['', 'MALFORMED'],
      ['', 'MALFORMED'],
      ['', 'MALFORMED'],
      ['', 'MALFORMED'],
      ['FILE:///c', undefined],
      ['file:///a', 'DUPLICATE'],
      ['file:///a/', 'DUPLICATE'],
      ['', 'NOT_A_FILE_URI'],
      ['/plain/path', 'NOT_A_FILE_URI'],
      ['file:///d', undefined],
    ]);
    expect(report.roots[1]).not.toHaveProperty('name');
    for (const { problem } of report.roots) if (problem) expect(problem.message).not.toBe('');
  });

  test('accepts ten thousand roots [ROOTS-17]', async () => {
    const roots = await operateRoots();
    const names = Array.from({ length: 10_000 }, (_, n) => `root-${n}`);
    roots.peer.answer(await roots.query(), list(...names));
    const report = await roots.waited();
    expect(urisOf(report)).toEqual(names);
  });

  test('reports a URI of a million characters briefly [ROOTS-13]', async () => {
    const roots = await operateRoots();
    roots.peer.answer(await roots.query(), { roots: [{ uri: 'x'.repeat(1_000_000) }] });
    const [root] = (await roots.waited()).roots;
    expect(root?.problem?.message.length).toBeLessThan(200);
  });

  test('resolves roots within the query, publishing list and directories together [ROOTS-19]', async () => {
    const seen: (readonly string[])[] = [];
    const roots = await operateRoots({
      resolveRoots: async (entries) => {
        seen.push(entries.map(({ uri }) => uri));
        await Promise.resolve();
        return entries.map((root) => ({ ...root, path: root.uri.slice('file://'.length) }));
      },
    });
    roots.peer.answer(await roots.query(), list('a', 'b'));
    const report = await roots.waited();
    expect(report.roots.map(({ path }) => path)).toEqual(['/a', '/b']);
    expect(seen).toEqual([['file:///a', 'file:///b']]);
    expect(roots.reports).toHaveLength(1);
  });
});

everywhere('changes of the roots', eachTransportAndStreams, (combination) => {
  test('sends exactly one more request for changes during a query, and uses the last answer [ROOTS-05]', async () => {
    const roots = await operateRoots(combination);
    const first = await roots.query();
    roots.peer.send(rootsChanged, rootsChanged, rootsChanged);
    await roots.peer.quiet();
    expect(roots.queries).toBe(1);
    roots.peer.answer(first, list('old'));
    const second = await roots.query();
    roots.peer.answer(second, list('new'));
    expect(urisOf(await roots.waited())).toEqual(['new']);
    await roots.peer.quiet();
    expect(roots.queries).toBe(2);
    expect(roots.reports.map(urisOf)).toEqual([['new']]);
  });

  test('ends with one request in flight and the latest roots after a thousand changes [ROOTS-06]', async () => {
    const roots = await operateRoots(combination);
    roots.peer.answer(await roots.query(), list('before'));
    await roots.waited();
    for (let change = 0; change < 1000; change++) roots.peer.send(rootsChanged);
    await roots.peer.quiet();
    expect(roots.queries).toBe(2);
    roots.peer.answer(await roots.query(), list('during'));
    roots.peer.answer(await roots.query(), list('after'));
    expect(urisOf(await roots.waited())).toEqual(['after']);
    expect(roots.queries).toBe(3);
  });

  test('sends one more request for a thousand changes in one chunk with the answer at its end [ROOTS-06]', async () => {
    const roots = await operateRoots();
    const first = await roots.query();
    roots.peer.send(
      ...Array.from({ length: 1000 }, () => rootsChanged),
      result(first.id, list('old')),
      ...Array.from({ length: 1000 }, () => rootsChanged),
    );
    roots.peer.answer(await roots.query(), list('new'));
    await roots.peer.quiet();
    // A change after the first answer outdates the second query.
    if (roots.queries === 3) roots.peer.answer(await roots.query(), list('new'));
    expect(urisOf(await roots.waited())).toEqual(['new']);
    expect(roots.queries).toBeLessThanOrEqual(3);
  });

  test('notices a change right after the answer, in the same chunk [ROOTS-05] [ROOTS-07]', async () => {
    const roots = await operateRoots();
    const first = await roots.query();
    roots.peer.send(result(first.id, list('old')), rootsChanged);
    roots.peer.answer(await roots.query(), list('new'));
    expect(urisOf(await roots.waited())).toEqual(['new']);
    expect(roots.queries).toBe(2);
  });

  test('ignores an older answer that arrives after the newer one [ROOTS-07]', async () => {
    const roots = await operateRoots();
    const first = await roots.query();
    roots.clock.increment(5000);
    roots.peer.send(rootsChanged);
    const second = await roots.query();
    roots.peer.answer(second, list('new'));
    expect(urisOf(await roots.waited())).toEqual(['new']);
    roots.peer.answer(first, list('old'));
    await roots.facts.next('response.late');
    await roots.peer.quiet();
    expect(urisOf(await roots.waited())).toEqual(['new']);
  });

  test('ends with the latest roots after twenty answers in reverse order [ROOTS-07] [ROOTS-05]', async () => {
    const roots = await operateRoots({ limits: { maxOvertakenRoots: 100 } });
    const given: { readonly id: string | number; readonly name: string }[] = [];
    for (let n = 0; n < 20; n++) {
      const { id } = await roots.query();
      given.push({ id, name: `version-${n}` });
      roots.peer.send(rootsChanged);
      // Each query times out, so twenty answers are still to come.
      roots.clock.increment(5000);
      await roots.peer.quiet();
    }
    const last = await roots.query();
    roots.peer.send(
      result(last.id, list('newest')),
      ...given.toReversed().map(({ id, name }) => result(id, list(name))),
    );
    await roots.peer.quiet();
    expect(urisOf(await roots.waited())).toEqual(['newest']);
  });

  test('discards a resolution if the roots change meanwhile [ROOTS-07] [ROOTS-19]', async () => {
    const door = gate();
    const aborted: boolean[] = [];
    const roots = await operateRoots({
      resolveRoots: async (entries, signal) => {
        await door.pass();
        aborted.push(signal.aborted);
        return entries;
      },
    });
    roots.peer.answer(await roots.query(), list('old'));
    await door.arrived();
    roots.peer.send(rootsChanged);
    await roots.peer.quiet();
    door.release();
    roots.peer.answer(await roots.query(), list('new'));
    expect(urisOf(await roots.waited())).toEqual(['new']);
    expect(roots.reports.map(urisOf)).toEqual([['new']]);
  });

  test('publishes an unsettled list now and then if changes never stop [ROOTS-08]', async () => {
    const roots = await operateRoots({ limits: { maxOvertakenRoots: 3 } });
    const waiting = roots.peer.call('wait');
    for (let n = 1; n <= 8; n++) {
      const { id } = await roots.query();
      roots.peer.send(rootsChanged, result(id, list(`version-${n}`)));
      await roots.peer.quiet();
    }
    expect(roots.reports.map((report) => [urisOf(report)?.[0], report.settled])).toEqual([
      ['version-4', false],
      ['version-8', false],
    ]);
    expect(JSON.parse(textOf(await waiting))).toMatchObject({ settled: false });
    roots.peer.answer(await roots.query(), list('last'));
    expect(await roots.waited()).toMatchObject({ settled: true, generation: 3 });
  });

  test('requests the roots immediately on a change after a failure, instead of the retry [ROOTS-09]', async () => {
    const roots = await operateRoots();
    roots.peer.refuse(await roots.query(), { code: -32603, message: 'not now' });
    await roots.peer.quiet();
    roots.peer.send(rootsChanged);
    roots.peer.answer(await roots.query(), list('a'));
    expect(urisOf(await roots.waited())).toEqual(['a']);
    roots.clock.increment(3_600_000);
    await roots.peer.quiet();
    expect(roots.queries).toBe(2);
  });

  test('reports a failure of the query and repeats it if the roots changed meanwhile [ROOTS-05] [ROOTS-12]', async () => {
    const roots = await operateRoots();
    const first = await roots.query();
    roots.peer.send(rootsChanged);
    roots.peer.refuse(first, { code: -32603, message: 'not now' });
    roots.peer.answer(await roots.query(), list('a'));
    await roots.peer.quiet();
    expect(await roots.waited()).toMatchObject({ status: 'known', settled: true });
    expect(roots.reports[0]).toMatchObject({ status: 'failed', settled: false });
  });

  test('reports a timeout of the query and repeats it if the roots changed meanwhile [ROOTS-05] [ROOTS-09]', async () => {
    const roots = await operateRoots();
    await roots.query();
    roots.peer.send(rootsChanged);
    await roots.peer.quiet();
    roots.clock.increment(5000);
    roots.peer.answer(await roots.query(), list('a'));
    await roots.peer.quiet();
    expect(await roots.waited()).toMatchObject({ status: 'known', settled: true });
    expect(roots.reports[0]).toMatchObject({ status: 'failed', settled: false });
    expect(roots.queries).toBe(2);
  });
});

/** All failures of a query, and their descriptions. */
const failures: readonly [what: string, answer: object, told: string][] = [
  ['an internal error', { error: { code: -32603, message: 'disk on fire' } }, 'disk on fire'],
  ['an error with data', { error: { code: 7, message: 'no', data: { reason: 'x' } } }, 'error 7'],
  ['an error of the client’s own', { error: { code: 42, message: 'own' } }, 'error 42'],
  ['invalid params', { error: { code: -32602, message: 'params?' } }, 'params?'],
];

/** Unreadable answers: the query is repeated immediately. */
const unreadable: typeof failures = [
  ['a result without roots', { result: {} }, 'roots must be an array'],
  ['roots that are null', { result: { roots: null } }, 'roots must be an array'],
  ['roots that are an object', { result: { roots: {} } }, 'roots must be an array'],
  ['roots that are a text', { result: { roots: 'file:///a' } }, 'roots must be an array'],
];

/** Answers that the SDK's stream transports drop. */
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
  test('treats -32601 as unsupported for good [ROOTS-10]', async () => {
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

  test('rejects a list that exceeds maxRetainedBytes', async () => {
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

  test('keeps the previous roots after a failure [ROOTS-11]', async () => {
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
    'reports a failure with a reason for an answer with %s [ROOTS-12] [ROOTS-13] [ROOTS-11]',
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
    'repeats the request after an answer with %s, and reports the second failure [ROOTS-12] [ROOTS-13] [ROOTS-11]',
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

  test('uses the second answer if the first was unreadable [ROOTS-12] [ROOTS-07]', async () => {
    const roots = await operateRoots();
    const waiting = roots.waited();
    roots.peer.answer(await roots.query(), {});
    roots.peer.answer(await roots.query(), list('a'));
    expect(await waiting).toMatchObject({ status: 'known', settled: true, generation: 1 });
  });

  test('uses only the latest list if the roots change after an unreadable answer [ROOTS-07]', async () => {
    const roots = await operateRoots();
    const waiting = roots.waited();
    roots.peer.answer(await roots.query(), {});
    const second = await roots.query();
    roots.peer.send(rootsChanged);
    roots.peer.answer(second, list('old'));
    roots.peer.answer(await roots.query(), list('new'));
    expect(urisOf(await waiting)).toEqual(['new']);
  });

  test('reports a failure if the client cancels the request [ROOTS-12] [CANCEL-06]', async () => {
    const roots = await operateRoots();
    const { id } = await roots.query();
    roots.peer.send(cancelled(id, 'no'));
    const failure = { code: 'REMOTE_CANCELLED' };
    expect(await roots.waited()).toMatchObject({ status: 'failed', settled: true, failure });
  });

  test('retries a failed query with increasing delays [ROOTS-09]', async () => {
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

  test('reports a failure if the resolver throws, and continues the session [ROOTS-12]', async () => {
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
    expect((details?.['error'] as Error | undefined)?.stack).toContain('roots.test.ts');
    roots.peer.send(rootsChanged);
    roots.peer.answer(await roots.query(), list('b'));
    expect(urisOf(await roots.waited())).toEqual(['b']);
  });
});

everywhere('a wait for roots', eachTransportAndHttp, () => {
  test('gives a waiting handler the settled roots, never outdated ones [ROOTS-16] [ROOTS-07]', async () => {
    const roots = await operateRoots();
    const waiting = [roots.waited(), roots.waited(), roots.waited()];
    const first = await roots.query();
    roots.peer.send(rootsChanged);
    roots.peer.answer(first, list('old'));
    roots.peer.answer(await roots.query(), list('new'));
    for (const report of await Promise.all(waiting)) expect(urisOf(report)).toEqual(['new']);
    expect(roots.queries).toBe(2);
  });

  test('does not delay a handler that needs no roots [ROOTS-16]', async () => {
    const roots = await operateRoots();
    const waiting = roots.peer.call('wait');
    const query = await roots.query();
    expect(textOf(await roots.peer.call('echo', { n: 1 }))).toBe('{"n":1}');
    roots.peer.answer(query, list());
    await waiting;
  });

  test('gives a handler the known roots after its timeout [ROOTS-16] [ROOTS-12]', async () => {
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

  test('leaves no timer behind if the waiting call is cancelled [ROOTS-16] [CANCEL-01]', async () => {
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

// Over HTTP no call is accepted together with `initialize`, because the session has not started.
everywhere('a wait for roots', eachTransport, () => {
  test('gives a handler the reason for missing roots before initialized [ROOTS-16] [ROOTS-12]', async () => {
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
