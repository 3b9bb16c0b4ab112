/** What a session writes if its host gives no `report`. */
import { createMcpServer, defineTool } from 'mcp-actors';
import type { McpServer, ServerDefinition } from 'mcp-actors';
import { testClient } from 'mcp-actors/testing';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';

function fail(): never {
  throw new Error('no such table', { cause: new TypeError('password=hunter2 was refused') });
}

const query = defineTool({ name: 'query', description: 'Fails', handler: () => fail() });

let written = '';
let stdout = 0;
beforeEach(() => {
  written = '';
  stdout = 0;
  vi.spyOn(console, 'error').mockImplementation((line: unknown) => {
    written += `${String(line)}\n`;
  });
  for (const method of ['log', 'info', 'debug', 'warn'] as const) {
    vi.spyOn(console, method).mockImplementation(() => {
      stdout++;
    });
  }
});
afterEach(() => {
  expect(stdout).toBe(0);
});

/** A server whose sessions have no `report`, whoever connects. */
function serverOf(definition: Partial<ServerDefinition> = {}): McpServer {
  const server = createMcpServer({
    name: 'failing',
    version: '1.0.0',
    tools: [query],
    ...definition,
  });
  return {
    ...server,
    listen: (transport, { report: _, ...options } = {}) => server.listen(transport, options),
  };
}

test('writes an unusable root with its reason to stderr, but not a duplicate one', async () => {
  const roots = ['https://example.com/', 'file:///a', 'file:///a'];
  await using client = await testClient(serverOf(), { roots });
  await new Promise((known) => client.session.roots$.subscribe(known));
  expect(written.match(/root\.unusable/g)).toHaveLength(1);
  expect(written).toContain('"https://example.com/" is not a file: URI');
});

test('writes an unexpected error with stack, causes, tool and request to stderr', async () => {
  await using client = await testClient(serverOf());
  await client.request('tools/call', { name: 'query' });
  expect(written).toMatch(/ error handler\.failed The tool "query" failed: Error: no such table /);
  expect(written).toMatch(/\{"id":"client-1","tool":"query"\}/);
  expect(written).toMatch(/\n {4}Error: no such table\n {8}at fail \(/);
  expect(written).toMatch(/\n +TypeError: password=\[redacted\] was refused\n/);
});

test('writes a masked error with the id sent to the model to stderr', async () => {
  await using client = await testClient(serverOf({ errors: 'mask' }));
  const { content } = await client.request('tools/call', { name: 'query' });
  const [, id = ''] = /error ([0-9a-f-]{36}) in/.exec(JSON.stringify(content)) ?? [];
  expect(id).not.toBe('');
  expect(written).toContain(`"errorId":"${id}"`);
});

test('writes nothing during normal operation', async () => {
  const client = await testClient(serverOf({ tools: [] }));
  await client.request('ping');
  await client[Symbol.asyncDispose]();
  expect(written).toBe('');
});

test('writes nothing if the host passes its own report', async () => {
  const server = createMcpServer({ name: 'failing', version: '1.0.0', tools: [query] });
  await using client = await testClient(server);
  await client.request('tools/call', { name: 'query' });
  expect((await client.facts.next('handler.failed')).message).toContain('no such table');
  expect(written).toBe('');
});

test('counts facts beyond the rate limit instead of writing them', async () => {
  await using client = await testClient(serverOf());
  await Promise.all(
    Array.from({ length: 60 }, () => client.request('tools/call', { name: 'query' })),
  );
  expect(written.match(/error handler\.failed/g)?.length).toBeLessThan(60);
});
