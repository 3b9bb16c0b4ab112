import { gate, result, rootsChanged } from 'mcp-actors/testing';
import { expect, test } from 'vitest';
import { list, operateRoots, urisOf } from './roots-serving.ts';
import { eachTransportAndStreams, everywhere } from './everywhere.ts';
import { textOf } from './serving.ts';

everywhere('changing roots', eachTransportAndStreams, (combination) => {
  test('during a query cost exactly one more, and the last answer wins [ROOTS-05]', async () => {
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

  test('a thousand times leave one query in flight and the last roots [ROOTS-06]', async () => {
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
});

everywhere('changing roots', eachTransportAndStreams, () => {
  test('a thousand times in one chunk, with the answer at its end, ask once more [ROOTS-06]', async () => {
    const roots = await operateRoots();
    const first = await roots.query();
    roots.peer.send(
      ...Array.from({ length: 1000 }, () => rootsChanged),
      result(first.id, list('old')),
      ...Array.from({ length: 1000 }, () => rootsChanged),
    );
    roots.peer.answer(await roots.query(), list('new'));
    await roots.peer.quiet();
    // What came after the first answer made the second one old before it was given.
    if (roots.queries === 3) roots.peer.answer(await roots.query(), list('new'));
    expect(urisOf(await roots.waited())).toEqual(['new']);
    expect(roots.queries).toBeLessThanOrEqual(3);
  });

  test('right after an answer, in its chunk, is not lost [ROOTS-05] [ROOTS-07]', async () => {
    const roots = await operateRoots();
    const first = await roots.query();
    roots.peer.send(result(first.id, list('old')), rootsChanged);
    roots.peer.answer(await roots.query(), list('new'));
    expect(urisOf(await roots.waited())).toEqual(['new']);
    expect(roots.queries).toBe(2);
  });

  test('answered twice, the newer first: the older one changes nothing [ROOTS-07]', async () => {
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

  test('twenty answers in reverse order leave the newest roots [ROOTS-07] [ROOTS-05]', async () => {
    const roots = await operateRoots({ limits: { maxOvertakenRoots: 100 } });
    const given: { readonly id: string | number; readonly name: string }[] = [];
    for (let n = 0; n < 20; n++) {
      const { id } = await roots.query();
      given.push({ id, name: `version-${n}` });
      roots.peer.send(rootsChanged);
      // Each query ends by its timeout, so that twenty answers are still to come.
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

  test('while the list is being resolved makes its resolution old [ROOTS-07] [ROOTS-19]', async () => {
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

  test('for ever starves nobody: every so often an answer is published as not settled [ROOTS-08]', async () => {
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

  test('after a failure asks at once, and the retry does not ask again [ROOTS-09]', async () => {
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

  test('with a query that then fails says so and asks again at once [ROOTS-05] [ROOTS-12]', async () => {
    const roots = await operateRoots();
    const first = await roots.query();
    roots.peer.send(rootsChanged);
    roots.peer.refuse(first, { code: -32603, message: 'not now' });
    roots.peer.answer(await roots.query(), list('a'));
    await roots.peer.quiet();
    expect(await roots.waited()).toMatchObject({ status: 'known', settled: true });
    expect(roots.reports[0]).toMatchObject({ status: 'failed', settled: false });
  });

  test('with a query that then times out says so and asks again at once [ROOTS-05] [ROOTS-09]', async () => {
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
