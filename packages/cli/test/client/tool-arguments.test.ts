import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { readToolArguments } from '../../src/client/tool-arguments.ts';

const properties = {
  text: { type: 'string' },
  count: { type: 'integer' },
  ratio: { type: 'number' },
  deep: { type: 'boolean' },
  tags: { type: 'array', items: { type: 'string' } },
  sizes: { type: 'array', items: { type: 'integer' } },
  filter: { type: 'object' },
  either: { type: ['string', 'null'] },
  union: { anyOf: [{ type: 'integer' }, { type: 'boolean' }] },
  level: { enum: ['low', 'high'] },
  free: {},
};
const tool = { name: 'find', inputSchema: { type: 'object', properties } };
const closed = { ...tool, inputSchema: { ...tool.inputSchema, additionalProperties: false } };
const never = (): string => {
  throw new Error('stdin was read');
};
const read = (...written: readonly string[]) => readToolArguments(written, tool, never);

describe('the arguments of a tool', () => {
  test('are none, or a JSON object', () => {
    expect(read()).toEqual({});
    expect(read('{"a": [1]}')).toEqual({ a: [1] });
  });

  test('stand in a file or come from stdin', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'arguments-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    await writeFile(join(folder, 'a.json'), '{"a": 1}');
    expect(read(`@${join(folder, 'a.json')}`)).toEqual({ a: 1 });
    expect(readToolArguments(['-'], tool, () => '{"b": 2}')).toEqual({ b: 2 });
    expect(() => read(`@${join(folder, 'b.json')}`)).toThrow(/cannot be read: ENOENT/);
  });

  test.each([
    ['text=1', { text: '1' }],
    ['text=', { text: '' }],
    ['text=a=b', { text: 'a=b' }],
    ['text={"a":1}', { text: '{"a":1}' }],
    ['count=-3', { count: -3 }],
    ['ratio=0.5', { ratio: 0.5 }],
    ['deep=yes', { deep: true }],
    ['deep=FALSE', { deep: false }],
    ['tags=a', { tags: ['a'] }],
    ['tags=["a","b"]', { tags: ['a', 'b'] }],
    ['sizes=4', { sizes: [4] }],
    ['filter={"a":1}', { filter: { a: 1 } }],
    ['either=null', { either: null }],
    ['either=nothing', { either: 'nothing' }],
    ['union=7', { union: 7 }],
    ['union=no', { union: false }],
    ['level=high', { level: 'high' }],
    ['free=3', { free: 3 }],
    ['free=three', { free: 'three' }],
    ['zebra=x', { zebra: 'x' }],
  ])('%s is read by the schema', (pair, value) => {
    expect(read(pair)).toEqual(value);
  });

  test('give a list with a pair for each item', () => {
    expect(read('tags=a', 'tags=b', 'sizes=1', 'sizes=[2,3]')).toEqual({
      tags: ['a', 'b'],
      sizes: [1, 2, 3],
    });
  });

  test.each([
    [['count=1.5'], 'count must be integer, got "1.5"'],
    [['count=many'], 'count must be integer, got "many"'],
    [['deep=maybe'], 'deep must be boolean, got "maybe"'],
    [['filter=[1]'], 'filter must be object, got "[1]"'],
    [['text=a', 'text=b'], 'text must not be given twice, because it is not a list'],
    [['txet=a'], 'find has no argument "txet". Did you mean text?'],
    [['{"a"'], 'must be valid JSON'],
    [['[1]'], 'must be a JSON object, got an array'],
    [['text=a', '{}'], 'got "{}" among several'],
  ])('%j is refused', (written, message) => {
    expect(() => read(...written)).toThrow(message);
  });

  test('that a closed schema does not have are refused, with those that it has', () => {
    expect(() => readToolArguments(['zebra=1'], closed, never)).toThrow(
      'find has no argument "zebra". Its arguments: text, count',
    );
  });
});
