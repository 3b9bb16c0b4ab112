import { describe, expect, test, vi } from 'vitest';
import { decodeLine, encodeFrame, parseError } from '../../src/protocol/codec.ts';
import { ErrorCode, internalError } from '../../src/protocol/errors.ts';
import type { OutboundMessage, OutboundResponse } from '../../src/protocol/frames.ts';
import { clientId, serverId } from '../actors/ids.ts';

const maxDepth = 256;

describe('decodeLine', () => {
  test('returns a frame', () => {
    expect(decodeLine('{"jsonrpc":"2.0","method":"n"}', maxDepth)).toEqual({
      kind: 'notification',
      method: 'n',
      params: undefined,
    });
  });

  test('allows a trailing carriage return and surrounding spaces', () => {
    expect(decodeLine(' \t{"jsonrpc":"2.0","method":"n"} \r', maxDepth).kind).toBe('notification');
  });

  test.each(['{', 'nonsense', '{"a":1}}', "{'a':1}", '{"a":undefined}', '"\u0001"', '{"a":01}'])(
    'reports text that is not JSON as a parse error: %s',
    (line) => {
      expect(decodeLine(line, maxDepth)).toMatchObject({
        kind: 'invalid',
        error: { code: ErrorCode.parseError },
      });
    },
  );

  test('does not echo a whole line that is not JSON', () => {
    const frame = decodeLine('x'.repeat(100_000), maxDepth);
    expect(JSON.stringify(frame).length).toBeLessThan(400);
  });

  test('reports JSON that is not a message as an invalid request, not a parse error', () => {
    expect(decodeLine('17', maxDepth)).toMatchObject({
      kind: 'invalid',
      error: { code: ErrorCode.invalidRequest },
    });
  });

  test('accepts unescaped U+2028 and U+2029', () => {
    const frame = decodeLine('{"jsonrpc":"2.0","method":"a\u2028b\u2029"}', maxDepth);
    expect(frame).toMatchObject({ method: 'a\u2028b\u2029' });
  });
});

test('truncates the reason of a parse error', () => {
  expect(parseError('r'.repeat(1000)).message.length).toBeLessThan(250);
});

describe('encodeFrame', () => {
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

  test('writes one line with a line feed, whatever the strings contain', () => {
    const hear = heard();
    const text = encodeFrame(response(1, { text: 'a\nb\r\u2028' }), hear);
    expect(text.indexOf('\n')).toBe(text.length - 1);
    expect(JSON.parse(text)).toEqual(response(1, { text: 'a\nb\r\u2028' }));
    expect(hear).not.toHaveBeenCalled();
  });

  test('writes a batch as one line with an array', () => {
    const frame = [response(1, {}), response(2, {})];
    expect(encodeFrame(frame, heard())).toBe(`${JSON.stringify(frame)}\n`);
  });

  test.each(unserializable)(
    'replaces a result with %s by an internal error with its id',
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

  test.each(unserializable)(
    'replaces an error whose data has %s by an internal error',
    (_, data) => {
      const error = { code: 1, message: 'm', data };
      expect(JSON.parse(encodeFrame({ jsonrpc: '2.0', id: clientId(7), error }, heard()))).toEqual({
        jsonrpc: '2.0',
        id: 7,
        error: internalError,
      });
    },
  );

  test('omits the id of an error without one', () => {
    const error = { code: 1, message: 'm', data: 1n };
    const sent: unknown = JSON.parse(encodeFrame({ jsonrpc: '2.0', error }, heard()));
    expect(sent).toEqual({ jsonrpc: '2.0', error: internalError });
  });

  test.each(unserializable)('drops a request or notification with %s', (_, params) => {
    const hear = heard();
    expect(encodeFrame({ jsonrpc: '2.0', id: serverId('s-1'), method: 'm', params }, hear)).toBe(
      '',
    );
    expect(encodeFrame({ jsonrpc: '2.0', method: 'm', params }, hear)).toBe('');
    expect(hear).toHaveBeenCalledTimes(2);
  });

  test.each(unserializable)(
    'replaces only the affected response of a batch with %s',
    (_, result) => {
      const hear = heard();
      const text = encodeFrame([response(1, { a: 1 }), response(2, result), response(3, {})], hear);
      expect(JSON.parse(text)).toEqual([
        response(1, { a: 1 }),
        { jsonrpc: '2.0', id: 2, error: internalError },
        response(3, {}),
      ]);
      expect(hear).toHaveBeenCalledTimes(1);
    },
  );

  test.each([
    ['nothing', { toJSON: () => undefined }],
    ['a number', { toJSON: () => 5 }],
    ['a string, as a Date does', new Date(0)],
    ['an array', { toJSON: () => [] }],
    ['null', { toJSON: () => null }],
  ])('replaces and reports a result whose toJSON returns %s', (_, result) => {
    const hear = heard();
    const refusal = { jsonrpc: '2.0', id: 7, error: internalError };
    expect(JSON.parse(encodeFrame(response(7, result), hear))).toEqual(refusal);
    expect(hear).toHaveBeenCalledExactlyOnceWith(response(7, result), expect.any(TypeError));
    const batch = encodeFrame([response(7, result), response(8, {})], heard());
    expect(JSON.parse(batch)).toEqual([refusal, response(8, {})]);
  });

  test('uses the object returned by the toJSON of a result', () => {
    const result = { toJSON: () => ({ a: 1 }) };
    const hear = heard();
    expect(JSON.parse(encodeFrame(response(7, result), hear))).toEqual(response(7, { a: 1 }));
    expect(hear).not.toHaveBeenCalled();
  });

  test('replaces the responses of a batch that is too long in total by internal errors', () => {
    const hear = heard();
    const batch = [response(1, {}), { jsonrpc: '2.0', error: internalError } as const];
    // The platform's error for a string beyond half a gigabyte; a real one would exhaust the test's
    // memory.
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

  test('replaces a result that nests deeper than the stack by an internal error', () => {
    let deep: object = {};
    for (let i = 0; i < 200_000; i++) deep = { deep };
    expect(JSON.parse(encodeFrame(response(7, deep), heard()))).toMatchObject({
      error: internalError,
    });
  });

  test('writes a result with a "__proto__" key unchanged', () => {
    const result = JSON.parse('{"__proto__":{"a":1}}') as object;
    expect(encodeFrame(response(1, result), heard())).toContain('{"__proto__":{"a":1}}');
  });
});

describe('the id in an unreadable line', () => {
  const nested = `${'['.repeat(300)}${']'.repeat(300)}`;
  test.each([
    ['no JSON, its id first', '{"jsonrpc":"2.0","id":5,"result":{"a":NaN}}', 5],
    ['no JSON, its id last', '{"jsonrpc":"2.0","error":{"code":NaN},"id":"s-1"}', 's-1'],
    ['too deep, its id first', `{"id":-5,"jsonrpc":"2.0","result":{"a":${nested}}}`, -5],
    ['too deep, its id last', `{"result":${nested},"id":7,"jsonrpc":"2.0"}`, 7],
  ])('is found in %s', (_, line, answers) => {
    expect(decodeLine(line, 256)).toMatchObject({ kind: 'invalid', answers: [answers] });
  });

  test.each([
    ['a request', '{"jsonrpc":"2.0","id":5,"method":"x","params":NaN}'],
    ['an answer that is cut', '{"jsonrpc":"2.0","result":{"id":5,"a":'],
    ['an id that is none', '{"jsonrpc":"2.0","id":"\\x","result":NaN}'],
    ['an id inside of a text', '{"jsonrpc":"2.0","result":NaN,"text":",\\"id\\":5}'],
  ])('is not found in %s', (_, line) => {
    expect(decodeLine(line, 256)).not.toHaveProperty('answers');
  });
});
