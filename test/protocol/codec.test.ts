import { describe, expect, test, vi } from 'vitest';
import { decodeLine, encodeFrame, parseError } from '../../src/protocol/codec.ts';
import { ErrorCode, internalError } from '../../src/protocol/errors.ts';
import type { OutboundMessage, OutboundResponse } from '../../src/protocol/frames.ts';
import { clientId, serverId } from '../actors/ids.ts';

const maxDepth = 256;

describe('a line', () => {
  test('becomes a frame', () => {
    expect(decodeLine('{"jsonrpc":"2.0","method":"n"}', maxDepth)).toEqual({
      kind: 'notification',
      method: 'n',
      params: undefined,
    });
  });

  test('may end with a carriage return and stand between spaces', () => {
    expect(decodeLine(' \t{"jsonrpc":"2.0","method":"n"} \r', maxDepth).kind).toBe('notification');
  });

  test.each(['{', 'nonsense', '{"a":1}}', "{'a':1}", '{"a":undefined}', '"\u0001"', '{"a":01}'])(
    'that is no JSON is a parse error: %s',
    (line) => {
      expect(decodeLine(line, maxDepth)).toMatchObject({
        kind: 'invalid',
        error: { code: ErrorCode.parseError },
      });
    },
  );

  test('that is no JSON is not sent back whole', () => {
    const frame = decodeLine('x'.repeat(100_000), maxDepth);
    expect(JSON.stringify(frame).length).toBeLessThan(400);
  });

  test('that is JSON but no message is an invalid request, not a parse error', () => {
    expect(decodeLine('17', maxDepth)).toMatchObject({
      kind: 'invalid',
      error: { code: ErrorCode.invalidRequest },
    });
  });

  test('may hold U+2028 and U+2029 unescaped', () => {
    const frame = decodeLine('{"jsonrpc":"2.0","method":"a\u2028b\u2029"}', maxDepth);
    expect(frame).toMatchObject({ method: 'a\u2028b\u2029' });
  });
});

test('the reason of a parse error is cut', () => {
  expect(parseError('r'.repeat(1000)).message.length).toBeLessThan(250);
});

describe('encoding', () => {
  const cycle: { self?: object } = {};
  cycle.self = cycle;
  const unserializable: readonly (readonly [string, object])[] = [
    ['a cycle', cycle],
    ['a BigInt', { value: 1n }],
    [
      'a toJSON that throws',
      {
        toJSON: () => {
          throw new Error('no');
        },
      },
    ],
    [
      'a getter that throws',
      {
        get value(): never {
          throw new Error('no');
        },
      },
    ],
  ];
  const heard = () => vi.fn<(message: OutboundMessage, error: unknown) => void>();
  const response = (id: number, result: object): OutboundResponse => ({
    jsonrpc: '2.0',
    id: clientId(id),
    result,
  });

  test('gives one line with a line feed, whatever the strings hold', () => {
    const hear = heard();
    const text = encodeFrame(response(1, { text: 'a\nb\r\u2028' }), hear);
    expect(text.indexOf('\n')).toBe(text.length - 1);
    expect(JSON.parse(text)).toEqual(response(1, { text: 'a\nb\r\u2028' }));
    expect(hear).not.toHaveBeenCalled();
  });

  test('of a batch gives one line with an array', () => {
    const frame = [response(1, {}), response(2, {})];
    expect(encodeFrame(frame, heard())).toBe(`${JSON.stringify(frame)}\n`);
  });

  test.each(unserializable)(
    'a result with %s becomes an internal error with its id',
    (_, result) => {
      const hear = heard();
      const message = response(7, result);
      expect(JSON.parse(encodeFrame(message, hear))).toEqual({
        jsonrpc: '2.0',
        id: 7,
        error: internalError,
      });
      expect(hear).toHaveBeenCalledOnce();
      expect(hear.mock.calls[0]?.[0]).toBe(message);
      expect(hear.mock.calls[0]?.[1]).toBeInstanceOf(Error);
    },
  );

  test.each(unserializable)('an error whose data has %s becomes an internal error', (_, data) => {
    const error = { code: 1, message: 'm', data };
    expect(JSON.parse(encodeFrame({ jsonrpc: '2.0', id: clientId(7), error }, heard()))).toEqual({
      jsonrpc: '2.0',
      id: 7,
      error: internalError,
    });
  });

  test('an error without an id stays without one', () => {
    const error = { code: 1, message: 'm', data: 1n };
    const sent: unknown = JSON.parse(encodeFrame({ jsonrpc: '2.0', error }, heard()));
    expect(sent).toEqual({ jsonrpc: '2.0', error: internalError });
  });

  test.each(unserializable)('a request or notification with %s is not sent', (_, params) => {
    const hear = heard();
    expect(encodeFrame({ jsonrpc: '2.0', id: serverId('s-1'), method: 'm', params }, hear)).toBe(
      '',
    );
    expect(encodeFrame({ jsonrpc: '2.0', method: 'm', params }, hear)).toBe('');
    expect(hear).toHaveBeenCalledTimes(2);
  });

  test.each(unserializable)('a batch with %s loses only that answer', (_, result) => {
    const hear = heard();
    const text = encodeFrame([response(1, { a: 1 }), response(2, result), response(3, {})], hear);
    expect(JSON.parse(text)).toEqual([
      response(1, { a: 1 }),
      { jsonrpc: '2.0', id: 2, error: internalError },
      response(3, {}),
    ]);
    expect(hear).toHaveBeenCalledTimes(1);
  });

  test.each([
    ['nothing', { toJSON: () => undefined }],
    ['a number', { toJSON: () => 5 }],
    ['a string, as a Date does', new Date(0)],
    ['an array', { toJSON: () => [] }],
    ['null', { toJSON: () => null }],
  ])(
    'a result that writes itself as %s is no response: it becomes an internal error, and is told',
    (_, result) => {
      const hear = heard();
      const refusal = { jsonrpc: '2.0', id: 7, error: internalError };
      expect(JSON.parse(encodeFrame(response(7, result), hear))).toEqual(refusal);
      expect(hear).toHaveBeenCalledExactlyOnceWith(response(7, result), expect.any(TypeError));
      const batch = encodeFrame([response(7, result), response(8, {})], heard());
      expect(JSON.parse(batch)).toEqual([refusal, response(8, {})]);
    },
  );

  test('a result that writes itself as another object is that object', () => {
    const result = { toJSON: () => ({ a: 1 }) };
    const hear = heard();
    expect(JSON.parse(encodeFrame(response(7, result), hear))).toEqual(response(7, { a: 1 }));
    expect(hear).not.toHaveBeenCalled();
  });

  test('a batch whose answers are too long only together becomes internal errors, each with its id', () => {
    const hear = heard();
    const batch = [response(1, {}), { jsonrpc: '2.0', error: internalError } as const];
    // What the platform says of a string past half a gigabyte; a real one would take the test's memory.
    const join = vi.spyOn(Array.prototype, 'join').mockImplementationOnce(() => {
      throw new RangeError('Invalid string length');
    });
    const text = encodeFrame(batch, hear);
    join.mockRestore();
    expect(JSON.parse(text)).toEqual([
      { jsonrpc: '2.0', id: 1, error: internalError },
      { jsonrpc: '2.0', error: internalError },
    ]);
    expect(hear.mock.calls).toEqual(batch.map((each) => [each, expect.any(RangeError)]));
  });

  test('a result that nests deeper than the stack becomes an internal error', () => {
    let deep: object = {};
    for (let i = 0; i < 200_000; i++) deep = { deep };
    expect(JSON.parse(encodeFrame(response(7, deep), heard()))).toMatchObject({
      error: internalError,
    });
  });

  test('a result with a "__proto__" key is written as it is', () => {
    const result = JSON.parse('{"__proto__":{"a":1}}') as object;
    expect(encodeFrame(response(1, result), heard())).toContain('{"__proto__":{"a":1}}');
  });
});

describe('a line that cannot be read names the request that it answers', () => {
  const nested = `${'['.repeat(300)}${']'.repeat(300)}`;
  test.each([
    ['no JSON, its id first', '{"jsonrpc":"2.0","id":5,"result":{"a":NaN}}', 5],
    ['no JSON, its id last', '{"jsonrpc":"2.0","error":{"code":NaN},"id":"s-1"}', 's-1'],
    ['too deep, its id first', `{"id":-5,"jsonrpc":"2.0","result":{"a":${nested}}}`, -5],
    ['too deep, its id last', `{"result":${nested},"id":7,"jsonrpc":"2.0"}`, 7],
  ])('%s', (_, line, answers) => {
    expect(decodeLine(line, 256)).toMatchObject({ kind: 'invalid', answers: [answers] });
  });

  test.each([
    ['a request', '{"jsonrpc":"2.0","id":5,"method":"x","params":NaN}'],
    ['an answer that is cut', '{"jsonrpc":"2.0","result":{"id":5,"a":'],
    ['an id that is none', '{"jsonrpc":"2.0","id":"\\x","result":NaN}'],
    ['an id inside of a text', '{"jsonrpc":"2.0","result":NaN,"text":",\\"id\\":5}'],
  ])('unless it is %s', (_, line) => {
    expect(decodeLine(line, 256)).not.toHaveProperty('answers');
  });
});
