/** What waits for a server, or is given up: how much it may be, and that it leaves nothing behind. */
import { gate, flush } from 'mcp-actors/testing';
import { describe, expect, test, vi } from 'vitest';
import { HttpHost, errorOf } from './http-host.ts';
import {
  Poured,
  anywhere,
  brokenWith,
  fetchingHost,
  resultOf,
  scriptedFetch,
  typesOf,
} from './scripted-fetch.ts';
import { scriptedServer } from './scripted-server.ts';
import type { Scripted } from './scripted-server.ts';

describe('what waits for a server that takes nothing', () => {
  test('is bounded: new requests are refused, and the connection hears of it', async () => {
    const held: Scripted[] = [];
    const server = await scriptedServer((asked) => held.push(asked));
    const host = new HttpHost({ url: server.url.href }, { limits: { maxOutboundBytes: 1000 } });
    host.channel.send({ type: 'channel.negotiated', revision: '2025-11-25' });
    const text = 'x'.repeat(600);
    const first = [1, 2].map((id) => host.request('tools/call', { text }, id));
    expect(errorOf(await host.request('tools/call', { text }, 3)).code).toBe('LIMIT_EXCEEDED');
    await server.next(() => held.length === 2);
    for (const asked of held) asked.result();
    await Promise.all(first);
    await host.flows.first(({ type }) => type === 'output.flowing');
    expect(host.flows.all.map(({ type }) => type)).toEqual(['output.blocked', 'output.flowing']);
    const next = host.request('ping');
    (await server.next(({ message }) => message?.method === 'ping')).result();
    expect(await next).toMatchObject({ kind: 'result' });
  });

  test('is refused if it is a request, and taken if it is not; a dump tells how much it is', async () => {
    const given = gate();
    const { host, methods } = fetchingHost(
      async (asked) => {
        if (asked.message?.method !== 'tools/call') return new Response(null, { status: 202 });
        await given.pass();
        return resultOf(asked);
      },
      { limits: { maxOutboundBytes: 1000 } },
    );
    expect(host.written).toEqual({ state: 'flowing', queuedBytes: 0 });
    const text = 'x'.repeat(1000);
    const first = host.request('tools/call', { text });
    expect(host.written).toMatchObject({ state: 'blocked' });
    expect(errorOf(await host.request('tools/list')).code).toBe('LIMIT_EXCEEDED');
    host.send({ jsonrpc: '2.0', id: 'q', result: {} } as never);
    expect(await host.tell('notifications/roots/list_changed')).toBe('taken');
    expect(methods()).toEqual(['tools/call', 'POST', 'notifications/roots/list_changed']);
    given.release();
    await first;
    await host.flows.first(({ type }) => type === 'output.flowing');
    expect(host.written).toEqual({ state: 'flowing', queuedBytes: 0 });
  });

  test.each([
    ['', [], 64],
    [', also before it has taken notifications/initialized', ['notifications/initialized'], 1],
  ])('is told once if it is too many answers%s', async (_, first, open) => {
    const { host, asked } = fetchingHost(() => undefined);
    for (const method of first) host.notify(method);
    for (let told = 0; told < 64 + 1024 + 3; told++) host.notify('notifications/x');
    await flush();
    expect(asked).toHaveLength(open);
    expect(host.facts.all.map(({ name }) => name)).toEqual(['answers.waiting']);
    // Its end would wait for them.
    host.channel.stop();
  });

  test('is nothing that cannot be written', async () => {
    const { host, asked } = fetchingHost(() => undefined);
    const { error } = (await host.request('tools/call', { n: 1n as never })) as { error: Error };
    expect(error.message).toContain('BigInt');
    await flush();
    expect(asked).toEqual([]);
  });

  test('is not given back if it was taken back before', async () => {
    const { host } = fetchingHost(
      () => {
        host.cancel('waiting');
        return brokenWith('ECONNREFUSED');
      },
      { maxOpenRequests: 1 },
    );
    const settled = vi.fn();
    const sent = host.request('tools/call');
    void host.request('tools/call', {}, 'waiting').then(settled);
    expect(await sent).toEqual({ kind: 'returned' });
    await flush();
    expect(settled).not.toHaveBeenCalled();
  });

  test('starts in its order, so many at once; an answer waits for no request', async () => {
    const held: Scripted[] = [];
    const server = await scriptedServer((asked) =>
      asked.message?.method ? held.push(asked) : asked.text('', '', 202),
    );
    const host = new HttpHost({ url: server.url.href }, { maxOpenRequests: 2 });
    host.channel.send({ type: 'channel.negotiated', revision: '2025-11-25' });
    const calls = ['a', 'b', 'c', 'd'].map((id) => host.request('tools/call', {}, id));
    await server.next(() => held.length === 2);
    host.send({ jsonrpc: '2.0', id: 'q', result: {} } as never);
    await server.next(({ message }) => message?.id === 'q');
    // What is taken back before its turn is never sent.
    host.cancel('c');
    held[0]?.result();
    await server.next(({ message }) => message?.id === 'd');
    for (const asked of held.slice(1)) asked.result();
    await Promise.all([calls[0], calls[1], calls[3]]);
    expect(held.map(({ message }) => message?.id)).toEqual(['a', 'b', 'd']);
  });
});

describe('what a host has given up', () => {
  test('is let go of when its answer comes, and nothing is told of it', async () => {
    const given = gate();
    const body = new Poured();
    const { host, methods } = fetchingHost(async () => {
      await given.pass();
      return body.answer('application/json');
    });
    const settled = vi.fn();
    void host.ask('tools/call', {}, 5).then(settled);
    await given.arrived();
    host.cancel(5);
    await flush();
    expect(host.written).toEqual({ state: 'flowing', queuedBytes: 0 });
    given.release();
    await body.letGo;
    expect([methods(), typesOf(host)]).toEqual([['tools/call'], ['channel.opened']]);
    expect(settled).not.toHaveBeenCalled();
  });

  test('has its stream let go of, and what was read of it is not heard', async () => {
    const body = new Poured();
    const { host } = fetchingHost(() => body.answer());
    void host.ask('tools/call', {}, 5);
    host.flow('output.blocked');
    body.event({ jsonrpc: '2.0', method: 'notifications/message', params: {} });
    await flush();
    host.cancel(5);
    await body.letGo;
    host.flow('output.flowing');
    await flush();
    expect(host.heard.all).toEqual([]);
  });

  test('breaks, and is no loss, even in the handshake', async () => {
    const body = new Poured();
    const { fetch } = scriptedFetch(() => body.answer('application/json'));
    const host = new HttpHost(anywhere, { fetch });
    void host.ask('server/discover', {}, 1);
    await flush();
    host.cancel(1);
    body.break(new Error('It broke'));
    await flush();
    expect(typesOf(host)).toEqual(['channel.opened']);
  });

  test('is refused, and nothing more is asked of its server', async () => {
    const body = new Poured();
    const { fetch, asked } = scriptedFetch(() => body.answer('text/plain', 404));
    const host = new HttpHost(anywhere, { fetch });
    void host.initialize();
    await flush();
    await host.close();
    body.end();
    await flush();
    expect(asked).toHaveLength(1);
  });
});
