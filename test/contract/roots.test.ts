import { initialized, rootsChanged } from 'mcp-actors/testing';
import { expect, test } from 'vitest';
import { list, operateRoots, urisOf } from './roots-serving.ts';
import { eachTransportAndStreams, everywhere } from './everywhere.ts';
import { initialize, serve } from './serving.ts';

everywhere('roots', eachTransportAndStreams, (combination) => {
  test('are asked for after initialized, without params, and published [ROOTS-02]', async () => {
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

  test('are asked for where the capability is empty [ROOTS-01]', async () => {
    const roots = await operateRoots({ ...combination, capabilities: { roots: {} } });
    roots.peer.answer(await roots.query(), list('a'));
    roots.peer.send(rootsChanged);
    roots.peer.answer(await roots.query(), list('b'));
    expect(urisOf(await roots.waited())).toEqual(['b']);
  });

  test('are never asked for where they were not declared [ROOTS-01] [ROOTS-04]', async () => {
    const roots = await operateRoots({ ...combination, capabilities: { sampling: {} } });
    roots.peer.send(rootsChanged, rootsChanged);
    expect(await roots.waited()).toMatchObject({ status: 'undeclared', settled: true, roots: [] });
    expect(roots.queries).toBe(0);
  });

  test('are asked for again when they change [ROOTS-03]', async () => {
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

  test('never answered time out, are cancelled, and hold nobody for ever [ROOTS-09] [ROOTS-16]', async () => {
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
    'declared as %j are not declared: nothing is asked [ROOTS-01]',
    async (value) => {
      const roots = await operateRoots({ capabilities: { roots: value } });
      expect(await roots.waited()).toMatchObject({ status: 'undeclared' });
      expect(roots.queries).toBe(0);
    },
  );

  test('that change before initialized ask nothing [ROOTS-04]', async () => {
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

  test('that become none are none: the old ones are cleared [ROOTS-15] [ROOTS-12]', async () => {
    const roots = await operateRoots();
    roots.peer.answer(await roots.query(), list('a'));
    roots.peer.send(rootsChanged);
    roots.peer.answer(await roots.query(), list());
    expect(await roots.waited()).toMatchObject({ status: 'known', settled: true, roots: [] });
  });

  test('may have members that nobody knows [ROOTS-18]', async () => {
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

  test('are taken entry by entry, in order, each unusable one with its reason [ROOTS-13] [ROOTS-14]', async () => {
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

  test('may be ten thousand [ROOTS-17]', async () => {
    const roots = await operateRoots();
    const names = Array.from({ length: 10_000 }, (_, n) => `root-${n}`);
    roots.peer.answer(await roots.query(), list(...names));
    const report = await roots.waited();
    expect(urisOf(report)).toEqual(names);
  });

  test('with a uri of a million characters are reported in few words [ROOTS-13]', async () => {
    const roots = await operateRoots();
    roots.peer.answer(await roots.query(), { roots: [{ uri: 'x'.repeat(1_000_000) }] });
    const [root] = (await roots.waited()).roots;
    expect(root?.problem?.message.length).toBeLessThan(200);
  });

  test('are resolved as part of the query: list and directories are published together [ROOTS-19]', async () => {
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
