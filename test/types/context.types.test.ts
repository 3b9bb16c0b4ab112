/** What the compiler proves of a handler's context. Run by `tsc`; the test run only shows that nothing throws. */
import { defineForm } from 'mcp-actors';
import type { HandlerContext, JsonObject } from 'mcp-actors';
import type { FormAnswer } from '../../src/server/context/elicitation.ts';
import type { Sample } from '../../src/server/context/sampling.ts';
import { describe, expectTypeOf, test } from 'vitest';
import { z } from 'zod';

/** Never called: only its type is looked at. */
const used = (_: (context: HandlerContext) => unknown) => {};

describe('the type of an answer follows from the request', () => {
  test('for a form defined with defineForm [ELICIT-06]', () => {
    const form = defineForm({
      type: 'object',
      properties: {
        name: { type: 'string' },
        age: { type: 'integer' },
        news: { type: 'boolean' },
        seat: { type: 'string', enum: ['in', 'out'] },
        color: { type: 'string', oneOf: [{ const: '#f00', title: 'Red' }] },
        tags: { type: 'array', items: { type: 'string', enum: ['a', 'b'] } },
        more: { type: 'array', items: { anyOf: [{ const: 'x', title: 'X' }] } },
      },
      required: ['name', 'seat', 'tags'],
    });
    used(async (context) => {
      const answer = await context.elicit({ message: '', schema: form });
      if (answer.action !== 'accept') {
        expectTypeOf(answer).toEqualTypeOf<
          { readonly action: 'decline' } | { readonly action: 'cancel' }
        >();
        return;
      }
      const { content } = answer;
      expectTypeOf(content.name).toEqualTypeOf<string>();
      expectTypeOf(content.age).toEqualTypeOf<number | undefined>();
      expectTypeOf(content.news).toEqualTypeOf<boolean | undefined>();
      expectTypeOf(content.seat).toEqualTypeOf<'in' | 'out'>();
      expectTypeOf(content.color).toEqualTypeOf<'#f00' | undefined>();
      expectTypeOf(content.tags).toEqualTypeOf<readonly ('a' | 'b')[]>();
      expectTypeOf(content.more).toEqualTypeOf<readonly 'x'[] | undefined>();
      // @ts-expect-error: nobody asked for it
      void content.other;
    });
  });

  test('for an inline form and a library schema [ELICIT-06]', () => {
    used((context) => {
      const schema = {
        type: 'object',
        properties: { n: { type: 'number' } },
        required: ['n'],
      } as const;
      expectTypeOf(context.elicit({ message: '', schema })).resolves.toExtend<
        FormAnswer<{ readonly n: number }>
      >();
      expectTypeOf(
        context.elicit({ message: '', schema: z.object({ n: z.string().transform(Number) }) }),
      ).resolves.toEqualTypeOf<FormAnswer<{ n: number }>>();
      const nested = { type: 'object', properties: { a: { type: 'object' } } } as const;
      // @ts-expect-error: forms are flat
      void context.elicit({ message: '', schema: nested });
    });
  });

  test('for a request with and without a result schema [CTX-01]', () => {
    used((context) => {
      expectTypeOf(context.request('a')).resolves.toEqualTypeOf<JsonObject>();
      expectTypeOf(context.request('a', {}, { timeoutMs: 1 })).resolves.toEqualTypeOf<JsonObject>();
      expectTypeOf(
        context.request('a', {}, z.object({ n: z.string().transform(Number) }), { timeoutMs: 1 }),
      ).resolves.toEqualTypeOf<{ n: number }>();
      expectTypeOf(
        context.request('a', undefined, {
          type: 'object',
          properties: { n: { type: 'integer' } },
          required: ['n'],
        }),
      ).resolves.toHaveProperty('n');
      expectTypeOf(context.sample({ messages: [], maxTokens: 1 })).resolves.toEqualTypeOf<Sample>();
    });
  });
});
