/** The stream on which a server says what answers no request: opened anew, given up, ended with its session. */
import { TestClock, flush } from 'mcp-actors/testing';
import { describe, expect, test, vi } from 'vitest';
import { HttpHost } from './http-host.ts';
import {
  Poured,
  anywhere,
  brokenWith,
  greetedIn,
  jsonOf,
  resultOf,
  scriptedFetch,
} from './scripted-fetch.ts';
import type { Fetched } from './scripted-fetch.ts';
import { greeted, scriptedServer } from './scripted-server.ts';
import type { Scripted } from './scripted-server.ts';
import { WaitClock, nightMs } from './wait-clock.ts';

const note = { jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info' } };

describe("the server's own stream", () => {
  async function withStream(script: (asked: Scripted, nth: number) => unknown) {
    let nth = 0;
    const server = await scriptedServer((asked) =>
      asked.method === 'GET' ? script(asked, ++nth) : greeted(asked) || asked.result(),
    );
    const clock = new WaitClock();
    const host = new HttpHost({ url: server.url.href }, { clock });
    await host.greet();
    return { server, host, clock };
  }

  test('is opened anew after a cut, with the id of its last event if there is one', async () => {
    const { server, host, clock } = await withStream((asked, nth) => {
      asked.stream();
      if (nth === 1) asked.response.end();
      else if (nth === 2) asked.response.end('id: e-7\ndata:\n\n');
      else asked.event(note);
    });
    await clock.pass(1);
    await clock.pass(2);
    await host.heard.first(() => true);
    const ids = server.asked.filter(({ method }) => method === 'GET');
    expect(ids.map(({ headers }) => headers['last-event-id'])).toEqual([
      undefined,
      undefined,
      'e-7',
    ]);
  });

  /** The same without sockets. */
  async function withPoured(
    script: (asked: Fetched, nth: number) => unknown,
    clock = new WaitClock(),
  ) {
    let nth = 0;
    const { asked, fetch } = scriptedFetch((one) =>
      one.method === 'GET' ? script(one, ++nth) : (greetedIn('s-1', one) ?? resultOf(one)),
    );
    const host = new HttpHost(anywhere, { fetch, clock });
    await host.greet();
    await host.request('ping');
    const gets = () => asked.filter(({ method }) => method === 'GET');
    return { host, gets, clock };
  }

  test.each([
    ['longer than a header may be', 'x'.repeat(5000)],
    ['no text for a header', 'a\u0001b'],
  ])('is opened anew without an id that is %s', async (_, id) => {
    const [first, second] = [new Poured(), new Poured()];
    const { gets, clock } = await withPoured((_, nth) => (nth === 1 ? first : second).answer());
    first.write(`id: 1\ndata:\n\nid: ${id}\ndata:\n\n`);
    first.end();
    await clock.pass(1);
    await flush();
    expect(gets().map(({ headers }) => headers.has('last-event-id'))).toEqual([false, false]);
  });

  test('is opened anew when the computer has slept, and what comes on the old one is not heard', async () => {
    const [old, next] = [new Poured(), new Poured()];
    const { host, gets, clock } = await withPoured((_, nth) => (nth === 1 ? old : next).answer());
    host.flow('output.blocked');
    old.event(note);
    await flush();
    clock.increment(nightMs);
    // Each stream has a moment of its own within two seconds.
    clock.increment(2000);
    await old.letGo;
    host.flow('output.flowing');
    next.event({ ...note, method: 'notifications/next' });
    await host.heard.first(() => true);
    expect(host.heard.all).toMatchObject([{ method: 'notifications/next' }]);
    expect(gets()).toHaveLength(2);
  });

  test.each<[what: string, answer: () => Response]>([
    ['elsewhere', () => new Response(null, { status: 302, headers: { location: 'http://b/' } })],
    ['to a login', () => new Response(null, { status: 401 })],
    ['away', () => jsonOf({}, 404)],
  ])('that a server sends %s is absent, and nothing else', async (_, answer) => {
    const { host } = await withPoured(answer);
    await host.facts.first(({ name }) => name === 'stream.absent');
    expect(host.facts.all).toMatchObject([
      {
        level: 'debug',
        name: 'stream.absent',
        message: expect.stringMatching(/^the server's own stream: .*(?:302|401|404)/) as string,
      },
    ]);
    expect(host.reports.all).toHaveLength(1);
    expect(host.machines.map(([id]) => id)).toEqual(['http-channel']);
  });

  test('is shown while it is open', async () => {
    const { host } = await withPoured(() => new Poured().answer());
    expect(host.machines.slice(1)).toEqual([
      ["the server's own stream", 'open'],
      ['server-push', 'served'],
    ]);
  });

  test('that is refused after it was served has ended; the session has not', async () => {
    const body = new Poured();
    const { host, clock } = await withPoured((_, nth) =>
      nth === 1 ? body.answer() : jsonOf({}, 400),
    );
    body.end();
    await clock.pass(1);
    const { level } = await host.facts.first(({ name }) => name === 'stream.ended');
    expect(level).toBe('warning');
    expect(host.reports.all).toHaveLength(1);
  });

  test('is a loss if nobody is there any more', async () => {
    const body = new Poured();
    const { host, clock } = await withPoured((_, nth) =>
      nth === 1 ? body.answer() : brokenWith('ECONNREFUSED'),
    );
    body.end();
    for (let wait = 1; wait <= 4; wait++) await clock.pass(wait);
    expect(await host.told('channel.lost')).toMatchObject({
      loss: { kind: 'unreachable', error: { code: 'CLOSED' } },
    });
  });

  test('is let go of if the server opens it after the end', async () => {
    const body = new Poured();
    let open: (answer: Response) => void = () => {};
    const { host } = await withPoured(
      () =>
        new Promise<Response>((resolve) => {
          open = resolve;
        }),
    );
    await host.close();
    open(body.answer());
    await body.letGo;
  });

  test('is not asked for again after the end', async () => {
    const warned = vi.spyOn(console, 'warn');
    const [clock, body] = [new TestClock(), new Poured()];
    const { fetch, asked } = scriptedFetch((one) =>
      one.method === 'GET' ? body.answer() : (greetedIn('s-1', one) ?? resultOf(one)),
    );
    const host = new HttpHost(anywhere, { fetch, clock });
    await host.greet();
    await host.request('ping');
    await host.close();
    const { length } = asked;
    clock.increment(nightMs);
    await flush();
    expect(asked).toHaveLength(length);
    expect(clock.liveTimers).toBe(0);
    const toNobody = expect.stringContaining('was sent to stopped actor') as string;
    expect(warned).not.toHaveBeenCalledWith(toNobody);
  });

  const forgottenWith =
    (status: number) =>
    (asked: Scripted, nth: number): unknown => {
      if (nth === 2) return asked.text('', '', status);
      asked.stream();
      return asked.response.end('id: e-7\ndata:\n\n');
    };

  test.each([404, 410])(
    'that is answered with %i means that the session is over',
    async (status) => {
      const { host, clock } = await withStream(forgottenWith(status));
      await host.request('ping');
      await clock.pass(1);
      await host.told('session.expired');
    },
  );

  test('of a session that has served nothing is a loss: a new one would be no better', async () => {
    const { host, clock } = await withStream(forgottenWith(404));
    expect(await host.tell('notifications/roots/list_changed')).toBe('taken');
    await clock.pass(1);
    expect(await host.told('channel.lost')).toMatchObject({ loss: { kind: 'http', status: 404 } });
  });

  test('is given up after five attempts, which is told, and ends nothing else', async () => {
    const { host, clock } = await withStream((asked) => asked.text('', '', 502));
    for (let wait = 1; wait <= 4; wait++) await clock.pass(wait);
    const told = await host.facts.first(({ name }) => name === 'stream.ended');
    expect(told.level).toBe('warning');
    expect(told.message).toMatch(/^the server's own stream: .* status 502/);
    expect(host.reports.all.map(({ type }) => type)).toEqual(['channel.opened']);
  });

  test('may have what is no message, which is told and costs nothing else', async () => {
    const { host } = await withStream((asked) => {
      asked.stream();
      asked.event('17');
      asked.event(note);
    });
    expect(await host.heard.first(() => true)).toMatchObject({ kind: 'notification' });
    const { message } = await host.facts.first(({ name }) => name === 'frame.invalid');
    expect(message).toMatch(/^On the server's own stream: Invalid request: /);
  });

  test('ends with the channel', async () => {
    const { host, server } = await withStream((asked) => {
      if (asked.method === 'GET') asked.stream();
    });
    const { response } = await server.next(({ method }) => method === 'GET');
    const gone = new Promise((resolve) => response.on('close', resolve));
    await host.close();
    await gone;
  });
});
