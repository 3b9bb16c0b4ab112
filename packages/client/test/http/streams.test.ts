/** The streams of requests: cut, resumed, given up. */
import { describe, expect, test } from 'vitest';
import { Transitions } from '../../../../src/actors/transitions.ts';
import { retryAfterMs } from '../../src/http/failures.ts';
import type { HttpResponse } from '../../src/http/response.ts';
import { ReadGate } from '../../src/http/server-stream.ts';
import { flush } from 'mcp-actors/testing';
import { HttpHost, errorOf } from './http-host.ts';
import type { HostOptions } from './http-host.ts';
import { Poured, anywhere, greetedIn, scriptedFetch } from './scripted-fetch.ts';
import { greeted, scriptedServer } from './scripted-server.ts';
import type { Scripted } from './scripted-server.ts';
import { WaitClock, nightMs } from './wait-clock.ts';

const answer = ({ message }: Scripted) => ({ jsonrpc: '2.0', id: message?.id, result: { ok: 1 } });
const note = { jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info' } };
const isCall = ({ message }: Scripted) => message?.method === 'tools/call';
const isResumption = ({ headers }: Scripted) => headers['last-event-id'] !== undefined;

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

/** The same without sockets: calls are answered by this stream. */
async function pouring(body: Poured, options: HostOptions = {}) {
  const { asked, fetch } = scriptedFetch((one) => greetedIn('s-1', one) ?? body.answer());
  const host = new HttpHost(anywhere, { fetch, ...options });
  await host.greet();
  await host.tell('notifications/roots/list_changed');
  return { host, asked };
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

  test('settles its request if the resumed response is not an event stream', async () => {
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
    expect(error.message).toMatch(/must be an event stream$/);
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
      /^The stream of tools\/call was cut before it was complete: (?!the connection ended|terminated)\w/,
    );
    expect(host.pauses).toEqual([]);
    expect(server.asked.filter(isResumption)).toEqual([]);
  });

  test.each<[what: unknown, why: string]>([
    [new TypeError('terminated', { cause: new Error('other side closed') }), 'other side closed'],
    [new Error('other side closed'), 'other side closed'],
    ['closed', 'closed'],
    [null, 'null'],
  ])('that breaks with %j is resumed, but has not paused', async (thrown, why) => {
    const [body, clock] = [new Poured(), new WaitClock()];
    const { host, asked } = await pouring(body, { clock, streamRetry: { maxAttempts: 1 } });
    const outcome = host.request('tools/call');
    body.write('id: 1\ndata:\n\n');
    await flush();
    body.break(thrown);
    await clock.pass(1);
    await flush();
    expect(asked.at(-1)?.headers.get('last-event-id')).toBe('1');
    expect(asked.at(-1)?.method).toBe('GET');
    expect(host.pauses).toEqual([]);
    expect(errorOf(await outcome).code).toBe('CLOSED');
    const other = new Poured();
    const alone = await pouring(other);
    const lost = alone.host.request('tools/call');
    await flush();
    other.break(thrown);
    expect(errorOf(await lost).message).toBe(
      `The stream of tools/call was cut before it was complete: ${why}`,
    );
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
        /^The stream of tools\/call was cut before the answer and cannot be resumed: .* status 400: no such event$/,
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
      'not a word',
      ({ response }) => response.destroy(),
      /before the answer to the rest of tools\/call: /,
    ],
    [
      'nothing but comments',
      (asked) => {
        asked.stream();
        return asked.response.end(': here\n\n');
      },
      /was cut before it was complete/,
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

  test('is seen by who watches the machines of the connection', async () => {
    const observedTransitions = new Transitions(() => {});
    const seen: [machine: string, id: string, type: string][] = [];
    observedTransitions.listen(({ machine, actor, event }) => {
      seen.push([machine, actor.id, event.type]);
    });
    const body = new Poured();
    const { host } = await pouring(body, { observed: { observedTransitions } });
    const outcome = host.request('tools/call', {}, 2);
    await flush();
    const shown = () => host.machines.map(([id]) => id);
    expect(shown()).toContain('tools/call');
    body.event(note);
    await flush();
    body.event({ jsonrpc: '2.0', id: 2, result: {} });
    await outcome;
    await flush();
    expect(shown()).not.toContain('tools/call');
    expect(host.heard.all).toHaveLength(1);
    expect(seen).toContainEqual(['stream', 'tools/call', 'stream.finished']);
  });

  test.each(['\n', '\r\n', '\r'])(
    'may come in single bytes, with lines that end in %j',
    async (end) => {
      const body = new Poured();
      const { host } = await pouring(body);
      const outcome = host.request('tools/call', {}, 2);
      const text = `id: 1\ndata: {"jsonrpc":"2.0","id":2,\ndata: "result":{"text":"ü €😀"}}\n\n`;
      for (const byte of Buffer.from(text.replaceAll('\n', end))) body.write(Uint8Array.of(byte));
      expect(await outcome).toEqual({ kind: 'result', result: { text: 'ü €😀' } });
    },
  );

  test.each([
    [
      'an empty piece between the two ends of a line',
      ['data: {"jsonrpc":"2.0",\r', '', '\ndata: '],
    ],
    ['lines that are no fields', ['hello\n', 'retry: soon\n', 'data: {"jsonrpc":"2.0",']],
  ])('may have %s', async (_, pieces) => {
    const body = new Poured();
    const { host } = await pouring(body);
    const outcome = host.request('tools/call', {}, 2);
    for (const piece of [...pieces, '"id":2,"result":{}}\r\n\r\n']) {
      body.write(piece);
      await flush();
    }
    expect(await outcome).toEqual({ kind: 'result', result: {} });
  });

  test('is left as it is when the computer has slept: its answer is asked for by its own time', async () => {
    const [body, clock] = [new Poured(), new WaitClock()];
    const { host, asked } = await pouring(body, { clock });
    const outcome = host.request('tools/call', {}, 2);
    body.write('id: 1\ndata:\n\n');
    await flush();
    const { length } = asked;
    clock.increment(nightMs);
    clock.increment(nightMs);
    await flush();
    expect(asked).toHaveLength(length);
    body.event({ jsonrpc: '2.0', id: 2, result: {} });
    expect(await outcome).toMatchObject({ kind: 'result' });
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
      'On the answer to tools/call: Invalid request: A message must be a JSON object, got 17: 17',
    );
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
