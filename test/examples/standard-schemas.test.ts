import { afterEach, describe, expect, test } from 'vitest';
import { closeClients, connect, textOf } from '../e2e/sdk-client.ts';
import { program } from '../tooling/programs.ts';

afterEach(closeClients);

describe.each(['zod', 'valibot', 'arktype'] as const)(
  'the example with %s, with the official client',
  (library) => {
    test('converts, fills in defaults, and says what is wrong [SCHEMA-02] [SCHEMA-03]', async () => {
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
