/** Legal values that a strict reading would reject. */
import { createMcpServer, defineResourceTemplate, defineTool } from 'mcp-actors';
import { testClient } from 'mcp-actors/testing';
import { describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';

async function clientOf(parts: object) {
  const client = await testClient(createMcpServer({ name: 'values', version: '1', ...parts }));
  onTestFinished(() => client.close());
  return client;
}

/** A client of a tool with one argument. */
const checking = (value: object) =>
  clientOf({
    tools: [
      defineTool({
        name: 'check',
        description: 'Checks',
        inputSchema: { type: 'object', properties: { value } },
        handler: () => 'fits',
      }),
    ],
  });

const fits = { content: [{ type: 'text', text: 'fits' }] };

test.each<[keyword: string, schema: object, taken: readonly unknown[], refused: unknown]>([
  ['multipleOf 0.01', { multipleOf: 0.01 }, [19.99, 0.07, 1.1, 4.35, 1e15, -0.29], 19.995],
  ['multipleOf 1e-7', { multipleOf: 1e-7 }, [3e-7, 0.1], 1.5e-7],
  ['multipleOf 3', { multipleOf: 3 }, [9, 3e20], 10],
  ['a long bounded pattern', { pattern: '^[^<>]{1,5000}$' }, ['x'.repeat(5000)], '<'],
  ['base64 of 1 MiB', { pattern: '^[A-Za-z0-9+/]*={0,2}$' }, [`${'A'.repeat(1_398_098)}==`], 'a=b'],
  [
    'base64 of 1 MiB in groups',
    { pattern: '^$|^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$' },
    [`${'A'.repeat(1_398_100)}AA==`],
    'AAA',
  ],
  ['nullable, which JSON Schema does not know', { type: 'string', nullable: true }, ['x'], null],
])('accepts and rejects values by %s', async (_, schema, taken, refused) => {
  const client = await checking(schema);
  for (const value of taken) {
    expect(await client.callTool('check', { value }), String(value).slice(0, 20)).toMatchObject(
      fits,
    );
  }
  expect(await client.callTool('check', { value: refused })).toMatchObject({ isError: true });
});

test('lists the properties of a zod object that has an id', async () => {
  const client = await clientOf({
    tools: [
      defineTool({
        name: 'greet',
        description: 'Greets',
        inputSchema: z.object({ name: z.string() }).meta({ id: 'Greeting' }),
        handler: ({ name }) => name,
      }),
    ],
  });
  expect(await client.listTools()).toMatchObject([
    { inputSchema: { type: 'object', properties: { name: { type: 'string' } } } },
  ]);
  expect(await client.callTool('greet', { name: 'Ada' })).toMatchObject({
    content: [{ text: 'Ada' }],
  });
});

test.each(['menu:caf%C3%A9/7', 'menu:café/7'])(
  'matches a template with é against %s',
  async (uri) => {
    const client = await clientOf({
      resourceTemplates: [
        defineResourceTemplate({
          uriTemplate: 'menu:café/{n}',
          name: 'menu',
          read: (_, { n }) => `menu ${n}`,
        }),
      ],
    });
    expect(await client.readResource(uri)).toMatchObject({ text: 'menu 7' });
  },
);

describe('null for an absent member', () => {
  test.each([
    ['params', 'tools/list', null],
    ['cursor', 'tools/list', { cursor: null }],
    ['arguments', 'tools/call', { name: 'check', arguments: null }],
  ])('is accepted for %s', async (_, method, params) => {
    const client = await checking({});
    client.peer.send({ jsonrpc: '2.0', id: 'null', method, params });
    expect(await client.peer.response('null' as never)).toHaveProperty('result');
  });
});

test('types exclude a Map and a Date from structured output', () => {
  const described = { name: 'wrong', description: 'Gives it' };
  // @ts-expect-error -- JSON keeps no entry of a Map.
  expect(defineTool({ ...described, handler: () => ({ structured: new Map() }) })).toBeDefined();
  // @ts-expect-error -- JSON writes a Date as a string.
  expect(defineTool({ ...described, handler: () => ({ structured: new Date() }) })).toBeDefined();
});

test.each<[string, object, string]>([
  ['a Date', new Date(0), 'structured'],
  ['a Map', new Map([['a', 1]]), 'structured'],
  ['a Map within', { rows: [{ counts: new Map() }] }, 'structured.rows[0].counts'],
])('rejects %s as structured output, naming tool and path', async (_, structured, path) => {
  const client = await clientOf({
    tools: [
      defineTool({
        name: 'wrong',
        description: 'Gives it',
        handler: () => ({ structured }),
      }),
    ],
  });
  expect(await client.callTool('wrong')).toMatchObject({ isError: true });
  const told = client.facts.all.map(({ message }) => message).join('\n');
  expect(told).toContain(`wrong: "${path}" must be plain JSON`);
});
