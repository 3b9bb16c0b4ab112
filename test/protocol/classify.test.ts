import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  classify,
  classifyMessage,
  inspectValue as describeValue,
  isRequestId,
} from '../../src/protocol/classify.ts';
import { ErrorCode } from '../../src/protocol/errors.ts';
import type { SingleFrame } from '../../src/protocol/frames.ts';

const { invalidRequest, invalidParams } = ErrorCode;
const parse = (text: string): unknown => JSON.parse(text);

describe('classify', () => {
  const cases: readonly (readonly [what: string, text: string, frame: unknown])[] = [
    [
      'a request with params',
      '{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":[1]}}',
      { kind: 'request', id: 1, method: 'm', params: { a: [1] } },
    ],
    [
      'a request without params',
      '{"jsonrpc":"2.0","id":"a","method":"m"}',
      { kind: 'request', id: 'a', method: 'm', params: undefined },
    ],
    [
      'a request whose id is an empty string',
      '{"jsonrpc":"2.0","id":"","method":"m"}',
      { kind: 'request', id: '', method: 'm', params: undefined },
    ],
    [
      'a request whose id is a negative integer',
      '{"jsonrpc":"2.0","id":-7,"method":"m"}',
      { kind: 'request', id: -7, method: 'm', params: undefined },
    ],
    [
      'a request with members that nobody knows',
      '{"jsonrpc":"2.0","id":1,"method":"m","result":{},"x":1}',
      { kind: 'request', id: 1, method: 'm', params: undefined },
    ],
    [
      'a notification',
      '{"jsonrpc":"2.0","method":"n","params":{"a":1}}',
      { kind: 'notification', method: 'n', params: { a: 1 } },
    ],
    [
      'a notification whose params have the wrong shape: handed on without them, for it is never answered',
      '{"jsonrpc":"2.0","method":"n","params":[1]}',
      { kind: 'notification', method: 'n', params: undefined },
    ],
    [
      'a result',
      '{"jsonrpc":"2.0","id":"s-1","result":{"roots":[]}}',
      { kind: 'response', id: 's-1', outcome: { ok: true, result: { roots: [] } } },
    ],
    [
      'an error',
      '{"jsonrpc":"2.0","id":2,"error":{"code":-32601,"message":"no","data":7}}',
      {
        kind: 'response',
        id: 2,
        outcome: { ok: false, error: { code: -32601, message: 'no', data: 7 } },
      },
    ],
  ];
  test.each(cases)('reads a well-formed message: %s', (_what, text, frame) => {
    expect(classify(parse(text))).toEqual(frame);
  });
});

describe('classify with a malformed message', () => {
  const cases: readonly (readonly [text: string, code: number, id: unknown, says: string])[] = [
    ['null', invalidRequest, undefined, 'null'],
    ['1', invalidRequest, undefined, '1'],
    ['"text"', invalidRequest, undefined, '"text"'],
    ['true', invalidRequest, undefined, 'true'],
    ['{}', invalidRequest, undefined, '"jsonrpc"'],
    ['{"method":"m","id":1}', invalidRequest, 1, '"jsonrpc"'],
    ['{"jsonrpc":"1.0","method":"m","id":"a"}', invalidRequest, 'a', '"1.0"'],
    ['{"jsonrpc":2.0,"method":"m","id":"a"}', invalidRequest, 'a', '"jsonrpc"'],
    ['{"jsonrpc":["2.0"],"method":"m","id":"a"}', invalidRequest, 'a', '"jsonrpc"'],
    ['{"jsonrpc":"2.0","method":1,"id":3}', invalidRequest, 3, '"method"'],
    ['{"jsonrpc":"2.0","method":null,"id":3}', invalidRequest, 3, '"method"'],
    ['{"jsonrpc":"2.0","method":{"a":1}}', invalidRequest, undefined, '"method"'],
    ['{"jsonrpc":"2.0","method":"m","id":null}', invalidRequest, undefined, '"id"'],
    ['{"jsonrpc":"2.0","method":"m","id":1.5}', invalidRequest, undefined, '"id"'],
    ['{"jsonrpc":"2.0","method":"m","id":true}', invalidRequest, undefined, '"id"'],
    ['{"jsonrpc":"2.0","method":"m","id":{}}', invalidRequest, undefined, '"id"'],
    ['{"jsonrpc":"2.0","method":"m","id":[1]}', invalidRequest, undefined, '"id"'],
    ['{"jsonrpc":"2.0","method":"m","id":9007199254740993}', invalidRequest, undefined, '"id"'],
    ['{"jsonrpc":"2.0","method":"m","id":1e999}', invalidRequest, undefined, '"id"'],
    ['{"jsonrpc":"2.0","method":"m","id":1,"params":[1]}', invalidParams, 1, '"params"'],
    ['{"jsonrpc":"2.0","method":"m","id":1,"params":7}', invalidRequest, 1, '"params"'],
    ['{"jsonrpc":"2.0","method":"m","id":1,"params":"p"}', invalidRequest, 1, '"params"'],
    ['{"jsonrpc":"2.0","id":4}', invalidRequest, 4, 'none'],
    ['{"jsonrpc":"2.0"}', invalidRequest, undefined, 'none'],
    ['{"jsonrpc":"2.0","result":{}}', invalidRequest, undefined, 'id'],
    ['[]', invalidRequest, undefined, 'batch'],
  ];
  test.each(cases)('rejects it with a reason: %s', (text, code, id, says) => {
    const frame = classify(parse(text));
    expect(frame).toMatchObject({ kind: 'invalid', error: { code } });
    if (frame.kind !== 'invalid') return;
    expect(frame.id).toBe(id);
    expect('id' in frame).toBe(id !== undefined);
    expect(frame.error.message).toContain(says);
    expect(frame.error.message.length).toBeLessThan(300);
  });

  test.each(['"result":{}', '"error":{"code":1,"message":"m"}'])(
    'treats a response without version or with an invalid method as malformed, keeping its id: %s',
    (member) => {
      for (const start of ['"jsonrpc":"1.0",', '', '"jsonrpc":"2.0","method":null,']) {
        expect(classify(parse(`{${start}"id":1,${member}}`))).toMatchObject({
          kind: 'response',
          id: 1,
          outcome: { ok: false, isJsonRpc: false },
        });
      }
    },
  );

  test.each([
    ['"result":null', '"result"'],
    ['"result":[1]', '"result"'],
    ['"result":"done"', '"result"'],
    ['"error":null', '"error"'],
    ['"error":"text"', '"error"'],
    ['"error":{"code":"1","message":"m"}', '"error"'],
    ['"error":{"code":1.5,"message":"m"}', '"error"'],
    ['"error":{"code":1}', '"error"'],
    ['"result":{},"error":{"code":1,"message":"m"}', 'both'],
    ['"result":{},"error":null', 'both'],
  ])('ends the request that a malformed response answers: %s', (member, says) => {
    const frame = classify(parse(`{"jsonrpc":"2.0","id":"s-1",${member}}`));
    expect(frame).toEqual({
      kind: 'response',
      id: 's-1',
      outcome: {
        ok: false,
        malformed: expect.stringContaining(says) as string,
        isJsonRpc: expect.any(Boolean) as boolean,
      },
    });
  });
});

describe('an error without an id', () => {
  // JSON-RPC 2.0 gives such an error `"id": null`, MCP omits the id.
  test.each(['', '"id":null,'])('is a stray error, so it is not answered (%s)', (id) => {
    const text = `{"jsonrpc":"2.0",${id}"error":{"code":-32700,"message":"m"}}`;
    expect(classify(parse(text))).toEqual({
      kind: 'stray-error',
      error: { code: -32700, message: 'm' },
    });
  });
});

describe('a batch', () => {
  const members = parse(
    '[{"jsonrpc":"2.0","id":1,"method":"m"},1,[],{"jsonrpc":"2.0","method":"n"}]',
  ) as readonly unknown[];

  test('keeps its members unparsed, since the revision decides about them', () => {
    const unseen = new Proxy(
      {},
      {
        get: () => expect.unreachable('looked at'),
        has: () => expect.unreachable('looked at'),
      },
    );
    const batch = [...members, unseen];
    const frame = classify(batch);
    if (frame.kind !== 'batch') throw new Error(frame.kind);
    expect(frame.messages).toHaveLength(5);
    for (const [at, each] of frame.messages.entries()) expect(each === batch[at]).toBe(true);
  });

  test('isolates a malformed member from the others', () => {
    expect(members.map((each) => classifyMessage(each).kind)).toEqual([
      'request',
      'invalid',
      'invalid',
      'notification',
    ]);
  });
});

describe('a hostile value', () => {
  test('with a "__proto__" key changes no prototype', () => {
    const text =
      '{"__proto__":{"jsonrpc":"2.0","id":1,"method":"m","polluted":true},"constructor":{"prototype":{"polluted":true}}}';
    expect(classify(parse(text))).toMatchObject({ kind: 'invalid' });
    expect(classify(parse(text))).not.toHaveProperty('id');
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
  });

  test('with a "__proto__" key in its params keeps it as an ordinary property', () => {
    const frame = classify(
      parse('{"jsonrpc":"2.0","id":1,"method":"m","params":{"__proto__":{"admin":true}}}'),
    );
    if (frame.kind !== 'request') throw new Error(frame.kind);
    expect(Object.keys(frame.params ?? {})).toEqual(['__proto__']);
    expect((frame.params as { admin?: unknown }).admin).toBeUndefined();
  });

  test('of any shape is classified correctly without throwing', () => {
    const word = fc.constantFrom('2.0', '1.0', 'm', '', 1, 1.5, null, true, -32601);
    const value = fc.oneof(
      word,
      fc.object({ maxDepth: 2 }),
      fc.array(fc.anything(), { maxLength: 3 }),
    );
    const message = fc.record(
      {
        jsonrpc: fc.oneof(fc.constant('2.0'), fc.constant('2.0'), value),
        id: value,
        method: value,
        params: value,
        result: value,
        error: fc.oneof(value, fc.record({ code: word, message: word })),
      },
      { requiredKeys: [] },
    );
    const isTrue = (frame: SingleFrame): void => {
      if (frame.kind === 'request' || frame.kind === 'response') {
        expect(isRequestId(frame.id)).toBe(true);
      } else if (frame.kind === 'invalid') {
        expect([invalidRequest, invalidParams]).toContain(frame.error.code);
      }
    };
    const batch = fc.array(message, { maxLength: 4 });
    fc.assert(
      fc.property(fc.oneof(message, batch, fc.jsonValue()), (input) => {
        const frame = classify(input);
        if (frame.kind === 'batch') {
          expect(frame.messages).toBe(input);
          for (const each of frame.messages) isTrue(classifyMessage(each));
        } else {
          isTrue(frame);
        }
      }),
    );
  });
});

describe('inspectValue', () => {
  test.each([
    [undefined, 'missing'],
    [null, 'null'],
    [[], 'an array'],
    [{}, 'an object'],
    ['a"b\n', '"a\\"b\\n"'],
    ['x'.repeat(61), 'a string of 61 characters'],
    [1.5, '1.5'],
    [false, 'false'],
    [1n, 'a bigint'],
    [() => 1, 'a function'],
    [Symbol('s'), 'a symbol'],
  ])('returns a short description: %s', (value, text) => {
    expect(describeValue(value)).toBe(text);
  });
});

describe('a request id', () => {
  test.each(['', 'a', '1', 0, -1, 2 ** 53 - 1])('may be %j', (id) => {
    expect(isRequestId(id)).toBe(true);
  });
  test.each([null, undefined, 1.5, 2 ** 53, NaN, Infinity, true, [], {}, 1n])(
    'must not be %s',
    (id) => {
      expect(isRequestId(id)).toBe(false);
    },
  );
});
