import { toStandardJsonSchema } from '@valibot/to-json-schema';
import { type } from 'arktype';
import { defineForm } from 'mcp-actors';
import * as v from 'valibot';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { requestedSchemaOf } from './forms.ts';

describe('a form from a schema library', () => {
  const expected = {
    type: 'object',
    properties: {
      email: { type: 'string', format: 'email' },
      age: { type: 'integer', minimum: 18, maximum: 120 },
      color: { type: 'string', enum: ['red', 'green'] },
      tags: { type: 'array', items: { type: 'string', enum: ['a', 'b'] } },
      news: { type: 'boolean' },
    },
    required: ['email', 'age', 'color', 'tags'],
  };
  const schemas = {
    zod: z.object({
      email: z.email(),
      age: z.int().min(18).max(120),
      color: z.enum(['red', 'green']),
      tags: z.array(z.enum(['a', 'b'])),
      news: z.boolean().optional(),
    }),
    valibot: toStandardJsonSchema(
      v.object({
        email: v.pipe(v.string(), v.email()),
        age: v.pipe(v.number(), v.integer(), v.minValue(18), v.maxValue(120)),
        color: v.union([v.literal('red'), v.literal('green')]),
        tags: v.array(v.picklist(['a', 'b'])),
        news: v.optional(v.boolean()),
      }),
    ),
    arktype: type({
      email: 'string.email',
      age: '18 <= number.integer <= 120',
      color: "'red' | 'green'",
      tags: "('a' | 'b')[]",
      'news?': 'boolean',
    }),
  };
  const content = { email: 'a@b.example', age: 20, color: 'red', tags: ['a'] };

  test.each(Object.entries(schemas))(
    'sends the same form with %s and validates with the library [ELICIT-04] [ELICIT-07]',
    async (_, schema) => {
      const form = defineForm(schema);
      const { properties, required } = requestedSchemaOf(form);
      const color = (properties as { readonly color: { readonly enum: readonly string[] } }).color;
      expect([...color.enum].sort()).toEqual(['green', 'red']);
      expect({ ...(properties as object), color: expected.properties.color }).toEqual(
        expected.properties,
      );
      expect([...(required as string[])].sort()).toEqual([...expected.required].sort());
      expect(await form.read(content)).toEqual(content);
      await expect(form.read({ ...content, age: 3 })).rejects.toThrow(/age/);
    },
  );

  test('applies transforms and defaults [ELICIT-07]', async () => {
    const form = defineForm(
      z.object({
        day: z.iso.date().transform((day) => new Date(day)),
        news: z.boolean().default(true),
      }),
    );
    const filled = await form.read({ day: '2025-11-25' });
    expect(filled).toEqual({ day: new Date('2025-11-25'), news: true });
    expect(requestedSchemaOf(form)['required']).toEqual(['day']);
  });

  test('rejects an unsupported property by name [ELICIT-04]', () => {
    expect(() => defineForm(z.object({ ok: z.string(), address: z.object({}) }))).toThrow(
      /"address"/,
    );
    expect(() => defineForm(z.object({ age: z.number().positive() }))).toThrow(
      /"age".*"exclusiveMinimum"/,
    );
    expect(() => defineForm(z.object({ nick: z.string().nullable() }))).toThrow(/"nick"/);
  });

  test('sends titles of choices [ELICIT-05]', () => {
    const color = z.union([z.literal('r').meta({ title: 'Red' }), z.literal('g')]);
    const { properties } = requestedSchemaOf(defineForm(z.object({ color })));
    expect(properties).toEqual({
      color: {
        type: 'string',
        oneOf: [
          { const: 'r', title: 'Red' },
          { const: 'g', title: 'g' },
        ],
      },
    });
  });
});
