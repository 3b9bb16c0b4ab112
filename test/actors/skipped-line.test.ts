import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { LineSplitter } from '../../src/actors/reader/line-splitter.ts';

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

const long = 'x'.repeat(2000);

/** The error for a line longer than 1,000 bytes, received in these pieces. */
function told(line: string, cuts: readonly number[] = []) {
  const splitter = new LineSplitter(1000);
  const all = bytes(`${line}\n{"next":1}\n`);
  const ends = [...cuts.filter((at) => at < all.length), all.length].sort((a, b) => a - b);
  let start = 0;
  const lines = ends.flatMap((end) => {
    const found = splitter.push(all.subarray(start, end));
    start = end;
    return found;
  });
  expect(lines).toHaveLength(2);
  expect(lines[1]).toBe('{"next":1}');
  const [first] = lines;
  if (typeof first !== 'object') throw new Error('The line was not refused');
  return first;
}

const answers: readonly (readonly [string, string, unknown])[] = [
  ['id first', `{"jsonrpc":"2.0","id":7,"result":{"text":"${long}"}}`, 7],
  ['id before the version', `{"id":7,"jsonrpc":"2.0","result":{"text":"${long}"}}`, 7],
  ['an id of text', `{"jsonrpc":"2.0","id":"s-1-\\u00e4","result":{"text":"${long}"}}`, 's-1-ä'],
  ['an error', `{"jsonrpc":"2.0","id":7,"error":{"code":1,"message":"${long}"}}`, 7],
  ['id last', `{"result":{"text":"${long}"},"jsonrpc":"2.0","id":7}`, 7],
  ['id behind the result', `{"result":{"text":"${long}"},"id":"a","jsonrpc":"2.0"}`, 'a'],
  ['white space', `{ "result" : {"text":"${long}"}, "jsonrpc": "2.0", "id" : -7 } \r`, -7],
];

const others: readonly (readonly [string, string])[] = [
  ['a request', `{"jsonrpc":"2.0","id":7,"method":"sampling/createMessage","params":["${long}"]}`],
  ['a request with its id last', `{"method":"x","params":["${long}"],"jsonrpc":"2.0","id":7}`],
  ['a notification', `{"jsonrpc":"2.0","method":"x","params":["${long}"]}`],
  ['an id in the result', `{"result":{"text":"${long}","jsonrpc":"2.0","id":7}}`],
  ['an id in a text', `{"result":{"text":"${long},\\"id\\":7}"}}`],
  ['an id that is none', `{"jsonrpc":"2.0","id":null,"result":{"text":"${long}"}}`],
  ['a batch', `[{"result":{"text":"${long}"},"jsonrpc":"2.0","id":7}]`],
  ['no JSON', long],
];

describe('a line that is too long', () => {
  test.each(answers)('names the request it answers: %s', (_, line, id) => {
    expect(told(line)).toMatchObject({ kind: 'invalid', answers: [id] });
  });

  test.each(others)('names no request: %s', (_, line) => {
    expect(told(line)).not.toHaveProperty('answers');
    expect(told(line)).toMatchObject({ error: { code: -32600 } });
  });

  test('names the same request in every chunking', () => {
    const all = [...answers.map(([, line]) => line), ...others.map(([, line]) => line)];
    const cuts = fc.array(fc.nat({ max: 2200 }), { maxLength: 8 });
    fc.assert(
      fc.property(fc.constantFrom(...all), cuts, (line, at) => {
        expect(told(line, at)).toEqual(told(line));
      }),
    );
  });

  test('is reported immediately if its beginning names the request', () => {
    const splitter = new LineSplitter(1000);
    expect(splitter.push(bytes(`{"jsonrpc":"2.0","id":7,"result":"${long}`))).toMatchObject([
      { answers: [7] },
    ]);
    expect(splitter.push(bytes(`${long}"}\n`))).toEqual([]);
  });
});
