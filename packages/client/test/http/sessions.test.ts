/** The legacy era over HTTP: a session, its headers, its own stream, its end. */
import type { Gate } from 'mcp-actors/testing';
import { describe, expect, test } from 'vitest';
import { laboratory } from '../../../../examples/lab/laboratory.ts';
import { serveHttp } from '../../../http/test/serving.ts';
import { TestClock, gate, flush } from 'mcp-actors/testing';
import { HttpHost, errorOf } from './http-host.ts';
import { Poured, anywhere, greetedIn, jsonOf, resultOf, scriptedFetch } from './scripted-fetch.ts';
import { greeted, scriptedServer } from './scripted-server.ts';

describe('a session over HTTP', () => {
  test('with our own server is greeted, asked, and ended without a complaint', async () => {
    const url = await serveHttp(laboratory);
    const host = new HttpHost({ url: url.href });
    expect(await host.greet()).toMatchObject({ result: { serverInfo: { name: 'lab' } } });
    const call = { name: 'echo', arguments: { message: 'hi' } };
    expect(await host.request('tools/call', call)).toMatchObject({
      result: { content: [{ text: 'hi' }] },
    });
    await host.close();
    expect(host.facts.all.filter(({ level }) => level === 'warning')).toEqual([]);
  });

  test('says its version and its session on every request after the handshake [HOST-04] [HOST-07] [HOST-23]', async () => {
    const server = await scriptedServer((asked) => greeted(asked) || asked.result());
    const host = new HttpHost({ url: server.url.href, headers: { 'X-Key': 'k', Accept: 'no' } });
    await host.greet('2025-06-18');
    await host.request('ping');
    host.send({ jsonrpc: '2.0', id: 7, result: {} } as never);
    await server.next(({ message }) => message?.id === 7);
    await host.close();
    const seen = server.asked.map(({ method, message, headers }) => [
      [method, message?.method ?? message?.id].join(' ').trim(),
      headers['mcp-protocol-version'],
      headers['mcp-session-id'],
    ]);
    // The stream of the server's own is asked for beside the rest.
    expect(seen).toHaveLength(6);
    expect(seen).toEqual(
      expect.arrayContaining([
        ['POST initialize', undefined, undefined],
        ['POST notifications/initialized', '2025-06-18', 's-1'],
        ['GET', '2025-06-18', 's-1'],
        ['POST ping', '2025-06-18', 's-1'],
        ['POST 7', '2025-06-18', 's-1'],
        ['DELETE', '2025-06-18', 's-1'],
      ]),
    );
    for (const { headers, method } of server.asked) {
      expect(headers['x-key']).toBe('k');
      if (method === 'POST') {
        expect(headers['accept']).toBe('application/json, text/event-stream');
        expect(headers['content-type']).toBe('application/json');
      }
      if (method === 'GET') expect(headers['accept']).toBe('text/event-stream');
    }
  });

  test('sends nothing more until the server has taken notifications/initialized', async () => {
    const server = await scriptedServer((asked) => {
      if (asked.message?.method !== 'notifications/initialized' && !greeted(asked)) asked.result();
    });
    const host = new HttpHost({ url: server.url.href });
    await host.greet();
    const answer = host.request('ping');
    const initialized = await server.next(
      ({ message }) => message?.method === 'notifications/initialized',
    );
    expect(server.asked).toHaveLength(2);
    initialized.response.writeHead(202).end();
    expect(await answer).toEqual({ kind: 'result', result: {} });
  });

  test('a server without a stream of its own is asked for it once', async () => {
    const server = await scriptedServer((asked) => greeted(asked) || asked.result());
    const host = new HttpHost({ url: server.url.href });
    await host.greet();
    await host.facts.first(({ name }) => name === 'stream.absent');
    await host.request('ping');
    expect(server.asked.filter(({ method }) => method === 'GET')).toHaveLength(1);
    expect(host.facts.all).toMatchObject([{ level: 'debug', name: 'stream.absent' }]);
  });

  test('what comes on the own stream of the server is heard, and answered by a POST [HOST-25]', async () => {
    const server = await scriptedServer((asked) => {
      if (asked.method !== 'GET') return greeted(asked) || asked.result();
      asked.stream();
      return asked.event({ jsonrpc: '2.0', id: 'q', method: 'roots/list' });
    });
    const host = new HttpHost({ url: server.url.href });
    await host.greet();
    expect(await host.heard.first(() => true)).toMatchObject({ kind: 'request', id: 'q' });
    host.send({ jsonrpc: '2.0', id: 'q', result: { roots: [] } } as never);
    await server.next(({ message }) => message?.id === 'q');
  });

  test('ends with a DELETE that waits 2 s at most [HOST-09]', async () => {
    const server = await scriptedServer((asked) => {
      if (asked.method !== 'DELETE') greeted(asked);
    });
    const timers: [callback: () => void, delayMs: number][] = [];
    const clock = {
      now: () => 0,
      setTimeout: (callback: () => void, delayMs: number) => timers.push([callback, delayMs]),
      clearTimeout: () => {},
    };
    const host = new HttpHost({ url: server.url.href }, { clock });
    await host.greet();
    await host.facts.first(({ name }) => name === 'stream.absent');
    const closed = host.close();
    await server.next(({ method }) => method === 'DELETE');
    expect(host.reports.all.map(({ type }) => type)).toEqual(['channel.opened']);
    const [end] = timers.filter(([, delayMs]) => delayMs === 2000);
    end?.[0]();
    await closed;
    expect(host.reports.all.at(-1)).toEqual({ type: 'channel.stopped' });
  });

  test('is ended once, with all that is open in it', async () => {
    const [call, own, end] = [new Poured(), new Poured(), new Poured()];
    const { asked, fetch } = scriptedFetch((one) => {
      if (one.method === 'DELETE') return end.answer();
      if (one.method === 'GET') return own.answer();
      return greetedIn('s-1', one) ?? call.answer();
    });
    const clock = new TestClock();
    const host = new HttpHost(anywhere, { fetch, clock });
    await host.greet();
    void host.request('tools/call');
    await flush();
    host.channel.send({ type: 'channel.close' });
    host.channel.send({ type: 'channel.close' });
    await Promise.all([call, own, end].map(({ letGo }) => letGo));
    await flush();
    expect(asked.filter(({ method }) => method === 'DELETE')).toHaveLength(1);
    expect(host.reports.all.map(({ type }) => type)).toEqual(['channel.opened', 'channel.stopped']);
    expect(clock.liveTimers).toBe(0);
  });

  test('that the server has not given is not ended', async () => {
    const { asked, fetch } = scriptedFetch(resultOf);
    const host = new HttpHost(anywhere, { fetch });
    await host.initialize();
    await host.close();
    expect(asked).toHaveLength(1);
  });

  test.each<[what: string, goOn: (notice: Gate, clock: TestClock) => void]>([
    ['the server has taken it', (notice) => notice.release()],
    ['2 s have passed', (_, clock) => clock.increment(2000)],
  ])('is not ended before what was told in it, until %s', async (_, goOn) => {
    const notice = gate();
    const { asked, fetch } = scriptedFetch(async (one) => {
      if (one.message?.method === 'notifications/roots/list_changed') await notice.pass();
      return greetedIn('s-1', one);
    });
    const clock = new TestClock();
    const host = new HttpHost(anywhere, { fetch, clock });
    await host.greet();
    void host.tell('notifications/roots/list_changed');
    await notice.arrived();
    const closed = host.close();
    await flush();
    expect(asked.map(({ method }) => method)).not.toContain('DELETE');
    goOn(notice, clock);
    await closed;
    expect(asked.map(({ method }) => method)).toContain('DELETE');
  });

  test('a request that is cancelled is taken back by a message, and its stream closed [HOST-05]', async () => {
    const server = await scriptedServer((asked) => {
      if (asked.message?.method === 'tools/call') return asked.stream();
      return greeted(asked);
    });
    const host = new HttpHost({ url: server.url.href });
    await host.greet();
    void host.request('tools/call', { name: 'slow' }, 9);
    const call = await server.next(({ message }) => message?.method === 'tools/call');
    const gone = new Promise((resolve) => call.response.on('close', resolve));
    host.cancel(9);
    const told = await server.next(({ message }) => message?.method === 'notifications/cancelled');
    expect(told.message?.params).toEqual({ requestId: 9 });
    await gone;
  });
});

describe('a session that the server has forgotten', () => {
  test('is told once; a request that met it is given back, or served in the next if that is there', async () => {
    let session = 1;
    const held: (() => void)[] = [];
    const server = await scriptedServer((asked) => {
      if (greeted(asked, `s-${session}`)) return;
      if (asked.headers['mcp-session-id'] === `s-${session}`) return asked.result();
      return held.push(() => asked.text('Session not found', 'text/plain', 404));
    });
    const host = new HttpHost({ url: server.url.href }, { maxOpenRequests: 2 });
    await host.greet();
    await host.request('ping');
    session = 2;
    const lost = [host.request('tools/list'), host.request('prompts/list')];
    await server.next(() => held.length === 2);
    held[0]?.();
    await host.told('session.expired');
    await host.greet();
    // The second meets its own 404 only now, while there is a new session.
    held[1]?.();
    expect(await Promise.all(lost)).toEqual([{ kind: 'returned' }, { kind: 'result', result: {} }]);
    // What was sent again has left its place, twice.
    session = 3;
    const next = ['tools/list', 'prompts/list'].map((method) => host.request(method));
    await server.next(() => held.length === 4);
    held[2]?.();
    held[3]?.();
    await Promise.all(next);
    const told = host.reports.all.filter(({ type }) => type === 'session.expired');
    expect(told).toHaveLength(2);
  });

  test.each([404, 410])('(%i) gives back what waits for its turn, unsent', async (status) => {
    let isForgotten = false;
    const { asked, fetch } = scriptedFetch((one) => {
      if (isForgotten) return jsonOf('Session not found', status);
      return greetedIn('s-1', one) ?? resultOf(one);
    });
    const host = new HttpHost(anywhere, { fetch, maxOpenRequests: 1 });
    await host.greet();
    await host.request('ping');
    isForgotten = true;
    const lost = ['tools/list', 'prompts/list'].map((method) => host.request(method));
    expect(await Promise.all(lost)).toEqual([{ kind: 'returned' }, { kind: 'returned' }]);
    expect(asked.map(({ message }) => message?.method)).not.toContain('prompts/list');
    isForgotten = false;
    await host.greet();
    expect(await host.request('ping')).toEqual({ kind: 'result', result: {} });
  });

  test('has no stream of its own any more, and the next one has', async () => {
    let session = 's-1';
    const streams: Poured[] = [];
    const { asked, fetch } = scriptedFetch((one) => {
      if (one.method === 'GET') {
        streams.push(new Poured());
        return streams.at(-1)?.answer();
      }
      if (one.message?.id === 'q') return jsonOf('Session not found', 404);
      return greetedIn(session, one) ?? resultOf(one);
    });
    const host = new HttpHost(anywhere, { fetch });
    await host.greet();
    await host.request('ping');
    session = 's-2';
    host.send({ jsonrpc: '2.0', id: 'q', result: {} } as never);
    await host.told('session.expired');
    await streams[0]?.letGo;
    await host.greet();
    await host.request('ping');
    const gets = asked.filter(({ method }) => method === 'GET');
    expect(gets.map(({ headers }) => headers.get('mcp-session-id'))).toEqual(['s-1', 's-2']);
    // An answer is never given back: in another session nobody has asked.
    expect(host.settledAgain).toEqual([]);
  });

  test('has answered for itself alone: the next one has served nothing by that', async () => {
    let session = 's-1';
    const call = gate();
    const { fetch } = scriptedFetch(async (one) => {
      const isKnown = one.headers.get('mcp-session-id') === session;
      if (one.message?.method === 'tools/call') await call.pass();
      else if (one.message?.method?.endsWith('/list') && !isKnown) return jsonOf('Gone', 404);
      return greetedIn(session, one) ?? resultOf(one);
    });
    const host = new HttpHost(anywhere, { fetch });
    await host.greet();
    await host.request('ping');
    const outcome = host.request('tools/call');
    await call.arrived();
    session = 's-2';
    expect(await host.request('tools/list')).toEqual({ kind: 'returned' });
    await host.greet();
    call.release();
    expect(await outcome).toMatchObject({ kind: 'result' });
    session = 's-3';
    const error = errorOf(await host.request('prompts/list'));
    expect(error).toMatchObject({ code: 'CLOSED', status: 404 });
    const { loss } = await host.told('channel.lost');
    expect(loss).toEqual({
      ...{ kind: 'http', status: 404 },
      message: 'http://127.0.0.1/mcp does not know the session it just created',
    });
  });

  test('is a loss if it has served nothing: a new one would be no better', async () => {
    const server = await scriptedServer(
      (asked) => greeted(asked) || asked.text('Session not found', 'text/plain', 404),
    );
    const host = new HttpHost({ url: server.url.href });
    await host.greet();
    const outcome = await host.request('tools/list');
    expect(errorOf(outcome).code).toBe('CLOSED');
    expect(await host.told('channel.lost')).toMatchObject({ loss: { kind: 'http', status: 404 } });
  });
});

test('a notification is taken when the server has accepted it', async () => {
  const server = await scriptedServer((asked) => greeted(asked) || asked.result());
  const host = new HttpHost({ url: server.url.href });
  await host.greet();
  expect(await host.tell('notifications/roots/list_changed')).toBe('taken');
  await server.stop();
  expect(await host.tell('notifications/roots/list_changed')).toBe('rejected');
});
