import { createMcpServer, defineTool } from 'mcp-actors';
import { testClient } from 'mcp-actors/testing';
import { describe, expect, test, vi } from 'vitest';
import { writersOnly } from '../../examples/middleware/authorization.ts';
import { log } from '../../examples/middleware/log.ts';
import { rateLimit } from '../../examples/middleware/rate-limit.ts';

const named = (name: string) =>
  defineTool({ name, description: name, handler: () => `${name} done` });
const serve = () =>
  createMcpServer({ name: 'm', version: '1', tools: [named('look'), named('write')] });

test('logs who called what in the logging example', async () => {
  const written = vi.spyOn(console, 'error').mockReturnValue();
  const server = serve();
  server.use(log);
  await using client = await testClient(server, { clientInfo: { name: 'editor', version: '1' } });
  expect((await client.callTool('look')).text).toBe('look done');
  expect(written).toHaveBeenCalledWith('editor: tools/call');
});

describe('the authorization example', () => {
  test('lets readers read and writers write [MIDDLE-02]', async () => {
    const server = serve();
    server.use(writersOnly(new Set(['editor']), new Set(['write'])));
    await using reader = await testClient(server);
    await using writer = await testClient(server, { clientInfo: { name: 'editor', version: '1' } });
    expect((await reader.callTool('look')).text).toBe('look done');
    expect(await reader.callTool('write')).toMatchObject({
      isError: true,
      text: 'READ_ONLY: This client may look, but not write',
    });
    expect((await writer.callTool('write')).text).toBe('write done');
  });
});

describe('the rate limit example', () => {
  test('refuses calls above the rate, across sessions, and accepts them again later [MIDDLE-02]', async () => {
    let nowMs = 0;
    const server = serve();
    server.use(rateLimit(2, () => nowMs));
    await using client = await testClient(server);
    await using other = await testClient(server);
    await client.callTool('look');
    await other.listTools();
    await expect(client.callTool('look')).rejects.toMatchObject({
      error: { code: -32000, data: { reason: 'rate-limit', retryable: true } },
    });
    nowMs = 500;
    expect((await client.callTool('look')).text).toBe('look done');
    await expect(client.callTool('look')).rejects.toThrow('slow down');
  });
});
