import { createRequire } from 'node:module';
import { testClient } from 'mcp-actors/testing';
import { createMcpServer, defineTool } from 'mcp-actors';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { TestClock } from '../../src/testing/clock.ts';

const require = createRequire(import.meta.url);
const isLoaded = () => require.resolve('ajv/dist/2020.js') in require.cache;
const handler = () => 'done';

test('the validator is loaded some time after the tools are listed, where one of them needs it', async () => {
  const clock = new TestClock();
  const ownChecks = { name: 'own', description: '', inputSchema: z.object({}), handler };
  const tools = [defineTool(ownChecks)];
  const server = createMcpServer({ name: 'test', version: '1', tools });
  await using client = await testClient(server, { clock });
  await client.listTools();
  expect(clock.liveTimers).toBe(0);

  server.tools.add(defineTool({ name: 'plain', description: '', handler }));
  await client.listTools();
  expect(isLoaded()).toBe(false);
  clock.increment(99);
  expect(clock.liveTimers).toBe(1);
  expect(isLoaded()).toBe(false);
  clock.increment(1);
  await expect.poll(isLoaded).toBe(true);
  expect((await client.callTool('plain')).text).toBe('done');
});
