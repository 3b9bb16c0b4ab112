/** A server that ends while its clients keep calling: what was done is told. */
import { createMcpServer, defineTool } from 'mcp-actors';
import { serveHttp } from 'mcp-actors/serve';
import { enveloped } from 'mcp-actors/testing';
import { describe, expect, onTestFinished, test } from 'vitest';
import { post } from './serving.ts';

/** A server that counts the calls that have run, and tells when there were so many. */
async function serveCounted(isEnough: number) {
  let ran = 0;
  let enough = () => {};
  const wasEnough = new Promise<void>((resolve) => {
    enough = resolve;
  });
  const server = createMcpServer({
    name: 'counted',
    version: '1.0.0',
    tools: [
      defineTool({
        name: 'work',
        description: 'Does something, once.',
        handler: async () => {
          await new Promise((resolve) => setImmediate(resolve));
          if (++ran === isEnough) enough();
          return `done ${ran}`;
        },
      }),
    ],
  });
  const serving = await serveHttp(server, { port: 0 });
  onTestFinished(() => serving.close());
  return { serving, wasEnough, ran: () => ran };
}

type Send = (id: number) => Promise<Response>;

const params = { name: 'work', arguments: {} };

async function inSession(url: URL): Promise<Send> {
  const clientInfo = { name: 'caller', version: '1' };
  const handshake = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo };
  const initialize = { jsonrpc: '2.0', id: 0, method: 'initialize', params: handshake };
  const begun = await post(url, initialize);
  const headers = { 'mcp-session-id': begun.headers.get('mcp-session-id') ?? '' };
  return (id) => post(url, { jsonrpc: '2.0', id, method: 'tools/call', params }, headers);
}

async function withoutSession(url: URL): Promise<Send> {
  const headers = {
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': 'tools/call',
    'mcp-name': 'work',
  };
  return (id) => post(url, enveloped(id, 'tools/call', params), headers);
}

/** Calls until it is told that the server ends. @returns how often it was told that something is done */
async function keepCalling(send: Send): Promise<number> {
  for (let told = 0; ; told++) {
    let response: Response;
    try {
      response = await send(told + 1);
    } catch {
      // Nobody listens any more: nothing was done.
      return told;
    }
    const text = await response.text();
    if (response.status !== 200) {
      expect([response.status, response.headers.get('retry-after')]).toEqual([503, '1']);
      return told;
    }
    expect(text).toContain('done');
  }
}

describe.each([
  ['in sessions', inSession],
  ['without sessions', withoutSession],
])('clients that keep calling, %s', (_name, begin) => {
  test('are told of all that was done before the end', async () => {
    const { serving, wasEnough, ran } = await serveCounted(100);
    const callers = await Promise.all(Array.from({ length: 8 }, () => begin(serving.url)));
    const told = callers.map(keepCalling);
    await wasEnough;
    await serving.close();
    const sum = (await Promise.all(told)).reduce((all, each) => all + each, 0);
    expect(sum).toBe(ran());
    expect(sum).toBeGreaterThanOrEqual(100);
  });
});
