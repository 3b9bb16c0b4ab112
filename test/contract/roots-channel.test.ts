/** Clients that get the session's messages only on the streams of their own requests. */
import type { RootsReport } from 'mcp-actors';
import { cancelled, gate, initialized, rootsChanged, toolCall } from 'mcp-actors/testing';
import { describe, expect, test } from 'vitest';
import { describeDump } from '../../packages/diagnostics/src/dump-text.ts';
import { withoutChannel } from './channel-wire.ts';
import { everywhere, memoryAndHttp } from './everywhere.ts';
import { clientWithoutChannel, list, operateRoots, urisOf, wait } from './roots-serving.ts';
import { initialize, operate, serve, textOf, tool } from './serving.ts';
import type { ServingOptions } from './serving.ts';
import { begin, taskTool } from './task-serving.ts';

/** An initialized session with a client that has roots and no channel of its own. */
async function start({
  unaskable,
  ...options
}: ServingOptions & { readonly unaskable?: readonly unknown[] } = {}) {
  const client = clientWithoutChannel(unaskable);
  const serving = await operateRoots({ ...options, ...client.options });
  const { peer, clock, session, reports } = serving;
  const channel = client.channelOf(serving);
  return {
    ...{ peer, clock, session, reports, channel },
    call: (id: string, args = {}) => peer.send(toolCall(id, wait.name, args)),
    reportOf: async (id: string) =>
      JSON.parse(textOf((await peer.response(id)).result)) as RootsReport,
    query: () => peer.request('roots/list'),
    /** Calls whose streams carried the roots request; undefined for the channel. */
    askedFor: () => channel.relatedTo('roots/list'),
  };
}

everywhere('roots of a client without a channel', memoryAndHttp, () => {
  test('requests the roots with the first call that needs them, on its stream', async () => {
    const { peer, call, reportOf, query, askedFor } = await start();
    await peer.quiet();
    expect(askedFor()).toEqual([]);
    call('a');
    peer.answer(await query(), list('x'));
    expect(await reportOf('a')).toMatchObject({ status: 'known', settled: true, generation: 1 });
    call('b');
    expect(urisOf(await reportOf('b'))).toEqual(['x']);
    expect(askedFor()).toEqual(['a']);
  });

  test('requests the roots once for all waiting calls', async () => {
    const { peer, call, reportOf, query, askedFor } = await start();
    for (const id of ['a', 'b', 'c']) call(id);
    peer.answer(await query(), list('x'));
    for (const id of ['a', 'b', 'c']) expect(urisOf(await reportOf(id))).toEqual(['x']);
    expect(askedFor()).toEqual(['a']);
  });

  test('requests changed roots with the next call, and not before', async () => {
    const { peer, call, reportOf, query, askedFor, reports } = await start();
    call('a');
    peer.answer(await query(), list('old'));
    await reportOf('a');
    peer.send(rootsChanged, rootsChanged);
    await peer.quiet();
    expect(askedFor()).toEqual(['a']);
    call('b');
    peer.answer(await query(), list('new'));
    expect(urisOf(await reportOf('b'))).toEqual(['new']);
    expect(askedFor()).toEqual(['a', 'b']);
    expect(reports.map(urisOf)).toEqual([['old'], ['new']]);
  });

  test('repeats the request with the waiting call if the roots change meanwhile', async () => {
    const { peer, call, reportOf, query, askedFor, reports } = await start();
    call('a');
    const first = await query();
    peer.send(rootsChanged, rootsChanged);
    peer.answer(first, list('old'));
    peer.answer(await query(), list('new'));
    expect(urisOf(await reportOf('a'))).toEqual(['new']);
    expect(askedFor()).toEqual(['a', 'a']);
    expect(reports.map(urisOf)).toEqual([['new']]);
  });

  test('answers calls even if the roots never stop changing', async () => {
    const { peer, call, reportOf, query } = await start({ limits: { maxOvertakenRoots: 2 } });
    call('a');
    for (const name of ['1', '2', '3']) {
      const asked = await query();
      peer.send(rootsChanged);
      peer.answer(asked, list(name));
    }
    const report = await reportOf('a');
    expect([urisOf(report), report.settled]).toEqual([['3'], false]);
  });
});

// Over HTTP no call is possible before `initialize` is answered.
test('requests the roots with a call that came before initialized, once the client is ready', async () => {
  const connection = withoutChannel();
  const { peer } = serve({ tools: [wait] }, { connection });
  peer.send(initialize(1, { capabilities: { roots: {} } }), toolCall('a', wait.name));
  await peer.response(1);
  await peer.quiet();
  expect(connection.relatedTo('roots/list')).toEqual([]);
  peer.send(initialized);
  peer.answer(await peer.request('roots/list'), list('x'));
  await peer.response('a');
  expect(connection.relatedTo('roots/list')).toEqual(['a']);
});

everywhere('the call that carries a roots request', memoryAndHttp, () => {
  test('repeats the request with another waiting call if the requesting call is cancelled', async () => {
    const { peer, call, reportOf, query, askedFor, channel } = await start();
    call('a');
    call('b');
    const first = await query();
    peer.send(cancelled('a'));
    const second = await query();
    const { params } = await peer.notification('notifications/cancelled');
    expect(params?.['requestId']).toBe(first.id);
    expect(channel.relatedTo('notifications/cancelled')).toEqual(['a']);
    peer.answer(first, list('late'));
    peer.answer(second, list('x'));
    expect(urisOf(await reportOf('b'))).toEqual(['x']);
    expect(askedFor()).toEqual(['a', 'b']);
  });

  test('repeats the request with the next call if no other one was waiting', async () => {
    const { peer, call, reportOf, query, askedFor } = await start();
    call('a');
    await query();
    peer.send(cancelled('a'));
    await peer.quiet();
    expect(askedFor()).toEqual(['a']);
    call('b');
    peer.answer(await query(), list('x'));
    expect(urisOf(await reportOf('b'))).toEqual(['x']);
    expect(askedFor()).toEqual(['a', 'b']);
  });

  test('repeats the request with another waiting call if the requesting call is cancelled after its wait', async () => {
    const client = clientWithoutChannel();
    const door = gate();
    const patient = tool('patient', async (_, context) => {
      await context.roots({ timeoutMs: 100 });
      await door.pass(context.signal);
    });
    const serving = await operate(
      { tools: [patient, wait] },
      { ...client.options, capabilities: { roots: {} } },
    );
    const { peer, clock } = serving;
    peer.send(toolCall('a', 'patient'));
    await peer.request('roots/list');
    clock.increment(100);
    peer.send(toolCall('b', wait.name));
    await peer.quiet();
    peer.send(cancelled('a'));
    peer.answer(await peer.request('roots/list'), list('x'));
    expect(textOf((await peer.response('b')).result)).toContain('file:///x');
    expect(client.channelOf(serving).relatedTo('roots/list')).toEqual(['a', 'b']);
  });

  test('serves other calls with an answer that arrives after the requesting call has ended', async () => {
    const { peer, clock, call, reportOf, query, askedFor } = await start();
    call('a', { timeoutMs: 100 });
    const asked = await query();
    clock.increment(100);
    expect(await reportOf('a')).toMatchObject({ status: 'failed', settled: false });
    call('b');
    peer.answer(asked, list('x'));
    expect(urisOf(await reportOf('b'))).toEqual(['x']);
    expect(askedFor()).toEqual(['a']);
  });
});

test('sends no request for an answered call, even if its handler was still waiting for roots', async () => {
  const connection = withoutChannel();
  const hasty = tool('hasty', (_, context) => {
    void context.roots();
    return 'done';
  });
  const { peer } = await operate({ tools: [hasty] }, { connection, capabilities: { roots: {} } });
  await peer.call('hasty');
  const asked = await peer.request('roots/list');
  peer.send(rootsChanged);
  peer.answer(asked, list('old'));
  await peer.quiet();
  expect(connection.relatedTo('roots/list')).toHaveLength(1);
});

// Over HTTP such an endpoint answers every call in JSON: see `packages/http/test/roots.test.ts`.
describe('a call that cannot carry a roots request', () => {
  test('is refused immediately if the client has no channel either', async () => {
    const { peer, call, reportOf, askedFor } = await start({ unaskable: ['a'] });
    call('a');
    const report = await reportOf('a');
    expect(report).toMatchObject({
      status: 'failed',
      settled: false,
      roots: [],
      failure: { code: 'CAPABILITY_MISSING' },
    });
    expect(report.problem).toContain('it is answered in JSON');
    await peer.quiet();
    expect(askedFor()).toEqual([]);
  });

  test('gets the previous roots, marked as possibly outdated', async () => {
    const { peer, call, reportOf, query } = await start({ unaskable: ['b', 'c'] });
    call('a');
    peer.answer(await query(), list('x'));
    await reportOf('a');
    call('b');
    expect(await reportOf('b')).toMatchObject({ status: 'known', settled: true });
    peer.send(rootsChanged);
    call('c');
    const report = await reportOf('c');
    expect([report.status, report.settled, urisOf(report)]).toEqual(['failed', false, ['x']]);
  });

  test("waits for the answer to another call's request", async () => {
    const { peer, call, reportOf, query } = await start({ unaskable: ['b'] });
    call('a');
    const asked = await query();
    call('b');
    await peer.quiet();
    peer.answer(asked, list('x'));
    expect(urisOf(await reportOf('b'))).toEqual(['x']);
  });

  test('is refused if the requesting call is cancelled', async () => {
    const { peer, call, reportOf, query } = await start({ unaskable: ['b'] });
    call('a');
    await query();
    call('b');
    peer.send(cancelled('a'));
    expect((await reportOf('b')).failure).toEqual({ code: 'CAPABILITY_MISSING' });
  });

  test('is refused at its timeout if it is a task whose result nobody awaits', async () => {
    const connection = withoutChannel();
    const reports: RootsReport[] = [];
    const work = taskTool('work', async (_, context) => {
      reports.push(await context.roots());
    });
    const { peer, clock } = await operate(
      { tools: [work] },
      { connection, capabilities: { roots: {} } },
    );
    await begin(peer, 'work');
    await peer.quiet();
    clock.increment(5000);
    await peer.quiet();
    expect(reports).toMatchObject([{ status: 'failed', settled: false }]);
    expect(reports[0]?.problem).toContain('no stream for requests');
    expect(connection.relatedTo('roots/list')).toEqual([]);
  });
});

everywhere('a failed roots query', memoryAndHttp, () => {
  test('is not repeated without a channel, and sent with the next call after the retry delay', async () => {
    const { peer, clock, call, reportOf, query, askedFor } = await start();
    call('a');
    await query();
    clock.increment(5000);
    expect((await reportOf('a')).problem).toContain('5000 ms');
    call('b');
    expect(await reportOf('b')).toMatchObject({ status: 'failed', settled: true });
    clock.increment(30_000);
    await peer.quiet();
    expect(askedFor()).toEqual(['a']);
    call('c');
    peer.answer(await query(), list('x'));
    expect(urisOf(await reportOf('c'))).toEqual(['x']);
    expect(askedFor()).toEqual(['a', 'c']);
  });

  test('is repeated when a channel opens', async () => {
    const { peer, clock, call, reportOf, query, askedFor, channel } = await start();
    call('a');
    await query();
    clock.increment(5000);
    await reportOf('a');
    channel.openChannel();
    peer.answer(await query(), list('x'));
    await peer.quiet();
    expect(askedFor()).toEqual(['a', undefined]);
  });
});

everywhere('the channel of a client', memoryAndHttp, () => {
  test('uses a channel that opens, without any call', async () => {
    const { peer, query, askedFor, reports, channel } = await start();
    channel.openChannel();
    peer.answer(await query(), list('x'));
    await peer.quiet();
    expect(reports.map(urisOf)).toEqual([['x']]);
    peer.send(rootsChanged);
    peer.answer(await query(), list('y'));
    expect(askedFor()).toEqual([undefined, undefined]);
  });

  test('is not repeated when a channel opens again', async () => {
    const { peer, query, askedFor, channel } = await start();
    channel.openChannel();
    peer.answer(await query(), list('x'));
    channel.openChannel();
    await peer.quiet();
    expect(askedFor()).toEqual([undefined]);
  });

  test('stays with a call if a channel opens meanwhile', async () => {
    const { peer, call, reportOf, query, askedFor, channel } = await start();
    call('a');
    const asked = await query();
    channel.openChannel();
    peer.answer(asked, list('x'));
    expect(urisOf(await reportOf('a'))).toEqual(['x']);
    expect(askedFor()).toEqual(['a']);
  });

  test('uses a channel that opened meanwhile if the list changes again', async () => {
    const { peer, call, reportOf, query, askedFor, channel } = await start();
    call('a');
    const asked = await query();
    channel.openChannel();
    peer.send(rootsChanged);
    peer.answer(asked, list('old'));
    peer.answer(await query(), list('new'));
    expect(urisOf(await reportOf('a'))).toEqual(['new']);
    expect(askedFor()).toEqual(['a', undefined]);
  });

  test('moves to a channel that opened meanwhile if its call is cancelled', async () => {
    const { peer, call, query, askedFor, reports, channel } = await start();
    call('a');
    await query();
    channel.openChannel();
    peer.send(cancelled('a'));
    peer.answer(await query(), list('x'));
    await peer.quiet();
    expect(askedFor()).toEqual(['a', undefined]);
    expect(reports.map(urisOf)).toEqual([['x']]);
  });

  test('moves to a waiting call if the channel closes before the answer', async () => {
    const { peer, call, reportOf, query, askedFor, channel } = await start();
    channel.openChannel();
    await query();
    call('a');
    await peer.quiet();
    channel.closeChannel();
    peer.answer(await query(), list('x'));
    expect(urisOf(await reportOf('a'))).toEqual(['x']);
    expect(askedFor()).toEqual([undefined, 'a']);
  });

  test('keeps the known roots when the channel closes', async () => {
    const { peer, call, reportOf, query, askedFor, channel } = await start();
    channel.openChannel();
    peer.answer(await query(), list('x'));
    await peer.quiet();
    channel.closeChannel();
    call('a');
    expect(await reportOf('a')).toMatchObject({ status: 'known', settled: true });
    expect(askedFor()).toEqual([undefined]);
  });

  test('keeps pinging the client only while the channel is open', async () => {
    const limits = { keepaliveIntervalMs: 1000, keepaliveTimeoutMs: 100, keepaliveFailures: 2 };
    const { peer, clock, session, channel } = await start({ limits });
    clock.increment(60_000);
    await peer.quiet();
    channel.openChannel();
    const pings = () => channel.relatedTo('ping').length;
    expect(pings()).toBe(0);
    clock.increment(1000);
    peer.answer(await peer.request('ping'), {});
    await peer.quiet();
    channel.closeChannel();
    clock.increment(60_000);
    await peer.quiet();
    expect(pings()).toBe(1);
    expect(session.state).toBe('initialized');
  });
});

test('shows in a dump how a client without a channel is asked for its roots', async () => {
  const { peer, session, call, query, reportOf } = await start();
  const rootsIn = () => /^Roots: .*$/m.exec(describeDump(session.dump()))?.[0];
  const why = 'asked for with the next call that needs them: the client has no stream of its own';
  expect(rootsIn()).toBe(`Roots: not known; ${why}`);
  call('a');
  peer.answer(await query(), list('x'));
  await reportOf('a');
  expect(rootsIn()).toBe('Roots: known, known, 1 in the list');
  peer.send(rootsChanged);
  await peer.quiet();
  expect(rootsIn()).toBe(`Roots: deferred, known, 1 in the list; ${why}`);
});

// Over HTTP each stream is read separately.
describe('a client that resumes reading', () => {
  test('is asked for its roots with a call that the session starts itself, if it has no channel', async () => {
    const connection = withoutChannel();
    const { peer } = await operateRoots({ connection });
    connection.flow('blocked');
    peer.send(toolCall('a', wait.name));
    await peer.quiet();
    connection.flow('flowing');
    peer.answer(await peer.request('roots/list'), list('x'));
    expect(textOf((await peer.response('a')).result)).toContain('file:///x');
    expect(connection.relatedTo('roots/list')).toEqual(['a']);
  });
});

everywhere('roots of a client without a channel', memoryAndHttp, () => {
  test('shows its roots as deferred until a call needs them', async () => {
    const { session } = await operateRoots(clientWithoutChannel().options);
    expect(session.dump().roots).toMatchObject({ state: 'deferred', tags: ['deferred'] });
    expect(Object.keys(session.dump().actors)).not.toContain('roots');
  });
});
