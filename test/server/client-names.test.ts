/** What a client calls itself, in the sentences of ours that name it. */
import { createMcpServer } from 'mcp-actors';
import type { JsonObject } from 'mcp-actors';
import { expect, test } from 'vitest';
import { askModern } from '../contract/enveloped.ts';
import { connect, echo } from '../contract/serving.ts';

test.each<[string, JsonObject, string]>([
  ['tools/call', {}, 'did not declare the capability "sampling"'],
  ['tools/list', { sampling: {} }, 'has no server requests'],
])('truncates a long client name in an error message in %s', async (method, capabilities, why) => {
  const messages: string[] = [];
  const server = createMcpServer({ name: 'server', version: '1', tools: [echo] });
  server.use(async ({ context }, next) => {
    const asked = context.sample({ messages: [], maxTokens: 1 });
    await asked.catch((error: Error) => messages.push(error.message));
    return await next();
  });
  const clientInfo = { name: `long\u001b${'g'.repeat(7000)}`, version: '1' };
  const params = { name: 'echo' };
  await askModern(connect(server), method, params, { clientInfo, capabilities });
  expect(messages).toEqual([expect.stringContaining(why)]);
  expect(messages[0]).toContain('client long\\u001bggg');
  expect(messages[0]?.length).toBeLessThan(300);
});
