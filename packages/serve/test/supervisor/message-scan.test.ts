import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ByteLines } from '../../src/supervisor/byte-lines.ts';
import { HostRequests } from '../../src/supervisor/host-requests.ts';
import { isBatch, memberOf, scanLine, scanOne } from '../../src/supervisor/message-scan.ts';
import type { ScannedMessage } from '../../src/supervisor/message-scan.ts';
import { ServerQuestions } from '../../src/supervisor/server-questions.ts';

const line = (value: unknown): Buffer => Buffer.from(`${JSON.stringify(value)}\n`);

type Request = ScannedMessage & { readonly id: string; readonly method: string };
const requestIn = (text: Buffer): Request => scanOne(text) as Request;

describe('a scanned message', () => {
  test('agrees with JSON.parse for any content and spacing', () => {
    const member = fc.constantFrom('id', 'method', 'params', 'error', 'result', 'x"\\y', 'ü');
    const object = fc.dictionary(member, fc.jsonValue({ maxDepth: 3 }));
    fc.assert(
      fc.property(object, fc.constantFrom(undefined, 1, '\t'), (value, space) => {
        const text = `${JSON.stringify(value, undefined, space)?.replaceAll('\n', ' ')}\n`;
        const bytes = Buffer.from(text);
        const message = scanOne(bytes);
        expect(message).toBeDefined();
        const { method, params, isError, idSpan, span } = message as ScannedMessage;
        expect(method).toEqual(typeof value['method'] === 'string' ? value['method'] : undefined);
        expect(isError).toBe('error' in value);
        expect(bytes.toString('utf8', span.from, span.to)).toBe(text.trimEnd());
        for (const [name, found] of [
          ['params', params],
          ['id', idSpan],
        ] as const) {
          const read: unknown = found && JSON.parse(bytes.toString('utf8', found.from, found.to));
          expect(read).toEqual(JSON.parse(text)[name]);
        }
      }),
      { numRuns: 500 },
    );
  });

  test('is undefined for a truncated line', () => {
    const whole = JSON.stringify({ id: 1, method: 'a', params: { 'b\\': ['"', { c: '}' }] } });
    for (let length = 0; length < whole.length; length++) {
      expect(scanLine(Buffer.from(whole.slice(0, length)))).toBeUndefined();
    }
  });

  test.each([
    ['1', '1.0'],
    ['1', '10e-1'],
    ['"a"', String.raw`"\u0061"`],
  ])('has the same id for %s and %s', (one, other) => {
    const [first, second] = [one, other].map((id) => scanOne(Buffer.from(`{"id":${id}}`))?.id);
    expect(first).toBe(second);
    expect(scanOne(Buffer.from(`{"id":${JSON.stringify(one)}}`))?.id).not.toBe(first);
  });

  test('uses the last of duplicate members, also with escaped names', () => {
    const text = String.raw`{"method":"one","\u006dethod":"two"}`;
    expect(scanOne(Buffer.from(text))?.method).toBe('two');
  });

  test('is found in a batch and after a byte order mark', () => {
    const found = scanLine(Buffer.from(' [ {"id":1}, {"id":"2"} ]'));
    expect(isBatch(found) && found.map(({ id }) => id)).toEqual(['1', '"2']);
    expect(scanOne(Buffer.from('\ufeff{"id":1}'))?.id).toBe('1');
  });

  test('is found in deep and long lines without recursion', () => {
    const deep = `{"a":${'['.repeat(1e6)}${']'.repeat(1e6)},"id":7}`;
    expect(scanOne(Buffer.from(deep))?.id).toBe('7');
    const long = `{"a":"${'\\"\\\\'.repeat(1e6)}","id":7}`;
    expect(scanOne(Buffer.from(long))?.id).toBe('7');
  });
});

describe('lines of bytes', () => {
  test('are whole for any chunking and split if too long', () => {
    const text = fc.stringMatching(/^[a-z\n]{0,60}$/);
    fc.assert(
      fc.property(text, fc.array(fc.nat(60), { maxLength: 6 }), (all, cuts) => {
        const lines: string[] = [];
        let piece = '';
        const splitter = new ByteLines(8, {
          line: (bytes) => void lines.push(bytes.toString()),
          piece: (bytes) => {
            piece += bytes.toString();
            if (!piece.endsWith('\n')) return;
            lines.push(piece);
            piece = '';
          },
        });
        const places = [0, ...cuts.filter((cut) => cut < all.length).sort((a, b) => a - b)];
        for (const [at, from] of places.entries()) {
          splitter.push(Buffer.from(all.slice(from, places[at + 1] ?? all.length)));
        }
        splitter.end();
        const rest = all.split('\n');
        const expected = rest.slice(0, -1).map((each) => `${each}\n`);
        const last = rest.at(-1) as string;
        expect(lines).toEqual([...expected, `${last}\n`]);
      }),
    );
  });
});

describe('a call', () => {
  const key = 'mcp-actors/call';

  test.each([
    { name: 'without params', params: undefined, isMarked: false },
    { name: 'with empty params', params: {}, isMarked: true },
    { name: 'with arguments', params: { name: 'a', arguments: { b: '}' } }, isMarked: true },
    { name: 'with empty _meta', params: { _meta: {}, name: 'a' }, isMarked: true },
    { name: 'with _meta', params: { _meta: { progressToken: 1 }, name: 'a' }, isMarked: true },
    { name: 'with an id of its own', params: { _meta: { [key]: 'mine' } }, isMarked: true },
    { name: 'with _meta that is no object', params: { _meta: [] }, isMarked: false },
  ])('$name is sent and repeated with the same id', ({ params, isMarked }) => {
    const requests = new HostRequests();
    const given = { jsonrpc: '2.0', id: 1, method: 'tools/call', params };
    const text = line(given);
    const sent = JSON.parse(requests.add(text, requestIn(text)).toString());
    if (!isMarked) return expect(sent).toEqual(JSON.parse(text.toString()));
    const { [key]: id, ...meta } = sent.params._meta;
    expect(id).toMatch(/^[\w-]{16,64}$/);
    const before = (params?.['_meta'] ?? {}) as { readonly [name: string]: unknown };
    const own = Object.fromEntries(Object.entries(before).filter(([name]) => name !== key));
    expect(meta).toEqual(own);
    expect([...requests.again()].map((each) => JSON.parse(each.toString()))).toEqual([sent]);
    expect(requests.lose()).toEqual([]);
    const [again] = [...requests.again()].map((each) => JSON.parse(each.toString()));
    expect(again.params._meta).toEqual({ ...own, [key]: id, 'mcp-actors/resent': true });
    expect({ ...again, params: { ...again.params, _meta: own } }).toEqual({
      ...sent,
      params: { ...sent.params, _meta: own },
    });
  });

  test('has a unique id', () => {
    const requests = new HostRequests();
    const ids = [1, 2].map((id) => {
      const text = line({ id, method: 'tools/call', params: {} });
      return JSON.parse(requests.add(text, requestIn(text)).toString()).params._meta[key];
    });
    expect(new Set(ids).size).toBe(2);
  });
});

describe('pending requests', () => {
  const add = (requests: HostRequests, id: number, method: string) => {
    const text = line({ id, method });
    requests.add(text, requestIn(text));
  };

  test('are repeated in order, except unknown methods and those that kill each process', () => {
    const requests = new HostRequests();
    for (const [id, method] of ['tools/list', 'x/y', 'ping'].entries()) add(requests, id, method);
    expect(requests.lose().map(({ method }) => method)).toEqual(['x/y']);
    expect([...requests.again()].map((each) => JSON.parse(each.toString()).id)).toEqual([0, 2]);
    expect(requests.lose()).toEqual([]);
    expect(requests.lose().map(({ id }) => id)).toEqual(['0', '2']);
  });

  test('beyond the limit are neither kept nor repeated', () => {
    const requests = new HostRequests({ maxRequests: 2, maxBytes: 40 });
    add(requests, 0, 'ping');
    add(requests, 1, 'tools/list');
    expect(requests.isFull).toBe(true);
    expect(requests.lose().map(({ id }) => id)).toEqual(['1']);
    add(requests, 2, 'ping');
    expect([...requests.again()]).toHaveLength(1);
  });
});

describe('a question of a durable call', () => {
  const asks = (id: string, key: string | undefined) =>
    line({
      id,
      method: 'elicitation/create',
      params: { message: '?', ...(key ? { _meta: { 'mcp-actors/question': key } } : {}) },
    });
  const ask = (questions: ServerQuestions, id: string, key?: string, at = 1) => {
    const text = asks(id, key);
    return questions.asked(text, scanOne(text) as never, at);
  };
  const answer = (questions: ServerQuestions, id: string) => {
    const text = line({ id, result: { action: 'accept' } });
    return questions.answered(text, scanOne(text) as never);
  };
  const idIn = (text: Buffer | undefined): unknown => text && JSON.parse(text.toString()).id;

  test('is sent to the host without its key', () => {
    const { toHost } = ask(new ServerQuestions(), 's-1', 'call/1');
    const { params } = JSON.parse(String(toHost));
    expect(params).toEqual({ message: '?', _meta: {} });
    const text = Buffer.from(
      '{"id":"s","method":"m","params":{"_meta":{"a":1,"mcp-actors/question":"k","b":2}}}',
    );
    const passed = new ServerQuestions().asked(text, scanOne(text) as never, 0).toHost as Buffer;
    expect(JSON.parse(passed.toString()).params._meta).toEqual({ a: 1, b: 2 });
  });

  test('is answered to the next process without asking the host twice', () => {
    const questions = new ServerQuestions();
    ask(questions, 's-1', 'call/1');
    expect(questions.lose()).toEqual([]);
    expect(ask(questions, 's-9', 'call/1')).toEqual({});
    expect(idIn(answer(questions, 's-1').toServer)).toBe('s-9');
    // The process that got the answer has ended before it was recorded.
    questions.lose();
    expect(idIn(ask(questions, 's-4', 'call/1').toServer)).toBe('s-4');
  });

  test('keeps an answer that arrives while no process runs', () => {
    const questions = new ServerQuestions();
    ask(questions, 's-1', 'call/1');
    questions.lose();
    expect(answer(questions, 's-1')).toEqual({});
    expect(idIn(ask(questions, 's-2', 'call/1').toServer)).toBe('s-2');
  });

  test('is dropped and withdrawn with the last call that could repeat it', () => {
    const questions = new ServerQuestions();
    ask(questions, 's-1', 'call/1', 3);
    questions.lose();
    expect(questions.forget(2)).toEqual([]);
    const [cancelled] = questions.forget(3).map((each) => JSON.parse(each.toString()));
    expect(cancelled.params.requestId).toBe('s-1');
    expect(idIn(ask(questions, 's-2', 'call/1').toHost)).toBe('s-2');
  });

  test("is cancelled with the host's id", () => {
    const questions = new ServerQuestions();
    ask(questions, 's-1', 'call/1');
    questions.lose();
    ask(questions, 's-2', 'call/1');
    const text = line({ method: 'notifications/cancelled', params: { requestId: 's-2' } });
    const message = scanOne(text) as ScannedMessage;
    expect(memberOf(text, message.params as never, 'requestId')).toBeDefined();
    const sent = JSON.parse(questions.cancelled(text, message, '"s-2').toString());
    expect(sent.params.requestId).toBe('s-1');
  });

  test('is cancelled with its process if it has no key', () => {
    const questions = new ServerQuestions();
    ask(questions, 's-1');
    const [cancelled] = questions.lose().map((each) => JSON.parse(each.toString()));
    expect(cancelled.params.requestId).toBe('s-1');
  });
});
