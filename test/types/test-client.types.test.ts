/** What the compiler proves of the test client: the server's type tells what it may call. Run by `tsc`; the run shows that the same holds on the wire. */
import { createMcpServer, definePrompt, defineTool } from 'mcp-actors';
import type { McpServer, Prompt, Tool } from 'mcp-actors';
import { testClient } from 'mcp-actors/testing';
import type { TestClient } from 'mcp-actors/testing';
import { toStandardJsonSchema } from '@valibot/to-json-schema';
import { type } from 'arktype';
import * as v from 'valibot';
import { describe, expect, expectTypeOf, test } from 'vitest';
import { z } from 'zod';

const server = createMcpServer({
  name: 'typed',
  version: '1.0.0',
  tools: [
    defineTool({
      name: 'add',
      description: 'Adds',
      inputSchema: {
        type: 'object',
        properties: { a: { type: 'number' }, b: { type: 'number' } },
        required: ['a'],
      },
      outputSchema: {
        type: 'object',
        properties: { sum: { type: 'number' } },
        required: ['sum'],
      },
      handler: ({ a, b = 0 }) => ({ structured: { sum: a + b } }),
    }),
    defineTool({
      name: 'convert',
      description: 'Converts',
      inputSchema: z.object({ degrees: z.string().transform(Number), unit: z.enum(['c', 'f']) }),
      outputSchema: z.object({ degrees: z.number(), unit: z.string().default('f') }),
      handler: ({ degrees }) => ({ structured: { degrees } }),
    }),
    defineTool({ name: 'clear', description: 'Clears', handler: () => 'Cleared' }),
    defineTool({
      name: 'anything',
      description: 'Takes anything',
      inputSchema: { type: 'object' },
      handler: (args) => JSON.stringify(args),
    }),
  ],
  prompts: [
    definePrompt({
      name: 'review',
      arguments: { code: { required: true }, tone: { complete: () => ['kind'] } },
      get: ({ code, tone = '' }) => code + tone,
    }),
    definePrompt({
      name: 'trip',
      arguments: z.object({
        city: z.enum(['Rome', 'Oslo']),
        days: z.coerce.number().default(3),
      }),
      complete: { city: () => ['Rome'] },
      get: ({ city, days }) => `${days} days in ${city}`,
    }),
    definePrompt({ name: 'hello', get: () => 'Hello' }),
  ],
});

async function refused(calls: readonly Promise<unknown>[]): Promise<void> {
  for (const outcome of await Promise.allSettled(calls)) {
    expect(outcome).toMatchObject({ reason: { error: { code: -32602 } } });
  }
}

describe('a test client of a typed server', () => {
  test('types tool arguments and results', async () => {
    await using client = await testClient(server);
    const { structured } = await client.callTool('add', { a: 1 });
    expectTypeOf(structured).toEqualTypeOf<{ readonly sum: number } | undefined>();
    expect(structured?.sum).toBe(1);
    const converted = await client.callTool('convert', { degrees: '7', unit: 'c' });
    expectTypeOf(converted.structured).toEqualTypeOf<
      { degrees: number; unit: string } | undefined
    >();
    expect(converted.structured).toEqual({ degrees: 7, unit: 'f' });
    const cleared = await client.callTool('clear');
    expectTypeOf(cleared.structured).toEqualTypeOf<
      { readonly [name: string]: unknown } | undefined
    >();
    await client.callTool('clear', {}, { meta: {} });
    expect((await client.callTool('anything', { at: ['all'] })).text).toBe('{"at":["all"]}');
    await client.callTool('anything');
  });

  test('rejects unknown tools and arguments', async () => {
    await using client = await testClient(server);
    // @ts-expect-error there is no such tool
    await expect(client.callTool('substract', { a: 1 })).rejects.toThrow('add, convert');
    const wrong = [
      // @ts-expect-error an argument is missing
      client.callTool('add'),
      // @ts-expect-error an argument is missing
      client.callTool('add', {}),
      // @ts-expect-error an argument has another type
      client.callTool('add', { a: '1' }),
      // @ts-expect-error what the schema parses is no input
      client.callTool('convert', { degrees: 7, unit: 'c' }),
      // @ts-expect-error there is no such unit
      client.callTool('convert', { degrees: '7', unit: 'k' }),
      // @ts-expect-error the tool has no arguments
      client.callTool('clear', { all: true }),
    ];
    for (const { isError } of await Promise.all(wrong)) expect(isError).toBe(true);
    // @ts-expect-error the tool has no such argument; its schema allows others all the same
    expect((await client.callTool('add', { a: 1, c: 2 })).isError).toBe(false);
    // What the type forbids is sent as any request.
    const raw = await client.request('tools/call', { name: 'add', arguments: { a: '1' } });
    expect(raw['isError']).toBe(true);
  });

  test('types prompt arguments as strings', async () => {
    await using client = await testClient(server);
    await client.getPrompt('review', { code: 'x' });
    await client.getPrompt('trip', { city: 'Rome', days: '2' });
    await client.getPrompt('trip', { city: 'Oslo' });
    await client.getPrompt('hello');
    const wrong = [
      // @ts-expect-error there is no such prompt
      client.getPrompt('reviews'),
      // @ts-expect-error an argument is missing
      client.getPrompt('review'),
      // @ts-expect-error the prompt has no such argument
      client.getPrompt('review', { code: 'x', other: 'y' }),
      // @ts-expect-error the wire carries strings
      client.getPrompt('trip', { city: 'Rome', days: 2 }),
      // @ts-expect-error there is no such city
      client.getPrompt('trip', { city: 'Paris' }),
      // @ts-expect-error the prompt has no arguments
      client.getPrompt('hello', { who: 'Ada' }),
    ];
    await refused(wrong);
  });

  test('types completions of prompt arguments', async () => {
    await using client = await testClient(server);
    const value = '';
    const { values } = await client.complete({ prompt: 'trip' }, { name: 'city', value });
    expect(values).toEqual(['Rome']);
    await client.complete({ prompt: 'review' }, { name: 'tone', value });
    const wrong = [
      // @ts-expect-error there is no such prompt
      client.complete({ prompt: 'trips' }, { name: 'city', value }),
      // @ts-expect-error the prompt has no such argument
      client.complete({ prompt: 'trip' }, { name: 'tone', value }),
      client.complete({ uriTemplate: 'any:{variable}' }, { name: 'variable', value }),
    ];
    await refused(wrong);
  });
});

describe('a test client of an untyped server', () => {
  const anyServer: McpServer = server;

  test('accepts any names and arguments', async () => {
    await using client = await testClient(anyServer);
    expectTypeOf(client).toEqualTypeOf<TestClient>();
    const { structured } = await client.callTool('add', { a: 1 });
    expectTypeOf(structured).toEqualTypeOf<{ readonly [name: string]: unknown } | undefined>();
    await expect(client.callTool('none')).rejects.toThrow('none');
    await expect(client.getPrompt('none', { a: 'b' })).rejects.toThrow('none');
  });

  test('accepts a client of a typed server', async () => {
    await using client = await testClient(server);
    const one: TestClient = client;
    await expect(one.callTool('none')).rejects.toThrow('none');
  });
});

test('accepts run-time names for an empty list or an item without a literal name', async () => {
  const late: Tool = defineTool({ name: 'late', description: 'Late', handler: () => 'late' });
  const prompt: Prompt = definePrompt({ name: 'late', get: () => 'late' });
  const early = defineTool({
    name: 'early',
    description: 'Early',
    inputSchema: type({ n: 'number' }),
    handler: ({ n }) => `${n}`,
  });
  const empty = createMcpServer({ name: 'a', version: '1', tools: [], prompts: [] });
  empty.tools.add(late);
  empty.prompts.add(prompt);
  await using client = await testClient(empty);
  expect((await client.callTool('late')).text).toBe('late');
  await client.getPrompt('late');

  const mixed = createMcpServer({ name: 'a', version: '1', tools: [early, late] });
  await using other = await testClient(mixed);
  expect((await other.callTool('late')).text).toBe('late');
  // @ts-expect-error the type still tells what the other tool takes
  expect((await other.callTool('early', { n: '1' })).isError).toBe(true);
});

test('infers the same types from valibot and arktype', async () => {
  const bounded = defineTool({
    name: 'bounded',
    description: 'Bounded',
    inputSchema: toStandardJsonSchema(v.object({ n: v.pipe(v.number(), v.minValue(1)) })),
    outputSchema: type({ n: 'number' }),
    handler: ({ n }) => ({ structured: { n } }),
  });
  const tools = [bounded];
  await using client = await testClient(createMcpServer({ name: 'a', version: '1', tools }));
  const { structured } = await client.callTool('bounded', { n: 1 });
  expectTypeOf(structured).toEqualTypeOf<{ n: number } | undefined>();
  // @ts-expect-error the argument is a number
  expect((await client.callTool('bounded', { n: '1' })).isError).toBe(true);
});
