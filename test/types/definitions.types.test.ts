/** What the compiler proves: types flow from schemas into handlers without a cast. Run by `tsc`; the test run only shows that nothing throws. */
import { defineTool, definePrompt } from 'mcp-actors';
import type { PromptOutput, ToolOutput } from 'mcp-actors';
import type { AcceptedBy } from '../../packages/schema/src/schema.ts';
import type { FromSchema } from '../../packages/schema/src/json-schema.ts';
import type { ParsedBy } from '../../packages/schema/src/schema.ts';
import type { StructuredOutput } from '../../src/server/define/tool.ts';
import { toStandardJsonSchema } from '@valibot/to-json-schema';
import { type } from 'arktype';
import * as v from 'valibot';
import { describe, expect, expectTypeOf, test } from 'vitest';
import { z } from 'zod';

const described = { name: 'typed', description: 'Typed' } as const;

const zodSchema = z.object({ n: z.string().transform(Number), unit: z.string().default('mm') });
const valibotSchema = toStandardJsonSchema(
  v.object({ n: v.pipe(v.string(), v.transform(Number)), unit: v.optional(v.string(), 'mm') }),
);
const arktypeSchema = type({ n: 'string.numeric.parse', unit: "string = 'mm'" });

interface Parsed {
  n: number;
  unit: string;
}

test('a raw zod shape is rejected as a schema', () => {
  const shape = { q: z.string() };
  // @ts-expect-error -- the error says "required in type 'WrapItInZodObjectOrGiveAType'"
  const define = () => defineTool({ ...described, inputSchema: shape, handler: () => '' });
  expect(define).toThrow('wrap it in z.object');
});

describe('handler arguments have the parsed type of the schema [SCHEMA-05]', () => {
  test('zod', () => {
    defineTool({
      ...described,
      inputSchema: zodSchema,
      handler: (args) => {
        expectTypeOf(args).toEqualTypeOf<Parsed>();
        return args.unit;
      },
    });
  });

  test('valibot', () => {
    defineTool({
      ...described,
      inputSchema: valibotSchema,
      handler: (args) => {
        expectTypeOf(args).toEqualTypeOf<Parsed>();
        return args.unit;
      },
    });
  });

  test('arktype', () => {
    defineTool({
      ...described,
      inputSchema: arktypeSchema,
      handler: (args) => {
        expectTypeOf(args).toEqualTypeOf<Parsed>();
        return args.unit;
      },
    });
  });

  test('a JSON Schema', () => {
    defineTool({
      ...described,
      inputSchema: {
        type: 'object',
        properties: {
          text: { type: 'string' },
          kind: { enum: ['a', 'b'] },
          points: {
            type: 'array',
            items: { type: 'object', properties: { x: { type: 'number' } } },
          },
          only: { const: 7 },
        },
        required: ['text', 'kind'],
      },
      handler: (args) => {
        expectTypeOf(args.text).toEqualTypeOf<string>();
        expectTypeOf(args.kind).toEqualTypeOf<'a' | 'b'>();
        expectTypeOf(args.points).toEqualTypeOf<
          readonly { readonly x?: number | undefined }[] | undefined
        >();
        expectTypeOf(args.only).toEqualTypeOf<7 | undefined>();
        // @ts-expect-error the schema has no such property
        return args.other;
      },
    });
  });

  test('no schema means no arguments', () => {
    defineTool({
      ...described,
      handler: (args) => {
        // @ts-expect-error a tool without a schema has no arguments
        return args.text;
      },
    });
  });

  test('a schema without a converter is rejected', () => {
    // @ts-expect-error valibot's own schema cannot tell its JSON Schema
    const define = () => defineTool({ ...described, inputSchema: v.object({}), handler: () => '' });
    expect(define).toThrow('toStandardJsonSchema');
  });
});

describe('structured output has the input type of the schema [SCHEMA-05]', () => {
  const outputSchema = z.object({ total: z.number(), unit: z.string().default('mm') });

  test('members with a default are optional', () => {
    defineTool({ ...described, outputSchema, handler: () => ({ structured: { total: 1 } }) });
    defineTool({
      ...described,
      outputSchema,
      handler: () => Promise.resolve({ structured: { total: 1, unit: 'cm' } }),
    });
  });

  test('literals keep their type in a handler without parameters, sync or async', () => {
    const schema = z.object({ unit: z.enum(['mm', 'cm']), list: z.array(z.string()) });
    const json = { type: 'object', properties: { unit: { enum: ['mm', 'cm'] } } } as const;
    defineTool({
      ...described,
      outputSchema: schema,
      handler: () => ({ structured: { unit: 'mm', list: ['a'] } }),
    });
    defineTool({
      ...described,
      outputSchema: json,
      handler: async () => {
        await Promise.resolve();
        return { structured: { unit: 'cm' } };
      },
    });
    defineTool({
      ...described,
      outputSchema: json,
      // @ts-expect-error no such unit
      handler: () => ({ structured: { unit: 'm' } }),
    });
    defineTool({
      ...described,
      outputSchema: schema,
      // @ts-expect-error a member is missing
      handler: () => ({ structured: { unit: 'mm' } }),
    });
  });

  test('a promise that only rejects needs no annotation', () => {
    const outputSchema = z.object({ unit: z.enum(['mm', 'cm']) });
    defineTool({ ...described, outputSchema, handler: () => Promise.reject(new Error('no')) });
    defineTool({ ...described, handler: () => Promise.reject(new Error('no')) });
  });

  test('literals keep their type in every form of handler', () => {
    const schema = z.object({ unit: z.enum(['mm', 'cm']), list: z.array(z.string()) });
    const json = {
      type: 'object',
      properties: { unit: { enum: ['mm', 'cm'] } },
      required: ['unit'],
    } as const;
    const list: string[] = [];
    defineTool({
      ...described,
      outputSchema: schema,
      handler: (args) => ({ structured: { unit: 'n' in args ? 'mm' : 'cm', list: ['a'] } }),
    });
    defineTool({
      ...described,
      outputSchema: schema,
      handler: async (_args, { client }) => {
        await Promise.resolve();
        return { structured: { unit: client.capabilities['roots'] ? 'mm' : 'cm', list } };
      },
    });
    defineTool({
      ...described,
      inputSchema: schema,
      outputSchema: json,
      handler({ unit }) {
        return { structured: { unit: unit === 'mm' ? 'cm' : 'mm' } };
      },
    });
    defineTool({
      ...described,
      outputSchema: json,
      // @ts-expect-error no unit of the schema's
      handler: (_args) => ({ structured: { unit: 'inch' } }),
    });
  });

  test('an error result needs no structured output', () => {
    defineTool({ ...described, outputSchema, handler: () => ({ isError: true, content: [] }) });
  });

  test('other results are rejected', () => {
    // @ts-expect-error text alone is no structured output
    defineTool({ ...described, outputSchema, handler: () => 'text' });
    // @ts-expect-error a property is missing
    defineTool({ ...described, outputSchema, handler: () => ({ structured: {} }) });
    // @ts-expect-error a property is of another type
    defineTool({ ...described, outputSchema, handler: () => ({ structured: { total: '1' } }) });
    // @ts-expect-error a promise of the same is no better
    defineTool({ ...described, outputSchema, handler: () => Promise.resolve('text') });
  });

  test('valibot, arktype and JSON Schema behave alike', () => {
    const valibotOutput = toStandardJsonSchema(v.object({ n: v.number() }));
    defineTool({
      ...described,
      outputSchema: valibotOutput,
      handler: () => ({ structured: { n: 1 } }),
    });
    const arktypeOutput = type({ n: 'number' });
    defineTool({
      ...described,
      outputSchema: arktypeOutput,
      handler: () => ({ structured: { n: 1 } }),
    });
    const jsonOutput = {
      type: 'object',
      properties: { n: { type: 'number' } },
      required: ['n'],
    } as const;
    defineTool({
      ...described,
      outputSchema: jsonOutput,
      handler: () => ({ structured: { n: 1 } }),
    });
    defineTool({
      ...described,
      outputSchema: valibotOutput,
      // @ts-expect-error valibot
      handler: () => ({ structured: { n: '' } }),
    });
    defineTool({
      ...described,
      outputSchema: arktypeOutput,
      // @ts-expect-error arktype
      handler: () => ({ structured: { n: '' } }),
    });
    defineTool({
      ...described,
      outputSchema: jsonOutput,
      // @ts-expect-error JSON Schema
      handler: () => ({ structured: { n: '' } }),
    });
  });

  test('any tool output is accepted without a schema', () => {
    expectTypeOf<string>().toExtend<ToolOutput>();
    expectTypeOf<StructuredOutput<{ n: number }>>().toExtend<ToolOutput>();
  });
});

describe('helper types', () => {
  test('infer both sides of a schema', () => {
    expectTypeOf<ParsedBy<typeof zodSchema>>().toEqualTypeOf<Parsed>();
    expectTypeOf<AcceptedBy<typeof zodSchema>>().toEqualTypeOf<{
      n: string;
      unit?: string | undefined;
    }>();
  });

  test('infer a JSON Schema, with unknown for unsupported parts', () => {
    expectTypeOf<FromSchema<{ type: 'object' }>>().toEqualTypeOf<{
      readonly [key: string]: unknown;
    }>();
    expectTypeOf<FromSchema<{ anyOf: [] }>>().toBeUnknown();
    expectTypeOf<FromSchema<{ type: 'null' }>>().toBeNull();
  });
});

describe('prompt values have the types of the arguments', () => {
  test('required arguments are strings, others are optional', () => {
    definePrompt({
      name: 'review',
      arguments: {
        code: { required: true },
        style: { description: 'How' },
        no: { required: false },
      },
      get: (args): PromptOutput => {
        expectTypeOf(args.code).toEqualTypeOf<string>();
        expectTypeOf(args.style).toEqualTypeOf<string | undefined>();
        expectTypeOf(args.no).toEqualTypeOf<string | undefined>();
        // @ts-expect-error the prompt has no such argument
        return String(args.other);
      },
    });
  });

  test('schema arguments have their parsed types', () => {
    definePrompt({
      name: 'zod',
      arguments: z.object({ n: z.coerce.number(), kind: z.enum(['a', 'b']).default('a') }),
      complete: { kind: () => ['a', 'b'] },
      get: (args) => {
        expectTypeOf(args).toEqualTypeOf<{ n: number; kind: 'a' | 'b' }>();
        return args.kind;
      },
    });
    definePrompt({
      name: 'valibot',
      arguments: valibotSchema,
      get: (args) => {
        expectTypeOf(args).toEqualTypeOf<Parsed>();
        return args.unit;
      },
    });
    definePrompt({
      name: 'arktype',
      arguments: arktypeSchema,
      get: (args) => {
        expectTypeOf(args).toEqualTypeOf<Parsed>();
        return args.unit;
      },
    });
  });

  test('a schema must accept strings, and completers must match its members', () => {
    definePrompt({
      name: 'counts',
      // @ts-expect-error a client sends no numbers
      arguments: z.object({ n: z.number(), text: z.string() }),
      get: () => '',
    });
    const define = () =>
      definePrompt({
        name: 'completes',
        arguments: z.object({ text: z.string() }),
        // @ts-expect-error the schema has no such member
        complete: { other: () => [] },
        get: () => '',
      });
    expect(define).toThrow('"other"');
  });

  test('completers are typed by the argument names', () => {
    definePrompt({
      name: 'review',
      arguments: {
        code: {
          required: true,
          complete: (value, filled) => {
            expectTypeOf(value).toEqualTypeOf<string>();
            expectTypeOf(filled['style']).toEqualTypeOf<string | undefined>();
            return [value];
          },
        },
      },
      get: ({ code }) => code,
    });
  });

  test('the result of a prompt is type-checked', () => {
    definePrompt({ name: 'p', get: () => ({ messages: [] }) });
    // @ts-expect-error a number is no prompt
    definePrompt({ name: 'p', get: () => 7 });
    definePrompt({
      name: 'p',
      // @ts-expect-error a system does not speak in a prompt
      get: () => [{ role: 'system', content: { type: 'text', text: '' } }],
    });
  });
});
