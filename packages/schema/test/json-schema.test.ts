/** Our checks of JSON Schemas: they mean what ajv's do, and cost what is allowed. */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Ajv2020 } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { JsonSchema, SchemaSide } from '../src/json-schema.ts';
import { validatorOf } from '../src/schema-check.ts';

/** What is wrong with a value; undefined if it conforms. */
function faultOf(schema: JsonSchema, side: SchemaSide) {
  const check = validatorOf(schema, side);
  return (value: unknown) => {
    const checked = check(value);
    return checked.ok ? undefined : checked.fault;
  };
}

/** One for all schemas: a new one first compiles the schema of schemas, which takes longer than most of what is compiled here. */
const ajvs = [false, true].map(
  (useDefaults) => new Ajv2020({ strict: false, logger: false, useDefaults, addUsedSchema: false }),
) as [Ajv2020, Ajv2020];
const ajvOf = (schema: JsonSchema, useDefaults = false) =>
  ajvs[useDefaults ? 1 : 0].compile(schema);

const nested: JsonSchema = {
  type: 'object',
  properties: {
    name: { type: 'string', minLength: 2, default: 'Ada' },
    at: { type: 'string', format: 'date-time' },
    format: { enum: ['short', 'long', { of: [1] }] },
    tags: { type: 'array', items: { $ref: '#/$defs/tag' }, uniqueItems: true },
    size: {
      type: 'object',
      properties: { width: { type: 'integer', default: 1 }, 'a/b': { const: { format: 1 } } },
    },
    either: { anyOf: [{ type: 'number', minimum: 3 }, { type: 'null' }] },
    pair: { prefixItems: [{ type: 'integer', default: 1 }, {}], items: false },
  },
  allOf: [{ properties: { page: { type: 'integer', default: 7 } } }],
  required: ['tags'],
  $defs: { tag: { type: 'string', pattern: '^[a-z]+$' } },
};

describe('a JSON Schema', () => {
  test.each([
    ['all defaults', { tags: [], size: {} }],
    ['all given', { name: 'Bo', tags: ['a', 'b'], size: { width: 2 }, either: null, page: 1 }],
    ['a format that is not met', { tags: [], at: 'yesterday' }],
    ['a property that is called as a keyword', { tags: [], format: 'longer' }],
    ['a value of an enum that is an object', { tags: [], format: { of: [1] } }],
    ['what is missing', {}],
    ['what is too short', { tags: [], name: 'B' }],
    ['a pattern behind a reference', { tags: ['a', 'B'] }],
    ['the same twice', { tags: ['a', 'a'] }],
    ['none of several', { tags: [], either: 2 }],
    ['a name with a slash', { tags: [], size: { 'a/b': { format: 2 } } }],
    ['an item too many', { tags: [], pair: [1, 2, 3] }],
    ['an array without its first item', { tags: [], pair: [] }],
    ['another type', 'text'],
    ['null', null],
  ])('accepts, rejects and adds defaults like ajv: %s', (_, value) => {
    const [ours, theirs] = [structuredClone(value), structuredClone(value)];
    const accepts = ajvOf(nested, true)(theirs);
    expect(faultOf(nested, 'input')(ours) === undefined).toBe(accepts);
    if (accepts) expect(ours).toEqual(theirs);
    const given = structuredClone(value);
    expect(faultOf(nested, 'output')(given) === undefined).toBe(ajvOf(nested)(value));
    expect(given).toEqual(value);
  });

  const scalar = fc.constantFrom<unknown>(null, true, 0, 1, -1.5, 2, '', 'a', 'ab', '😀');
  const names = ['a', 'b', '__proto__', 'toString'];
  const { value } = fc.letrec<{ value: unknown }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 3, withCrossShrink: true },
      scalar,
      fc.array(tie('value'), { maxLength: 4 }),
      fc.dictionary(fc.constantFrom('a', 'b', 'c'), tie('value'), {
        maxKeys: 3,
        noNullPrototype: true,
      }),
    ),
  }));
  const count = fc.nat({ max: 3 });
  const { schema } = fc.letrec<{ schema: unknown; keywords: object }>((tie) => ({
    schema: fc.oneof(
      { maxDepth: 3, withCrossShrink: true },
      fc.boolean(),
      fc.constant({ $ref: '#/$defs/a' }),
      tie('keywords'),
    ),
    keywords: fc.record(
      {
        type: fc.constantFrom('array', 'object', 'string', 'integer', 'number', ['null', 'string']),
        enum: fc.array(value, { minLength: 1, maxLength: 3 }),
        const: value,
        minimum: count,
        exclusiveMaximum: count,
        multipleOf: fc.constantFrom(0.5, 2),
        minLength: count,
        maxLength: count,
        pattern: fc.constantFrom('^a', 'b$', '^.$'),
        minItems: count,
        maxItems: count,
        uniqueItems: fc.boolean(),
        items: tie('schema'),
        prefixItems: fc.array(tie('schema'), { minLength: 1, maxLength: 2 }),
        contains: tie('schema'),
        minContains: count,
        maxContains: count,
        properties: fc.dictionary(fc.constantFrom('a', 'b'), tie('schema'), { maxKeys: 2 }),
        patternProperties: fc.dictionary(fc.constantFrom('^a', 'b|c'), tie('schema')),
        additionalProperties: tie('schema'),
        propertyNames: tie('schema'),
        required: fc.uniqueArray(fc.constantFrom('a', 'b')),
        minProperties: count,
        dependentRequired: fc.dictionary(
          fc.constantFrom('a', 'b'),
          fc.uniqueArray(fc.constantFrom('b', 'c')),
        ),
        dependentSchemas: fc.dictionary(fc.constantFrom('a', 'b'), tie('schema'), { maxKeys: 1 }),
        allOf: fc.array(tie('schema'), { minLength: 1, maxLength: 2 }),
        anyOf: fc.array(tie('schema'), { minLength: 1, maxLength: 2 }),
        oneOf: fc.array(tie('schema'), { minLength: 1, maxLength: 2 }),
        not: tie('schema'),
        if: tie('schema'),
        // oxlint-disable-next-line unicorn/no-thenable -- a keyword
        then: tie('schema'),
        else: tie('schema'),
        unevaluatedProperties: tie('schema'),
        unevaluatedItems: tie('schema'),
      },
      { requiredKeys: [] },
    ),
  }));

  const values = fc.array(value, { minLength: 5, maxLength: 10 });

  test('agrees with ajv on random schemas', () => {
    fc.assert(
      fc.property(schema, schema, values, (given, referred, checked) => {
        fc.pre(typeof given === 'object' && !JSON.stringify(referred).includes('$ref'));
        const whole = { ...(given as object), $defs: { a: referred } };
        const [fault, isValid] = [faultOf(whole, 'output'), ajvOf(whole)];
        // Beside `prefixItems`, ajv 8.20 does not ask an empty array for what `contains` wants.
        const text = JSON.stringify(whole);
        const isAsked = !(text.includes('"prefixItems"') && text.includes('"contains"'));
        const compared = checked.filter((each) => isAsked || !JSON.stringify(each).includes('[]'));
        expect(compared.map((each) => fault(each) === undefined)).toEqual(
          compared.map((each) => isValid(each)),
        );
      }),
      // To compile them with ajv takes most of the time.
      { numRuns: 60 },
    );
  });

  test.each([[true], [false], [{ type: 'string' }]])(
    'checks contains on an empty array with prefixItems %j',
    (first) => {
      const fault = faultOf({ prefixItems: [first], contains: {} }, 'output');
      expect(fault([])).toContain('must contain at least 1 valid item');
      expect(fault(['a']) === undefined).toBe(first !== false);
    },
  );

  test.each(names)('checks only own properties: %s', (name) => {
    const check = faultOf({ required: [name], properties: {} }, 'input');
    expect(check({})).toBe(`the arguments must have required property '${name}'`);
    expect(check(JSON.parse(`{"${name}":1}`))).toBeUndefined();
  });

  test('resolves $id, anchors and dynamic anchors', () => {
    const tree = {
      $id: 'https://example.com/strict',
      $dynamicAnchor: 'node',
      $ref: 'tree',
      unevaluatedProperties: false,
      $defs: {
        tree: {
          $id: 'tree',
          $dynamicAnchor: 'node',
          properties: {
            value: { $ref: '#number' },
            children: { items: { $dynamicRef: '#node' } },
          },
          $defs: { any: { $anchor: 'number', type: 'number' } },
        },
      },
    };
    const check = faultOf(tree, 'output');
    expect(check({ children: [{ value: 1 }] })).toBeUndefined();
    expect(check({ children: [{ value: 'x' }] })).toContain('children.0.value must be number');
    expect(check({ children: [{ valeu: 1 }] })).toContain('must not have the property "valeu"');
  });
});

describe('a value that does not conform', () => {
  const check = (schema: JsonSchema, value: unknown) => faultOf(schema, 'input')(value);

  test.each([
    [{ type: 'object' }, [], 'the arguments must be object'],
    [{ type: ['string', 'null'] }, 1, 'the arguments must be string,null'],
    [{ enum: ['a', 1] }, 'b', 'must be equal to one of the allowed values: ["a",1]'],
    [{ const: 'a' }, 'b', 'must be equal to constant: "a"'],
    [{ minimum: 3 }, 2, 'must be >= 3'],
    [{ exclusiveMaximum: 3 }, 3, 'must be < 3'],
    [{ multipleOf: 2 }, 3, 'must be multiple of 2'],
    [{ maxLength: 1 }, '😀😀', 'must NOT have more than 1 characters'],
    [{ minItems: 2 }, [1], 'must NOT have fewer than 2 items'],
    [{ pattern: '^a$' }, 'b', 'must match pattern "^a$"'],
    [
      { uniqueItems: true },
      [{ a: 1, b: 2 }, 0, { b: 2, a: 1 }],
      '(items ## 0 and 2 are identical)',
    ],
    [{ prefixItems: [{}], items: false }, [1, 2], 'must NOT have more than 1 items'],
    [{ contains: { const: 1 } }, [2], 'must contain at least 1 valid item(s)'],
    [{ properties: { a: false } }, { a: 1 }, 'a must be absent'],
    [{ additionalProperties: false }, { x: 1 }, 'must not have the property "x"'],
    [{ propertyNames: { maxLength: 1 } }, { ab: 1 }, 'must not have the property name "ab"'],
    [
      { dependentRequired: { a: ['b'] } },
      { a: 1 },
      'must have property b when property a is present',
    ],
    [{ not: {} }, 1, 'must NOT be valid'],
    [
      // oxlint-disable-next-line unicorn/no-thenable -- a keyword
      { if: { const: 1 }, then: { type: 'null' } },
      1,
      'must be null; the arguments must match "then"',
    ],
    [
      { anyOf: [{ type: 'string' }, { properties: { a: { type: 'null' } } }] },
      { a: 1 },
      'the arguments must be string; a must be null; the arguments must match a schema in anyOf',
    ],
    [{ oneOf: [{}, {}] }, 1, 'must match exactly one schema in oneOf'],
    [{ properties: { list: { items: { type: 'number' } } } }, { list: [1, 'x'] }, 'list.1 must be'],
  ])('reports why and where for %j', (schema, value, fault) => {
    expect(check(schema as JsonSchema, value)).toContain(fault);
  });

  test('stops after ten of four million errors', () => {
    const schema = { properties: { a: { items: { type: 'string' } } } };
    const looked: unknown[] = [];
    const items = new Proxy(Array.from({ length: 4_000_000 }), {
      get: (target, key, receiver) => {
        if (typeof key === 'string' && /^\d+$/.test(key)) looked.push(key);
        return Reflect.get(target, key, receiver) as unknown;
      },
    });
    const fault = check(schema, { a: items });
    expect(fault?.match(/must be string/g)).toHaveLength(10);
    expect(fault).toContain('only the first 10 are listed');
    expect(looked).toHaveLength(10);
  });

  test('reports an invalid size before checking members', () => {
    const untouchable = new Proxy([1, 2, 3], {
      get: (target, key, receiver) => {
        if (key === '0') throw new Error('looked');
        return Reflect.get(target, key, receiver) as unknown;
      },
    });
    const fault = check({ items: { type: 'string' }, uniqueItems: true, maxItems: 2 }, untouchable);
    expect(fault).toBe('the arguments must NOT have more than 2 items');
    const long = check({ pattern: '^a$', maxLength: 3 }, 'bbbb');
    expect(long).toBe('the arguments must NOT have more than 3 characters');
  });
});

describe('limits the steps of a check', () => {
  const node = (n: number) => ({
    properties: { next: { $ref: '#/$defs/node' }, kind: { const: n } },
    required: ['kind'],
  });
  const deep = (levels: number): unknown =>
    Array.from({ length: levels }).reduce((next) => ({ next, kind: 3 }), { kind: 3 });
  const tooMuch = 'the arguments cannot be checked within 2000000 steps';

  test.each<[string, JsonSchema, unknown]>([
    [
      'alternatives that refer to themselves',
      { $ref: '#/$defs/node', $defs: { node: { anyOf: [node(1), node(2)] } } },
      deep(200),
    ],
    [
      'references that double',
      {
        $ref: '#/$defs/n0',
        $defs: Object.fromEntries(
          Array.from({ length: 60 }, (_, n) => {
            const next = { $ref: `#/$defs/n${n + 1}` };
            return [`n${n}`, n === 59 ? {} : { allOf: [next, next] }];
          }),
        ),
      },
      1,
    ],
    [
      'items without end',
      { items: { type: 'integer' } },
      Array.from({ length: 3_000_000 }).fill(1),
    ],
    ['a pattern', { pattern: '(a|aa)+$' }, 'a'.repeat(3_000_000)],
    ['patterns of names', { patternProperties: { '(a|b)*c': {} } }, { ['ab'.repeat(300_000)]: 1 }],
    [
      'what is compared',
      { uniqueItems: true },
      Array.from({ length: 400_000 }, (_, n) => ({ a: [n], b: [n] })),
    ],
  ])('%s', (_, schema, value) => {
    expect(faultOf(schema, 'input')(value)).toContain(tooMuch);
  });

  test('limits the depth of a check', () => {
    const itself = faultOf({ $ref: '#' }, 'input');
    expect(itself(1)).toBe('the arguments cannot be checked: the value is nested too deeply');
    const list = faultOf({ properties: { next: { anyOf: [{ $ref: '#' }] } } }, 'input');
    expect(list(deep(255))).toBeUndefined();
    expect(list(deep(5000))).toContain('nested too deeply');
  });

  test('allows a hundred thousand objects', () => {
    const schema = {
      items: {
        type: 'object',
        properties: { id: { type: 'integer' }, name: { type: 'string', maxLength: 20 } },
        required: ['id'],
        additionalProperties: false,
      },
    };
    const items = Array.from({ length: 100_000 }, (_, id) => ({ id, name: `n${id}` }));
    expect(faultOf(schema, 'input')(items)).toBeUndefined();
  });
});

describe('rejects an invalid schema with its location', () => {
  const circle: { [keyword: string]: unknown } = {};
  circle['not'] = circle;

  test.each<[JsonSchema, string]>([
    [
      { properties: { a: { $ref: '#/nowhere' } } },
      '#/properties/a/$ref: cannot resolve "#/nowhere"',
    ],
    [{ $defs: { unused: { $ref: '#missing' } } }, '#/$defs/unused/$ref: cannot resolve "#missing"'],
    [{ $ref: 'https://example.com/x' }, 'are not fetched'],
    [{ $ref: '#/%' }, 'percent-encoding is invalid'],
    [{ $ref: 1 }, '#/$ref must be a string, got 1'],
    [
      { properties: { a: { pattern: '[' } } },
      '#/properties/a/pattern must be a regular expression: "["',
    ],
    [{ pattern: String.raw`(a)\1` }, '#/pattern must not use backreferences'],
    [{ patternProperties: { '(': {} } }, '#/patternProperties must be a regular expression: "("'],
    [{ items: { type: 'text' } }, '#/items/type must be one of array, boolean'],
    [{ items: [{}] }, '#/items must be a schema'],
    [{ properties: { a: { maxLength: '3' } } }, '#/properties/a/maxLength must be a number'],
    [{ allOf: [] }, '#/allOf must be a list of schemas'],
    [{ properties: [] }, '#/properties must be an object of schemas'],
    [{ required: 'a' }, '#/required must be an array of names'],
    [{ dependentRequired: { a: 'b' } }, '#/dependentRequired/a must be an array of names'],
    [{ enum: 'a' }, '#/enum must be a list'],
    [{ $anchor: 1 }, '#/$anchor must be a string'],
    [{ contains: {}, minContains: 'a' }, '#/minContains must be a number'],
    [circle, 'schemas must be nested at most 256 deep'],
  ])('%#: %s', (schema, fault) => {
    expect(() => faultOf(schema, 'input')).toThrow(TypeError);
    expect(() => faultOf(schema, 'input')).toThrow(fault);
  });
});

const program = `
  import { createMcpServer, defineTool } from 'mcp-actors';
  import { testClient } from 'mcp-actors/testing';
  const greet = defineTool({
    name: 'greet',
    description: 'Greets',
    inputSchema: { type: 'object', properties: { who: { type: 'string', default: 'you' } } },
    handler: ({ who }) => 'Hello ' + who,
  });
  const client = await testClient(createMcpServer({ name: 's', version: '1', tools: [greet] }));
  for (const args of [{}, { who: 1 }]) console.log(JSON.stringify(await client.callTool('greet', args)));
  await client.close();
`;

test('calls tools in a process without code generation', async () => {
  const flags = ['--disallow-code-generation-from-strings', '--input-type=module', '--eval'];
  const cwd = fileURLToPath(new URL('../../..', import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, [...flags, program], { cwd });
  expect(stdout).toContain('Hello you');
  expect(stdout).toContain('who must be string');
});
