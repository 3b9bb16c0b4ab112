/** A session as observables. */
import { createRequire } from 'node:module';
import { createMcpServer, memory } from 'mcp-actors';
import type { SessionState, TrafficItem } from 'mcp-actors';
import { ScriptedPeer, flush } from 'mcp-actors/testing';
import type * as rxjs from 'rxjs';
import { Observable, filter, firstValueFrom, map, take } from 'rxjs';
import { describe, expect, test } from 'vitest';
import { echo, operate, serve } from '../contract/serving.ts';

const collect = <T>(stream$: { subscribe(observer: object): unknown }) => {
  const seen: (T | 'complete')[] = [];
  stream$.subscribe({
    next: (value: T) => seen.push(value),
    complete: () => seen.push('complete'),
  });
  return seen;
};

describe('state$ and roots$', () => {
  test('emit the current value, then each change, and complete at the end', async () => {
    const { peer, session } = serve({});
    const fromTheStart = collect<SessionState>(session.state$);
    const roots = collect(session.roots$);
    await peer.handshake({ capabilities: { roots: {} } });
    const late = collect<SessionState>(session.state$);
    peer.answer(await peer.request('roots/list'), { roots: [{ uri: 'file:///a' }] });
    const report = await firstValueFrom(session.roots$);
    expect(report).toMatchObject({ status: 'known', roots: [{ uri: 'file:///a' }] });
    peer.end();
    await session.closed;
    expect(fromTheStart).toEqual([
      'uninitialized',
      'negotiated',
      'initialized',
      'rootsKnown',
      'draining',
      'closed',
      'complete',
    ]);
    expect(late).toEqual(['initialized', 'rootsKnown', 'draining', 'closed', 'complete']);
    expect(roots).toEqual([report, 'complete']);
  });

  test('emit the last value to a late subscriber', async () => {
    const { session } = serve({});
    session.shutdown('at once');
    await session.closed;
    expect(collect(session.state$)).toEqual(['closed', 'complete']);
    expect(collect(session.roots$)).toEqual(['complete']);
    const cause = { kind: 'shutdown', reason: 'at once' };
    expect(collect(session.events$)).toEqual([{ type: 'session.closed', cause }, 'complete']);
    expect(collect(session.traffic$)).toEqual(['complete']);
  });

  test('complete when the actor is stopped', async () => {
    const { transport } = memory();
    const session = createMcpServer({ name: 'stopped', version: '1' }).listen(transport);
    const states = collect(session.state$);
    session.actor.stop();
    await session.closed;
    expect(states).toEqual(['uninitialized', 'complete']);
    expect(collect(session.state$)).toEqual(['uninitialized', 'complete']);
  });

  test('emit changes caused by a subscriber during an emission', async () => {
    const { session } = serve({});
    const seen: string[] = [];
    session.state$.subscribe((state) => {
      seen.push(state);
      if (state === 'uninitialized') session.shutdown('at once');
    });
    await session.closed;
    expect(seen).toEqual(['uninitialized', 'draining', 'closed']);
  });
});

describe('events$ and traffic$', () => {
  test('emit the last value, then new ones, and complete at the end', async () => {
    const { peer, session, clock } = serve({ tools: [echo] });
    const types = collect<string>(session.events$.pipe(map(({ type }) => type)));
    const silent = collect(session.traffic$);
    expect([types, silent]).toEqual([[], []]);
    await peer.handshake();
    await peer.quiet();
    const late = collect<string>(session.events$.pipe(map(({ type }) => type)));
    expect(late).toEqual(['roots.updated']);
    clock.increment(5);
    await peer.call('echo', {});
    clock.increment(10);
    const traffic = collect<TrafficItem>(session.traffic$);
    expect(traffic).toMatchObject([{ direction: 'out', at: 5, kind: 'response' }]);
    expect(traffic.at(-1)).toEqual(silent.at(-1));
    await peer.call('echo', {});
    const another = collect<TrafficItem>(session.traffic$);
    expect(another).toEqual([traffic.at(-1)]);
    peer.end();
    await session.closed;
    expect(types).toEqual([
      'session.negotiated',
      'session.initialized',
      'roots.updated',
      'session.closed',
      'complete',
    ]);
    expect(late).toEqual(['roots.updated', 'session.closed', 'complete']);
    expect(traffic.slice(1)).toMatchObject([
      { direction: 'in', at: 15, kind: 'request', method: 'tools/call' },
      { direction: 'out', at: 15, kind: 'response' },
      'complete',
    ]);
    clock.increment(10);
    expect(collect(session.traffic$)).toEqual([traffic.at(-2), 'complete']);
    expect(collect(session.events$.pipe(map(({ type }) => type)))).toEqual([
      'session.closed',
      'complete',
    ]);
  });

  test('remember the last value and its time without subscribers', async () => {
    const { peer, session, clock } = await operate({});
    clock.increment(3);
    peer.send({ jsonrpc: '2.0', method: 'notifications/mine', params: { n: 1 } });
    await flush();
    clock.increment(4);
    expect(collect(session.traffic$)).toEqual([
      {
        direction: 'in',
        at: 3,
        kind: 'notification',
        method: 'notifications/mine',
        message: { jsonrpc: '2.0', method: 'notifications/mine', params: { n: 1 } },
      },
    ]);
  });

  test('emit a long response completely after the writer has released it', async () => {
    const { peer, session } = serve({ tools: [echo] }, { transport: 'stdio' });
    await peer.handshake();
    const text = 'x'.repeat(100_000);
    await peer.call('echo', { text });
    const [last] = collect<TrafficItem>(session.traffic$);
    expect(JSON.stringify(last)).toContain(text);
  });

  test('emit the last member of a batch in both directions', async () => {
    const { peer, session } = serve({});
    await peer.handshake({ protocolVersion: '2025-03-26' });
    const members = (id: number) => [
      { jsonrpc: '2.0', id, method: 'ping' },
      { jsonrpc: '2.0', id: id + 1, method: 'ping' },
    ];
    peer.send(members(1));
    await flush();
    const answers = collect<TrafficItem>(session.traffic$);
    expect(answers).toEqual([expect.objectContaining({ direction: 'out', id: 2 })]);
    peer.send([
      { jsonrpc: '2.0', method: 'a/a' },
      { jsonrpc: '2.0', method: 'a/b' },
    ]);
    await flush();
    const late = collect<TrafficItem>(session.traffic$);
    expect(late).toEqual([expect.objectContaining({ direction: 'in', method: 'a/b' })]);
  });

  test('emit events caused by a subscriber during the initial emission', async () => {
    const { session } = await operate({});
    const seen: string[] = [];
    session.events$.subscribe(({ type }) => {
      seen.push(type);
      if (seen.length === 1) session.shutdown('at once');
    });
    await session.closed;
    expect(seen).toEqual(['roots.updated', 'session.closed']);
  });

  test('neither miss nor repeat events if subscribed during an emission', async () => {
    const { peer, session } = serve({});
    const [nested, byType, messages] = [[], [], []] as string[][] as [string[], string[], string[]];
    session.actor.on('session.negotiated', () => {
      session.events$.subscribe(({ type }) => byType.push(type));
    });
    session.events$.pipe(take(2)).subscribe({
      next: ({ type }) => {
        if (type !== 'session.initialized') return;
        session.events$.subscribe((event) => nested.push(event.type));
      },
    });
    const firstAnswer = session.traffic$.pipe(
      filter(({ direction, kind }) => direction === 'out' && kind === 'response'),
      take(1),
    );
    firstAnswer.subscribe(() => {
      session.traffic$.subscribe(({ direction, kind }) => messages.push(`${direction} ${kind}`));
    });
    await peer.handshake();
    await peer.quiet();
    expect(byType.slice(0, 3)).toEqual([
      'session.negotiated',
      'session.initialized',
      'roots.updated',
    ]);
    expect(nested).toEqual(['session.initialized', 'roots.updated']);
    // What had passed before, then the answer during which it was subscribed.
    expect(messages.slice(0, 3)).toEqual(['in request', 'out response', 'in notification']);
  });

  test('emit every kind of message individually with its time', async () => {
    const { peer, session, clock } = await operate({}, { capabilities: { roots: {} } });
    const asked = await peer.request('roots/list');
    const all = collect<TrafficItem>(session.traffic$);
    expect(all).toMatchObject([{ direction: 'out', at: 0, method: 'roots/list', id: asked.id }]);
    clock.increment(7);
    peer.send({ jsonrpc: '2.0', id: 1, method: 'ping' }, 3);
    peer.send({ jsonrpc: '2.0', error: { code: -32700, message: 'What?' } });
    peer.send({ jsonrpc: '2.0', id: asked.id, error: { code: -32601, message: 'None' } });
    peer.send({ jsonrpc: '2.0', id: 'x', result: 3 });
    peer.send([
      { jsonrpc: '2.0', id: 2, method: 'ping' },
      { jsonrpc: '2.0', method: 'a/b' },
    ]);
    await peer.quiet();
    const traffic = all.slice(1);
    const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };
    const at = 7;
    expect(traffic.slice(0, 2)).toEqual([
      { direction: 'in', at, kind: 'request', id: 1, method: 'ping', message: ping },
      { direction: 'in', at, kind: 'invalid', problem: expect.stringContaining('JSON object') },
    ]);
    const inwards = traffic.filter((item) => item !== 'complete' && item.direction === 'in');
    expect(inwards.slice(2, 7)).toMatchObject([
      { kind: 'response', message: { error: { code: -32700 } } },
      { kind: 'response', id: asked.id, message: { id: asked.id, error: { code: -32601 } } },
      { kind: 'invalid', id: 'x' },
      { kind: 'request', id: 2 },
      { kind: 'notification', method: 'a/b', message: { jsonrpc: '2.0', method: 'a/b' } },
    ]);
    const outwards = traffic.filter((item) => item !== 'complete' && item.direction === 'out');
    expect(outwards[0]).toMatchObject({ kind: 'response', id: 1, message: { id: 1, result: {} } });
    expect(outwards[1]).toMatchObject({ kind: 'response', message: { error: { code: -32600 } } });
  });

  test('do no work without subscribers', async () => {
    const { peer, session } = await operate({});
    let heard = 0;
    const subscription = session.traffic$.subscribe(() => heard++);
    await peer.quiet();
    subscription.unsubscribe();
    const until = heard;
    expect(until).toBeGreaterThan(0);
    await peer.quiet();
    expect(heard).toBe(until);
    await firstValueFrom(session.state$.pipe(take(1)));
  });
});

test('keeps the session open if its report throws', async () => {
  const { transport, peer: wire } = memory();
  const report = () => {
    throw new Error('report');
  };
  const server = createMcpServer({ name: 'unheard', version: '1', tools: [echo] });
  const session = server.listen(transport, { report });
  const peer = new ScriptedPeer(wire);
  await peer.handshake();
  await peer.call('echo', {});
  peer.end();
  expect(await session.closed).toEqual({ kind: 'input-ended' });
});

describe('another copy of RxJS', () => {
  const require = createRequire(import.meta.url);
  const isOfRxJs = (path: string) => path.includes('/node_modules/rxjs/');
  const loaded = Object.entries(require.cache).filter(([path]) => isOfRxJs(path));
  for (const [path] of loaded) delete require.cache[path];
  const other = require('rxjs') as typeof rxjs;
  Object.assign(require.cache, Object.fromEntries(loaded));

  test('accepts the observables in from and in operators', async () => {
    expect(other.Observable).not.toBe(Observable);
    const { session } = serve({});
    const states = other.lastValueFrom(other.from(session.state$).pipe(other.toArray()));
    const shouted = session.state$.pipe(other.map((state) => state.toUpperCase()));
    expect(shouted).toBeInstanceOf(Object.getPrototypeOf(session.state$).constructor);
    expect(await other.firstValueFrom(shouted)).toBe('UNINITIALIZED');
    session.shutdown('enough');
    expect(await states).toEqual(['uninitialized', 'draining', 'closed']);
  });
});
