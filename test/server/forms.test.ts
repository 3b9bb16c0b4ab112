import fc from 'fast-check';
import { defineForm } from 'mcp-actors';
import type { JsonObject } from 'mcp-actors';
import type { FormSource } from '../../packages/schema/src/forms/form.ts';
import { describe, expect, test } from 'vitest';
import { latestHandshake, negotiateDialect } from '../../src/protocol/dialects/registry.ts';
import { requestedSchemaOf } from './forms.ts';

const dialect20250618 = negotiateDialect('2025-06-18');

/** A form with one property. What the types forbid is tested as well: an author may write JavaScript. */
const formOf = (property: unknown, rest: object = {}) =>
  defineForm({ type: 'object', properties: { p: property }, ...rest } as unknown as FormSource);
const asked = (property: unknown, dialect = latestHandshake) =>
  (requestedSchemaOf(formOf(property), dialect)['properties'] as JsonObject)['p'];
const red = { const: '#f00', title: 'Red' };
const green = { const: '#0f0', title: 'Green' };

describe('supported form fields', () => {
  const label = { title: 'Title', description: 'Description' };
  test.each([
    ['a string', { type: 'string', ...label, minLength: 1, maxLength: 9, default: 'x' }],
    ['a pattern', { type: 'string', pattern: '^a' }],
    ['an email', { type: 'string', format: 'email' }],
    ['a URI', { type: 'string', format: 'uri' }],
    ['a date', { type: 'string', format: 'date' }],
    ['a date and time', { type: 'string', format: 'date-time' }],
    ['a number', { type: 'number', ...label, minimum: -1.5, maximum: 2, default: 0 }],
    ['an integer', { type: 'integer', minimum: 1, default: 7 }],
    ['a boolean', { type: 'boolean', ...label, default: false }],
    ['a choice', { type: 'string', ...label, enum: ['a', 'b'], default: 'a' }],
    ['a titled choice', { type: 'string', oneOf: [red, green], default: '#f00' }],
    ['an older titled choice', { type: 'string', enum: ['a'], enumNames: ['A'], default: 'a' }],
    [
      'several choices',
      {
        type: 'array',
        ...label,
        minItems: 1,
        maxItems: 2,
        items: { type: 'string', enum: ['a', 'b'] },
        default: ['a', 'b'],
      },
    ],
    ['several titled choices', { type: 'array', items: { anyOf: [red, green] }, default: [] }],
  ])('%s [ELICIT-04]', (_, property) => {
    expect(asked(property)).toEqual(property);
  });

  test('a form without fields [ELICIT-04]', () => {
    const form = defineForm({ type: 'object', properties: {} });
    expect(requestedSchemaOf(form)).toEqual({ type: 'object', properties: {} });
  });
});

describe('unsupported form fields', () => {
  test.each<[string, unknown, RegExp]>([
    ['an object', { type: 'object', properties: {} }, /"p" must be a string, number/],
    ['a list of objects', { type: 'array', items: { type: 'object' } }, /"p" is an array/],
    ['a list of texts', { type: 'array', items: { type: 'string' } }, /"p" is an array/],
    [
      'a list of numbers',
      { type: 'array', items: { type: 'number', enum: [1] } },
      /"p": items must be strings, got type "number"/,
    ],
    ['null', { type: 'null' }, /"p" must be a string, number/],
    ['two types', { type: ['string', 'null'] }, /"p" must be a string, number/],
    ['no schema', 'string', /"p" must be a schema, got "string"/],
    [
      'another format',
      { type: 'string', format: 'uuid' },
      /"p": "format" must be one of email.*, got "uuid"/,
    ],
    [
      'another keyword',
      { type: 'number', exclusiveMinimum: 0 },
      /"p" has the keyword "exclusiveMinimum"/,
    ],
    [
      'a number with the keyword of a string',
      { type: 'number', minLength: 1 },
      /"p" has the keyword "minLength"/,
    ],
    [
      'a choice of numbers',
      { type: 'string', enum: [1, 2] },
      /"p" must have an "enum" with at least one string/,
    ],
    ['a choice of nothing', { type: 'string', enum: [] }, /"p" must have an "enum"/],
    [
      'a titled choice of nothing',
      { type: 'string', oneOf: [] },
      /"p" must have at least one choice/,
    ],
    ['the same value twice', { type: 'string', enum: ['a', 'a'] }, /"p" lists the value "a" twice/],
    [
      'a union of types',
      { anyOf: [{ type: 'string' }, { type: 'null' }] },
      /"p" must be a choice of strings/,
    ],
    [
      'too few names',
      { type: 'string', enum: ['a', 'b'], enumNames: ['A'] },
      /"enumNames" per value: 2/,
    ],
    [
      'a default of another type',
      { type: 'integer', default: 1.5 },
      /"p": its default must be an integer/,
    ],
    [
      'a default that is no choice',
      { type: 'string', enum: ['a'], default: 'b' },
      /default must be one of "a"/,
    ],
    [
      'a default too long',
      { type: 'string', maxLength: 1, default: 'ab' },
      /default must have at most 1/,
    ],
    [
      'bounds that exclude each other',
      { type: 'number', minimum: 2, maximum: 1 },
      /"minimum" must not exceed "maximum"/,
    ],
    [
      'a length that is none',
      { type: 'string', minLength: -1 },
      /"minLength" must be a valid bound, got -1/,
    ],
    [
      'a pattern that is none',
      { type: 'string', pattern: '(' },
      /"p": "pattern" must be a regular expression/,
    ],
    ['a title that is none', { type: 'string', title: 7 }, /"p": "title" must be a string, got 7/],
  ])('%s [ELICIT-04]', (_, property, message) => {
    expect(() => formOf(property)).toThrow(TypeError);
    expect(() => formOf(property)).toThrow(message);
  });

  test.each<[string, unknown, RegExp]>([
    ['another root', { type: 'array', items: {} }, /must have "type": "object"/],
    ['no properties', { type: 'object' }, /"properties" must be an object, got missing/],
    [
      'patterns for names',
      { type: 'object', properties: {}, patternProperties: {} },
      /"patternProperties"/,
    ],
    [
      'a name required that is none',
      { type: 'object', properties: {}, required: ['q'] },
      /"required" names "q"/,
    ],
    [
      'no list of names',
      { type: 'object', properties: {}, required: 'q' },
      /"required" must be an array/,
    ],
    ['no schema', undefined, /^A form must have a schema, got missing/],
  ])('%s [ELICIT-04]', (_, schema, message) => {
    expect(() => defineForm(schema as FormSource)).toThrow(message);
  });
});

describe('a form for 2025-06-18', () => {
  test.each([
    [{ type: 'string', pattern: 'x', default: 'x' }, { type: 'string' }],
    [
      { type: 'string', format: 'email', default: 'a@b' },
      { type: 'string', format: 'email' },
    ],
    [
      { type: 'integer', minimum: 1, default: 1 },
      { type: 'integer', minimum: 1 },
    ],
    [
      { type: 'boolean', default: true },
      { type: 'boolean', default: true },
    ],
    [
      { type: 'string', enum: ['a'], default: 'a' },
      { type: 'string', enum: ['a'] },
    ],
    [
      { type: 'string', oneOf: [red, green], default: '#f00' },
      { type: 'string', enum: ['#f00', '#0f0'], enumNames: ['Red', 'Green'] },
    ],
    [
      { type: 'string', enum: ['a'], enumNames: ['A'] },
      { type: 'string', enum: ['a'], enumNames: ['A'] },
    ],
  ])('converts %j to %j [ELICIT-05]', (property, older) => {
    expect(asked(property, dialect20250618)).toEqual(older);
  });

  test.each([{ enum: ['a'] }, { anyOf: [red] }])(
    'rejects the multiple choice %j by name [ELICIT-05]',
    (items) => {
      expect(() => asked({ type: 'array', items }, dialect20250618)).toThrow(
        expect.objectContaining({
          code: 'CAPABILITY_MISSING',
          message: expect.stringMatching(/"p".*2025-06-18/),
        }),
      );
    },
  );
});

describe('form content', () => {
  const read = (property: unknown, value: unknown) =>
    formOf(property).read(value === undefined ? {} : { p: value });
  test.each<[object, readonly unknown[], readonly unknown[]]>([
    [{ type: 'string' }, ['', 'x', '\u{1f600}'], [1, null, true, ['x'], {}]],
    [{ type: 'string', minLength: 1, maxLength: 2 }, ['a', '\u{1f600}\u{1f600}'], ['', 'abc']],
    [{ type: 'string', pattern: '^a+$' }, ['a', 'aa'], ['b', '']],
    [{ type: 'string', format: 'email' }, ['a@b', 'a+b@c.example'], ['a', '@b', 'a b@c']],
    [{ type: 'string', format: 'uri' }, ['https://a.example/?q', 'urn:a:b'], ['a', '/a', '']],
    [
      { type: 'string', format: 'date' },
      ['2025-11-25', '2024-02-29', '2000-02-29', '0099-01-01'],
      [
        '2025-02-29',
        '1900-02-29',
        '2025-13-01',
        '2025-00-10',
        '25-11-2025',
        '2025-11-25T00:00:00Z',
      ],
    ],
    [
      { type: 'string', format: 'date-time' },
      ['2025-11-25T18:30:00Z', '2025-11-25T18:30:00.123+02:00', '2016-12-31T23:59:60Z'],
      ['2025-11-25', '2025-11-25T18:30:00', '2025-02-30T00:00:00Z', '2025-11-25T24:00:00Z'],
    ],
    [{ type: 'number', minimum: 0, maximum: 1 }, [0, 0.5, 1], [-0.1, 1.1, '0', null]],
    [{ type: 'integer' }, [0, -7, 1e15], [0.5, '1', true]],
    [{ type: 'boolean' }, [true, false], ['true', 0, null]],
    [{ type: 'string', enum: ['a', 'b'] }, ['a', 'b'], ['c', 'A', 1]],
    [{ type: 'string', oneOf: [red, green] }, ['#f00'], ['Red']],
    [
      { type: 'array', items: { type: 'string', enum: ['a', 'b'] }, minItems: 1, maxItems: 2 },
      [['a'], ['b', 'a']],
      [[], ['a', 'b', 'a'], ['c'], 'a', [1]],
    ],
    [{ type: 'array', items: { anyOf: [red, green] } }, [[], ['#0f0']], [['Green']]],
  ])('is validated for %j [ELICIT-07]', async (property, right, wrong) => {
    for (const value of right) expect(await read(property, value)).toEqual({ p: value });
    for (const value of wrong) {
      await expect(read(property, value), JSON.stringify(value)).rejects.toMatchObject({
        code: 'INVALID_RESPONSE',
        message: expect.stringMatching(/"p" (must|has)/) as string,
      });
    }
  });

  test('may omit optional fields but not required ones [ELICIT-07]', async () => {
    expect(await read({ type: 'string' }, undefined)).toEqual({});
    const form = formOf({ type: 'string' }, { required: ['p'] });
    await expect(form.read({})).rejects.toThrow(/"p" is missing/);
  });

  test('loses unknown members, and all problems are reported together [ELICIT-07]', async () => {
    const form = defineForm({
      type: 'object',
      properties: { age: { type: 'integer' }, name: { type: 'string' } },
      required: ['name'],
    });
    expect(await form.read({ name: 'x', more: 1, toString: 2 })).toEqual({ name: 'x' });
    await expect(form.read({ age: 'x' })).rejects.toThrow(
      /"age" must be a number.*"name" is missing/,
    );
  });
});

describe('defineForm with arbitrary schemas', () => {
  const scalar = fc.oneof(fc.string(), fc.integer(), fc.boolean(), fc.constant(null), fc.double());
  const keyword = fc.constantFrom(
    'type',
    'title',
    'description',
    'default',
    'minLength',
    'maxLength',
    'pattern',
    'format',
    'minimum',
    'maximum',
    'enum',
    'enumNames',
    'const',
    'oneOf',
    'anyOf',
    'items',
    'minItems',
    'maxItems',
  );
  const value = fc.oneof(
    fc.constantFrom('string', 'number', 'integer', 'boolean', 'array', 'object', 'email', 'date'),
    fc.array(fc.string({ maxLength: 3 }), { maxLength: 3 }),
    fc.constant([red, green]),
    fc.constant({ enum: ['a', 'b'] }),
    scalar,
  );
  const property = fc.dictionary(keyword, value, { maxKeys: 6 });

  test('returns a form that conforms to the official schema, or throws a TypeError naming the property [ELICIT-04] [ELICIT-05]', async () => {
    const { ElicitRequestFormParamsSchema } = await import('@modelcontextprotocol/sdk/types.js');
    await fc.assert(
      fc.asyncProperty(property, scalar, async (schema, given) => {
        let form: ReturnType<typeof formOf>;
        try {
          form = formOf(schema);
        } catch (error) {
          expect(error).toBeInstanceOf(TypeError);
          expect(String(error)).toContain('"p"');
          return;
        }
        const requestedSchema = requestedSchemaOf(form);
        expect(
          ElicitRequestFormParamsSchema.safeParse({ message: '', requestedSchema }).success,
        ).toBe(true);
        // What is asked for is a form again, and the same one.
        expect(requestedSchemaOf(defineForm(requestedSchema as FormSource))).toEqual(
          requestedSchema,
        );
        await form.read({ p: given }).catch((error: unknown) => {
          expect(error).toMatchObject({ code: 'INVALID_RESPONSE' });
        });
      }),
      { numRuns: 2000 },
    );
  });
});
