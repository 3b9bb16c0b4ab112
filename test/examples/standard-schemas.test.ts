import { afterEach, describe, expect, test } from 'vitest';
import { closeClients, connect, textOf } from '../e2e/sdk-client.ts';
import { program } from '../tooling/programs.ts';

afterEach(closeClients);

describe.each(['zod', 'valibot', 'arktype'] as const)(
  'the example with %s, with the official client',
  (library) => {
    test('converts, fills in defaults, and reports errors [SCHEMA-02] [SCHEMA-03]', async () => {
      const sdk = await connect(program(`examples/${library}/server.ts`));
      const { tools } = await sdk.client.listTools();
      expect(tools).toMatchObject([
        {
          name: 'convert',
          inputSchema: {
            type: 'object',
            required: ['degrees'],
            properties: {
              degrees: { type: 'number', minimum: -459.67 },
              from: expect.anything(),
            },
          },
          outputSchema: { type: 'object' },
        },
      ]);
      expect(await sdk.call('convert', { degrees: 21 })).toEqual({
        degrees: 69.8,
        unit: 'fahrenheit',
      });
      expect(await sdk.call('convert', { degrees: 0, from: 'fahrenheit', digits: 3 })).toEqual({
        degrees: -17.778,
        unit: 'celsius',
      });
      const refused = await sdk.callRaw('convert', { degrees: 'warm', from: 'kelvin' });
      expect(refused.isError).toBe(true);
      expect(textOf(refused)).toMatch(/degrees.*from/);
    });
  },
);

test('coerces the arguments of a prompt with a zod schema, with the official client [PROMPT-03]', async () => {
  const { client } = await connect(program('examples/zod/server.ts'));
  const { prompts } = await client.listPrompts();
  expect(prompts[0]?.arguments).toEqual([
    { name: 'degrees', description: 'how warm it is', required: true },
    { name: 'unit', required: false },
  ]);
  const { messages } = await client.getPrompt({ name: 'advise', arguments: { degrees: '21' } });
  expect(messages[0]?.content).toMatchObject({
    text: 'It is 21.0 degrees celsius. What shall I wear?',
  });
  const cold = client.getPrompt({ name: 'advise', arguments: { degrees: 'cold' } });
  await expect(cold).rejects.toMatchObject({
    code: -32602,
    message: expect.stringContaining('degrees'),
  });
});
