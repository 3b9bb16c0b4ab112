import { testClient } from 'mcp-actors/testing';
import { expect, test } from 'vitest';
import { server } from '../../examples/quickstart/server.ts';

test("greets from the client's working directory", async () => {
  await using client = await testClient(server, { roots: ['file:///home/ada'] });
  const { text } = await client.callTool('greet', { who: 'Ada' });
  expect(text).toBe('Hello Ada, from file:///home/ada');
});
