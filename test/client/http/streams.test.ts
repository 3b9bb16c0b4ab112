/** Streams that are cut, resumed, given up: that of a request, and the server's own. */
import { describe, expect, test } from 'vitest';
import { SimulatedClock } from 'xstate';
import { sleepLookMs } from '../../../src/actors/sleep.ts';
import { retryAfterMs } from '../../../src/client/http/failures.ts';
import type { HttpResponse } from '../../../src/client/http/response.ts';
import { ReadGate } from '../../../src/client/http/server-stream.ts';
import { streamResumption } from '../../../src/machines/http-stream.machine.ts';
import { Arrivals, HttpHost, errorOf } from './http-host.ts';
import { greeted, scriptedServer } from './scripted-server.ts';
import type { Scripted } from './scripted-server.ts';

const answer = ({ message }: Scripted) => ({ jsonrpc: '2.0', id: message?.id, result: { ok: 1 } });
const note = { jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info' } };
const isCall = ({ message }: Scripted) => message?.method === 'tools/call';
const isResumption = ({ headers }: Scripted) => headers['last-event-id'] !== undefined;

/** A clock that says how long each stream waits until it is resumed, and lets that pass. */
class WaitClock extends SimulatedClock {
  readonly #waits = new Arrivals<number>();

  override setTimeout(callback: () => void, delayMs: number): number {
    const isAside = delayMs === streamResumption.stableMs || delayMs === sleepLookMs;
    if (!isAside) this.#waits.add(delayMs);
    return super.setTimeout(callback, delayMs);
  }

  /** Lets the wait with this number pass, once it has begun. */
  async pass(number: number): Promise<number> {
    await this.#waits.first(() => this.#waits.all.length >= number);
    const wait = this.#waits.all[number - 1] ?? 0;
    this.increment(wait);
    return wait;
  }
}

/** A host whose handshake is over, and the requests that its script answers besides. */
async function connected(script: (asked: Scripted) => unknown) {
  const server = await scriptedServer((asked) => {
    if (isCall(asked) || isResumption(asked)) return script(asked);
    return greeted(asked);
  });
  const clock = new WaitClock();
  const host = new HttpHost({ url: server.url.href }, { clock });
  await host.greet();
  await host.facts.first(({ name }) => name === 'stream.absent');
  return { server, clock, host };
}

describe('the stream of a request', () => {
  test('gives what comes before its answer, and the answer [HOST-25]', async () => {
    const { host } = await connected((asked) => {
      asked.stream();
      asked.event(note);
      asked.event(answer(asked));
      asked.response.end();
    });
    expect(await host.request('tools/call')).toEqual({ kind: 'result', result: { ok: 1 } });
    expect(host.heard.all).toMatchObject([{ method: 'notifications/message' }]);
  });

  test('is resumed where it was cut, by the id of its last event, on itself alone [HOST-06] [HOST-23]', async () => {
    const { host, server, clock } = await connected((asked) => {
      if (isResumption(asked)) {
        asked.stream();
        asked.event({ jsonrpc: '2.0', id: 2, result: { ok: 1 } }, 'ü-2');
        return;
      }
      asked.stream();
      asked.event('', 'p-0');
      asked.event(note, 'ü-1');
      // The id stays that of the event before.
      asked.event(note);
      asked.response.end();
    });
    const outcome = host.request('tools/call', {}, 2);
    expect(await clock.pass(1)).toBe(1000);
    expect(await outcome).toEqual({ kind: 'result', result: { ok: 1 } });
    expect(host.pauses).toEqual([2]);
    expect(host.facts.all.map(({ name }) => name)).toEqual(['stream.absent']);
    const [resumed] = server.asked.filter(isResumption);
    const id = Buffer.from(String(resumed?.headers['last-event-id']), 'latin1').toString();
    expect([resumed?.method, id]).toEqual(['GET', 'ü-1']);
    expect(resumed?.headers['mcp-session-id']).toBe('s-1');
    expect(resumed?.headers['mcp-protocol-version']).toBe('2025-11-25');
    expect(resumed?.headers['accept']).toBe('text/event-stream');
  });

  test('is resumed after as long as the server says [HOST-22]', async () => {
    const { host, clock } = await connected((asked) => {
      asked.stream();
      if (isResumption(asked)) asked.event({ jsonrpc: '2.0', id: 2, result: {} });
      else asked.response.end('retry: 500\nid: 1\ndata:\n\n');
    });
    const outcome = host.request('tools/call', {}, 2);
    expect(await clock.pass(1)).toBe(500);
    expect(await outcome).toMatchObject({ kind: 'result' });
  });

  test.each([408, 429, 500, 503])(
    'that is answered with status %i is resumed after its Retry-After',
    async (status) => {
      let asks = 0;
      const { host, clock } = await connected((asked) => {
        if (isResumption(asked) && ++asks === 1) {
          asked.response.writeHead(status, { 'retry-after': '7' });
          return asked.response.end();
        }
        asked.stream();
        if (asks > 0) return asked.event({ jsonrpc: '2.0', id: 2, result: {} });
        asked.event(note, '1');
        return asked.response.end();
      });
      const outcome = host.request('tools/call', {}, 2);
      await clock.pass(1);
      expect(await clock.pass(2)).toBe(7000);
      expect(await outcome).toMatchObject({ kind: 'result' });
    },
  );

  test.each([
    ['7', 7000],
    [' 0 ', 0],
    ['Mon, 23 Nov 2026 12:00:05 GMT', 5000],
    ['Mon, 23 Nov 2026 11:59:59 GMT', 0],
    ['', undefined],
    ['soon', undefined],
    ['-5x', undefined],
  ])('waits as long as Retry-After says, in seconds or until a date: %j', (said, ms) => {
    const header = (name: string) => (name === 'retry-after' ? said : undefined);
    const now = () => Date.parse('2026-11-23T12:00:00Z');
    expect(retryAfterMs({ header } as HttpResponse, now)).toBe(ms);
  });

  test('that is left open after the answer is closed a second later', async () => {
    const { host, server, clock } = await connected((asked) => {
      asked.stream();
      asked.event(answer(asked));
    });
    expect(await host.request('tools/call')).toMatchObject({ kind: 'result' });
    const { response } = await server.next(isCall);
    const closed = new Promise((resolve) => response.once('close', resolve));
    expect(await clock.pass(1)).toBe(1000);
    await closed;
  });

  test('goes on after a request of the server that has the same id', async () => {
    const { host, server, clock } = await connected((asked) => {
      asked.stream();
      asked.event({ jsonrpc: '2.0', id: 2, method: 'roots/list' });
    });
    const outcome = host.request('tools/call', {}, 2);
    await host.heard.first(({ kind }) => kind === 'request');
    clock.increment(1000);
    (await server.next(isCall)).event({ jsonrpc: '2.0', id: 2, result: { ok: 1 } });
    expect(await outcome).toEqual({ kind: 'result', result: { ok: 1 } });
  });

  test('is not read while the server takes nothing', async () => {
    const { host, server } = await connected((asked) => asked.stream());
    const outcome = host.request('tools/call');
    const call = await server.next(isCall);
    host.flow('output.blocked');
    call.event(note);
    call.event(answer(call));
    // What is read would be there before this.
    expect(await host.tell('notifications/roots/list_changed')).toBe('taken');
    expect(host.heard.all).toEqual([]);
    host.flow('output.flowing');
    expect(await outcome).toMatchObject({ kind: 'result' });
    expect(host.heard.all).toHaveLength(1);
  });

  test('that is being resumed ends with the channel', async () => {
    const { host, server, clock } = await connected((asked) => {
      if (isResumption(asked)) return;
      asked.stream();
      asked.event(note, '1');
      asked.response.end();
    });
    void host.request('tools/call');
    await clock.pass(1);
    const { response } = await server.next(isResumption);
    const gone = new Promise((resolve) => response.on('close', resolve));
    await host.close();
    await gone;
  });

  test('settles its request if what should resume it is no stream of events', async () => {
    const { host, clock } = await connected((asked) => {
      if (isResumption(asked)) return asked.text('data: {}\n\n', 'text/plain', 200);
      asked.stream();
      asked.event(note, '1');
      return asked.response.end();
    });
    const outcome = host.request('tools/call');
    await clock.pass(1);
    const error = errorOf(await outcome);
    expect(error.code).toBe('PROTOCOL_VIOLATION');
    expect(error.message).toMatch(/is no stream of events$/);
  });

  test.each([
    ['taken back by an empty one', 'id: 1\ndata:\n\nid\ndata:\n\n'],
    ['longer than a header may be', `id: ${'x'.repeat(5000)}\ndata:\n\n`],
    ['no text for a header', 'id: a\u0001b\ndata:\n\n'],
  ])('settles its request at once if it is cut after an event id that is %s', async (_, text) => {
    const { host, server } = await connected((asked) => {
      asked.stream();
      asked.response.end(text);
    });
    expect(errorOf(await host.request('tools/call')).code).toBe('CLOSED');
    expect(server.asked.filter(({ method }) => method === 'GET')).toHaveLength(1);
  });

  test('settles its request at once if it is cut without an event id', async () => {
    const { host, server } = await connected((asked) => {
      asked.stream();
      asked.event(note);
      asked.response.socket?.destroySoon();
    });
    const error = errorOf(await host.request('tools/call'));
    expect(error.code).toBe('CLOSED');
    expect(error.message).toMatch(
      /^The stream of tools\/call was cut before all was said: (?!it has ended|terminated)\w/,
    );
    expect(host.pauses).toEqual([]);
    expect(server.asked.filter(isResumption)).toEqual([]);
  });

  test('settles its request if the server does not resume it', async () => {
    const { host, clock } = await connected((asked) => {
      if (isResumption(asked)) return asked.text('no such event', 'text/plain', 400);
      asked.stream();
      asked.event(note, '1');
      return asked.response.end();
    });
    const outcome = host.request('tools/call');
    await clock.pass(1);
    expect(errorOf(await outcome)).toMatchObject({
      code: 'CLOSED',
      message: expect.stringMatching(
        /^The stream of tools\/call was cut before the answer, and cannot be resumed: .* status 400: no such event$/,
      ) as string,
      cause: { code: 'HTTP_STATUS', status: 400 },
    });
  });

  test('is resumed as often as something comes on it', async () => {
    let streams = 0;
    const { host, clock } = await connected((asked) => {
      asked.stream();
      if (++streams === 8) return asked.event({ jsonrpc: '2.0', id: 2, result: {} });
      asked.event(note, `${streams}`);
      return asked.response.end();
    });
    const outcome = host.request('tools/call', {}, 2);
    for (let wait = 1; wait < 8; wait++) await clock.pass(wait);
    expect(await outcome).toMatchObject({ kind: 'result' });
  });

  test.each<[string, (asked: Scripted) => unknown, RegExp]>([
    ['nothing', (asked) => asked.text('', '', 503), /status 503$/],
    [
      'nothing but comments',
      (asked) => {
        asked.stream();
        return asked.response.end(': here\n\n');
      },
      /was cut before all was said/,
    ],
  ])(
    'is asked for five times while %s more comes, then the request is settled',
    async (_, more, message) => {
      const { host, clock } = await connected((asked) => {
        if (isResumption(asked)) return more(asked);
        asked.stream();
        asked.event(note, '1');
        return asked.response.end();
      });
      const outcome = host.request('tools/call');
      for (let attempt = 1; attempt <= 5; attempt++) await clock.pass(attempt);
      expect(errorOf(await outcome).message).toMatch(message);
    },
  );

  test.each(['\n', '\r\n', '\r'])('whose lines end in %j is read as it comes', async (end) => {
    const { host } = await connected((asked) => {
      asked.stream();
      const text = JSON.stringify(answer(asked));
      // The stream stays open, and a blank line is all that there is to end the event.
      asked.response.write(`\ufeffevent: message${end}: a comment${end}data: ${text}${end}${end}`);
    });
    expect(await host.request('tools/call')).toEqual({ kind: 'result', result: { ok: 1 } });
  });

  test('may come in single bytes', async () => {
    const { host } = await connected(async (asked) => {
      asked.stream();
      const { id } = asked.message ?? {};
      const text = JSON.stringify({ jsonrpc: '2.0', id, result: { text: 'ü €😀' } });
      for (const byte of Buffer.from(`id: 1\r\ndata: ${text}\r\n\r\n`)) {
        await new Promise((resolve) => asked.response.write(Buffer.from([byte]), resolve));
      }
    });
    expect(await host.request('tools/call')).toEqual({
      kind: 'result',
      result: { text: 'ü €😀' },
    });
  });

  test('an event that is no message costs nothing but itself', async () => {
    const { host } = await connected((asked) => {
      asked.stream();
      for (const text of ['{"jsonrpc":', '17', '{"id":1}', '[]']) asked.event(text);
      asked.response.write('event: ping\ndata: {}\n\n');
      asked.event(answer(asked));
    });
    expect(await host.request('tools/call')).toMatchObject({ kind: 'result' });
    const invalid = host.facts.all.filter(({ name }) => name === 'frame.invalid');
    expect(invalid.map(({ level }) => level)).toEqual(Array(4).fill('warning'));
    expect(invalid[1]?.message).toBe(
      'On the answer to tools/call: Invalid request: A message is a JSON object, this is 17: 17',
    );
  });
});

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

test('streams are read again only once there is no reason left not to', () => {
  const gate = new ReadGate();
  expect(gate.opened).toBeUndefined();
  expect([gate.shut('untaken'), gate.shut('untaken'), gate.shut('unsent')]).toEqual([
    true,
    false,
    true,
  ]);
  gate.open('unanswered');
  gate.open('untaken');
  expect(gate.opened).toBeInstanceOf(Promise);
  gate.open('unsent');
  expect(gate.opened).toBeUndefined();
});
