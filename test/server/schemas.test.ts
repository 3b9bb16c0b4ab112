import { defineTool } from 'mcp-actors';
import type { Schema, Tool } from 'mcp-actors';
import { toStandardJsonSchema } from '@valibot/to-json-schema';
import { type } from 'arktype';
import * as v from 'valibot';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { JsonObject } from 'mcp-actors';
import { ErrorAnswer } from 'mcp-actors/testing';
import { eachRevision, everywhere } from '../contract/everywhere.ts';
import { operate, textOf } from '../contract/serving.ts';

/** What a model is told of arguments that do not fit: in a result since 2025-11-25, in an error before. */
async function refusal(answer: Promise<JsonObject>): Promise<string> {
  try {
    const result = await answer;
    expect(result['isError']).toBe(true);
    return textOf(result);
  } catch (error) {
    if (error instanceof ErrorAnswer) return error.error.message;
    throw error;
  }
}

/** One tool, written with each library: a required integer, a default, a transform; a default in its output. */
const libraries: { readonly [library: string]: Tool } = {
  zod: defineTool({
    name: 'sum',
    description: 'Adds',
    inputSchema: z.object({
      count: z.int().min(1),
      unit: z.string().default('mm'),
      offset: z.string().transform(Number).optional(),
    }),
    outputSchema: z.object({ total: z.number(), unit: z.string().default('none') }),
    handler: ({ count, unit, offset = 0 }) => ({
      structured: { total: count + offset, ...(unit === 'none' ? {} : { unit }) },
    }),
  }),
  valibot: defineTool({
    name: 'sum',
    description: 'Adds',
    inputSchema: toStandardJsonSchema(
      v.object({
        count: v.pipe(v.number(), v.integer(), v.minValue(1)),
        unit: v.optional(v.string(), 'mm'),
        offset: v.optional(v.pipe(v.string(), v.transform(Number))),
      }),
    ),
    outputSchema: toStandardJsonSchema(
      v.object({ total: v.number(), unit: v.optional(v.string(), 'none') }),
    ),
    handler: ({ count, unit, offset = 0 }) => ({
      structured: { total: count + offset, ...(unit === 'none' ? {} : { unit }) },
    }),
  }),
  arktype: defineTool({
    name: 'sum',
    description: 'Adds',
    inputSchema: type({
      count: 'number.integer >= 1',
      unit: "string = 'mm'",
      'offset?': 'string.numeric.parse',
    }),
    outputSchema: type({ total: 'number', unit: "string = 'none'" }),
    handler: ({ count, unit, offset = 0 }) => ({
      structured: { total: count + offset, ...(unit === 'none' ? {} : { unit }) },
    }),
  }),
};

everywhere('a tool', eachRevision, ({ revision }) => {
  describe.each(Object.entries(libraries))('tools with schemas of %s', (_, sum) => {
    test('are listed with both schemas as JSON Schema [SCHEMA-01] [SCHEMA-02]', async () => {
      const { peer } = await operate({ tools: [sum] });
      const { tools } = (await peer.ask('tools/list')) as { tools: readonly object[] };
      expect(tools).toEqual([
        expect.objectContaining({
          inputSchema: expect.objectContaining({
            type: 'object',
            properties: {
              count: expect.objectContaining({ type: 'integer' }),
              // Where another property transforms, arktype leaves the default out.
              unit: expect.objectContaining({ type: 'string' }),
              offset: expect.objectContaining({ type: 'string' }),
            },
            required: ['count'],
          }),
          ...(revision < '2025-06-18'
            ? {}
            : {
                outputSchema: expect.objectContaining({
                  type: 'object',
                  properties: expect.objectContaining({ total: { type: 'number' } }),
                }),
              }),
        }),
      ]);
    });

    test('receive parsed arguments and return parsed results [SCHEMA-02] [TOOLS-04]', async () => {
      const { peer } = await operate({ tools: [sum] });
      const cases = [
        { args: { count: 2 }, gives: { total: 2, unit: 'mm' } },
        { args: { count: 2, unit: 'cm', offset: '40' }, gives: { total: 42, unit: 'cm' } },
        { args: { count: 2, unit: 'none' }, gives: { total: 2, unit: 'none' } },
      ];
      for (const { args, gives } of cases) {
        const result = await peer.call('sum', args);
        expect(JSON.parse(textOf(result))).toEqual(gives);
        expect(result['structuredContent']).toEqual(revision < '2025-06-18' ? undefined : gives);
      }
    });

    test('report the path of invalid arguments [SCHEMA-03] [TOOLS-02]', async () => {
      const { peer } = await operate({ tools: [sum] });
      const text = await refusal(peer.call('sum', { count: 'two', unit: 1 }));
      expect(text).toMatch(/^(Invalid params: )?Invalid arguments for sum: /);
      expect(text).toMatch(/\bcount\b.*; .*\bunit\b/);
      expect(text).not.toMatch(/count.*count/);
    });

    test('lists the valid arguments for an unknown one [TOOLS-02]', async () => {
      const { peer } = await operate({ tools: [sum] });
      const [, names] = (await refusal(peer.call('sum', { x: 2 }))).split('; its arguments are ');
      expect(names?.split(', ').toSorted()).toEqual(['count', 'offset', 'unit']);
    });
  });
});

describe('a Standard Schema', () => {
  const slow = z.object({
    name: z.string().refine((name) => Promise.resolve(name !== 'taken'), 'is taken'),
  });

  test('can validate asynchronously [SCHEMA-04]', async () => {
    const claim = defineTool({
      name: 'claim',
      description: 'Claims a name',
      inputSchema: slow,
      outputSchema: slow,
      handler: ({ name }) => ({ structured: { name: name === 'a' ? 'taken' : name } }),
    });
    const { peer, facts } = await operate({ tools: [claim] });
    expect(JSON.parse(textOf(await peer.call('claim', { name: 'free' })))).toEqual({
      name: 'free',
    });
    expect(await refusal(peer.call('claim', { name: 'taken' }))).toContain('name: is taken');
    expect(await peer.call('claim', { name: 'a' })).toHaveProperty('isError', true);
    expect((await facts.next('handler.failed')).message).toContain('name: is taken');
  });

  test('can express checks in valibot that JSON Schema cannot [SCHEMA-02]', async () => {
    const name = v.pipe(
      v.string(),
      v.check((text) => text !== 'taken', 'is taken'),
    );
    const claim = defineTool({
      name: 'claim',
      description: 'Claims a name',
      inputSchema: toStandardJsonSchema(v.object({ name })),
      handler: (args) => args.name,
    });
    const { peer } = await operate({ tools: [claim] });
    expect(textOf(await peer.call('claim', { name: 'free' }))).toBe('free');
    expect(await refusal(peer.call('claim', { name: 'taken' }))).toContain('name: is taken');
  });

  test('reports the path of a nested problem [SCHEMA-03]', async () => {
    const deep = {
      zod: z.object({ list: z.array(z.object({ at: z.number() })) }),
      valibot: toStandardJsonSchema(v.object({ list: v.array(v.object({ at: v.number() })) })),
      arktype: type({ list: type({ at: 'number' }).array() }),
      json: {
        type: 'object',
        properties: { list: { items: { properties: { at: { type: 'number' } } } } },
      } as const,
    };
    const tools = Object.entries(deep).map(([name, inputSchema]) =>
      defineTool<Schema>({ name, description: 'Deep', inputSchema, handler: () => 'never' }),
    );
    const { peer } = await operate({ tools });
    for (const name of Object.keys(deep)) {
      const text = await refusal(peer.call(name, { list: [{ at: 1 }, { at: 'x' }] }));
      expect(text).toMatch(/list(\.1|\[1\])\.at/);
    }
  });

  test('is a bug of the tool if its own code throws [BASE-06]', async () => {
    const bad = defineTool({
      name: 'bad',
      description: 'Throws',
      inputSchema: z.object({}).refine(() => {
        throw new Error('no luck');
      }),
      handler: () => 'never',
    });
    const { peer, facts } = await operate({ tools: [bad] });
    expect(await peer.call('bad')).toHaveProperty('isError', true);
    expect((await facts.next('handler.failed')).message).toContain('no luck');
  });

  test('is converted to JSON Schema once [SCHEMA-02]', async () => {
    const schema = z.object({ n: z.number() });
    const standard = schema['~standard'];
    let conversions = 0;
    const counting = {
      '~standard': {
        ...standard,
        jsonSchema: {
          ...standard.jsonSchema,
          input: (options: Parameters<typeof standard.jsonSchema.input>[0]) => {
            conversions++;
            return standard.jsonSchema.input(options);
          },
        },
      },
    } as typeof schema;
    const counted = defineTool({
      name: 'n',
      description: 'N',
      inputSchema: counting,
      handler: () => '',
    });
    const { peer } = await operate({ tools: [counted] });
    await peer.ask('tools/list');
    await peer.ask('tools/list');
    expect(conversions).toBe(1);
  });

  test.each([
    ['zod', z.union([z.object({ a: z.string() }), z.object({ b: z.string() })])],
    ['zod intersection', z.intersection(z.object({ a: z.string() }), z.object({ b: z.string() }))],
    [
      'valibot',
      toStandardJsonSchema(v.union([v.object({ a: v.string() }), v.object({ b: v.string() })])),
    ],
    ['arktype', type({ a: 'string' }).or({ b: 'string' })],
    ['zod record', z.record(z.string(), z.number())],
  ] as const)('can be a union of objects: %s [SCHEMA-01]', async (_, schema) => {
    const union = defineTool<Schema>({
      name: 'u',
      description: 'U',
      inputSchema: schema,
      handler: () => '',
    });
    const { peer } = await operate({ tools: [union] });
    expect(await peer.ask('tools/list')).toHaveProperty('tools.0.inputSchema.type', 'object');
  });
});

const latest = 'https://json-schema.org/draft/2020-12/schema';

describe('the dialect of a JSON Schema', () => {
  const define = ($schema: unknown) => () =>
    defineTool({
      name: 'dated',
      description: 'Dated',
      inputSchema: { $schema, type: 'object' },
      handler: () => '',
    });

  test.each([
    'http://json-schema.org/draft-07/schema#',
    'https://json-schema.org/draft/2019-09/schema',
    'https://example.com/my-dialect',
    '',
    7,
  ])('%j is rejected by name [SCHEMA-07]', (dialect) => {
    expect(define(dialect)).toThrow(TypeError);
    expect(define(dialect)).toThrow(JSON.stringify(dialect));
    expect(define(dialect)).toThrow(
      /inputSchema of the tool "dated" must use the dialect ".*2020-12.*", got/,
    );
  });

  test.each([latest, `${latest}#`, undefined])('%j is 2020-12 [SCHEMA-07]', (dialect) => {
    expect(define(dialect)).not.toThrow();
  });
});

describe('a JSON Schema of 2020-12', () => {
  test.each([{ $schema: latest }, {}])('is applied to %j [SCHEMA-08]', async (dialect) => {
    const pair = defineTool({
      name: 'pair',
      description: 'Takes what older dialects cannot say',
      inputSchema: {
        ...dialect,
        type: 'object',
        properties: { pair: { type: 'array', prefixItems: [{ type: 'string' }], items: false } },
        dependentRequired: { a: ['b'] },
      },
      handler: () => 'taken',
    });
    const { peer } = await operate({ tools: [pair] });
    expect(textOf(await peer.call('pair', { pair: ['a'] }))).toBe('taken');
    expect(await refusal(peer.call('pair', { pair: ['a', 'b'] }))).toContain('pair');
    expect(await refusal(peer.call('pair', { pair: [1] }))).toContain('pair.0 must be string');
    expect(await refusal(peer.call('pair', { a: 1 }))).toContain('b');
  });
});

describe('defineTool rejects', () => {
  const define = (schemas: { inputSchema?: unknown; outputSchema?: unknown }) => () =>
    defineTool({
      name: 'odd',
      description: 'Odd',
      ...(schemas as { inputSchema?: Schema }),
      handler: () => '',
    });

  test.each([
    ['zod', z.string()],
    ['zod', z.union([z.object({}), z.string()])],
    ['zod', z.array(z.object({}))],
    ['valibot', toStandardJsonSchema(v.number())],
    ['arktype', type('string')],
    ['arktype', type({ a: 'string' }).or('string')],
    ['JSON Schema', { type: 'array' }],
    ['JSON Schema', {}],
    ['JSON Schema', { type: ['object', 'null'] }],
    ['JSON Schema', { anyOf: [] }],
  ])('a schema of %s that does not describe objects [SCHEMA-01]', (_, schema) => {
    for (const name of ['inputSchema', 'outputSchema']) {
      const fault = `The ${name} of the tool "odd" must describe objects`;
      expect(define({ [name]: schema })).toThrow(TypeError);
      expect(define({ [name]: schema })).toThrow(fault);
    }
  });

  test('a schema that its library cannot convert [SCHEMA-01]', () => {
    const transforms = z.object({ n: z.string().transform(Number) });
    expect(define({ outputSchema: transforms })).toThrow(
      'The outputSchema of the tool "odd" cannot be converted to JSON Schema (output): Error: Transforms',
    );
    expect(define({ inputSchema: z.object({ at: z.date() }) })).toThrow(
      'inputSchema of the tool "odd"',
    );
    const transform = v.object({ n: v.pipe(v.string(), v.transform(Number)) });
    expect(define({ outputSchema: toStandardJsonSchema(transform) })).toThrow('"transform" action');
  });

  test('a schema without JSON Schema conversion [SCHEMA-01]', () => {
    expect(define({ inputSchema: v.object({}) })).toThrow('toStandardJsonSchema');
    const foreign = {
      '~standard': { version: 1, vendor: 'other', validate: () => ({ value: {} }) },
    };
    expect(define({ inputSchema: foreign })).toThrow(
      'is a schema of other that cannot be converted',
    );
  });

  test.each([null, 'object', 1, []])('%j as a schema [SCHEMA-01]', (schema) => {
    expect(define({ inputSchema: schema })).toThrow('must be a schema');
  });
});

describe('a JSON Schema', () => {
  test.each([
    [
      { properties: { a: { $ref: '#/nowhere' } } },
      '#/properties/a/$ref: cannot resolve "#/nowhere"',
    ],
    [
      { properties: { a: { pattern: '[' } } },
      '#/properties/a/pattern must be a regular expression',
    ],
  ])('is rejected by defineTool if invalid [SCHEMA-06]: %j', (faulty, fault) => {
    for (const name of ['inputSchema', 'outputSchema']) {
      const define = () =>
        defineTool<Schema>({
          name: 'broken',
          description: 'Broken',
          [name]: { type: 'object', ...faulty },
          handler: () => 'never',
        });
      expect(define).toThrow(TypeError);
      expect(define).toThrow(`The ${name} of the tool "broken" is not a JSON Schema: ${fault}`);
    }
  });

  test('accepts a frozen result and adds nothing to it [SCHEMA-02]', async () => {
    const structured = Object.freeze({ a: 1 });
    const frozen = defineTool({
      name: 'frozen',
      description: 'Gives a constant',
      outputSchema: {
        type: 'object',
        properties: { a: { type: 'integer' }, b: { type: 'integer', default: 2 } },
      },
      handler: () => ({ structured }),
    });
    const { peer } = await operate({ tools: [frozen] });
    expect(textOf(await peer.call('frozen'))).toBe('{"a":1}');
  });

  test('keeps a property name with a slash [SCHEMA-03]', async () => {
    const slash = defineTool({
      name: 'slash',
      description: 'Has an odd name',
      inputSchema: { type: 'object', properties: { 'a/b~c': { type: 'string' } } },
      handler: () => '',
    });
    const { peer } = await operate({ tools: [slash] });
    expect(await refusal(peer.call('slash', { 'a/b~c': 1 }))).toContain('a/b~c must be string');
  });
});
