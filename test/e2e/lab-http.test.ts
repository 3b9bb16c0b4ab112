/** The laboratory over HTTP, in a separate process, with the official client of both eras. */
import type { CallToolResult, Client } from '@modelcontextprotocol/client';
import { Client as SseClient } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { afterEach, describe, expect, test } from 'vitest';
import { post } from '../../packages/http/test/raw-client.ts';
import { connectTo } from '../../packages/http/test/serving.ts';
import { program } from '../tooling/programs.ts';
import { modern, textOf } from './both-eras-client.ts';
import { launchLab, launchLabAt } from './http-process.ts';
import type { HttpProcess } from './http-process.ts';
import { launch, reapServers } from './server-process.ts';

afterEach(reapServers);

/** A call of this duration; `arrived` once it runs. */
function slowCall(client: Client, ms: number, signal?: AbortSignal) {
  let answer: Promise<CallToolResult> | undefined;
  const arrived = new Promise<void>((resolve) => {
    const params = { name: 'slow', arguments: { ms } };
    answer = client.callTool(params, { onprogress: () => resolve(), signal });
  });
  return { arrived, answer: answer as unknown as Promise<CallToolResult> };
}

const initialize = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'raw', version: '1' },
  },
};

describe.each([
  ['2025-11-25', 'legacy'],
  ['2026-07-28', modern],
] as const)('the laboratory over HTTP, in %s', (revision, mode) => {
  test('answers with its tools', async () => {
    const { url } = await launchLab();
    const client = await connectTo(url, mode);
    expect(client.getNegotiatedProtocolVersion()).toBe(revision);
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toContain('running');
  });

  test('lets a call finish after SIGTERM, then exits with 0', async () => {
    const { server, url } = await launchLab('--drain-timeout', '600000');
    const client = await connectTo(url, mode);
    const call = slowCall(client, 500);
    await call.arrived;
    server.child.kill('SIGTERM');
    expect(textOf(await call.answer)).toContain('500');
    expect(await server.exit).toEqual({ code: 0, signal: null });
  });
});

describe('a server restarted at the same address', () => {
  const restarted = async ({ server, url }: HttpProcess) => {
    server.child.kill('SIGTERM');
    await server.exit;
    await launchLabAt(url.port);
  };
  const echo = async (client: Client) => {
    const params = { name: 'echo', arguments: { message: 'still here' } };
    return textOf((await client.callTool(params)) as CallToolResult);
  };

  test('serves a client of 2026-07-28 seamlessly', async () => {
    const first = await launchLab();
    const client = await connectTo(first.url, modern);
    await restarted(first);
    expect(await echo(client)).toContain('still here');
  });

  test('tells a client that its session has ended, and the client starts another one', async () => {
    const first = await launchLab();
    const client = await connectTo(first.url, 'legacy');
    await restarted(first);
    await expect(echo(client)).rejects.toThrow('There is no session');
    await client.close();
    expect(await echo(await connectTo(first.url, 'legacy'))).toContain('still here');
  });
});

test('exits at once on a second SIGTERM', async () => {
  const { server, url } = await launchLab();
  const client = await connectTo(url, 'legacy');
  const call = slowCall(client, 3_600_000);
  const outcome = call.answer.catch(() => 'cut');
  await call.arrived;
  server.child.kill('SIGTERM');
  await server.log.find(({ event }) => event === 'process.signalled');
  server.child.kill('SIGTERM');
  expect((await server.exit).code).toBe(143);
  await client.close();
  expect(await outcome).toBe('cut');
});

test('is alive but not ready while draining, and starts no session', async () => {
  const { server, url } = await launchLab('--drain-timeout', '600000');
  const client = await connectTo(url, 'legacy');
  const controller = new AbortController();
  const call = slowCall(client, 3_600_000, controller.signal);
  const given = expect(call.answer).rejects.toThrow('enough');
  await call.arrived;
  expect((await fetch(new URL('/readyz', url))).status).toBe(200);
  server.child.kill('SIGTERM');
  await server.log.find(({ event }) => event === 'process.signalled');
  const statuses = await Promise.all([
    fetch(new URL('/healthz', url)),
    fetch(new URL('/readyz', url)),
    post(url, initialize),
  ]);
  expect(statuses.map(({ status }) => status)).toEqual([200, 503, 503]);
  expect(statuses[2]?.headers.get('retry-after')).toBe('1');
  controller.abort('enough');
  await given;
  expect((await server.exit).code).toBe(0);
});

test('answers every POST with JSON if configured', async () => {
  const { url } = await launchLab('--json');
  const answer = await post(url, initialize, { accept: 'application/json' });
  expect(answer.headers.get('content-type')).toBe('application/json');
});

test('serves clients of the deprecated HTTP+SSE if configured', async () => {
  const { url } = await launchLab('--sse');
  const client = new SseClient({ name: 'sse', version: '1' });
  await client.connect(new SSEClientTransport(new URL('/sse', url)));
  const result = await client.callTool({ name: 'echo', arguments: { message: 'hi' } });
  expect(result.content).toEqual([{ type: 'text', text: 'hi' }]);
  await client.close();
});

test('has flags for its limits', async () => {
  const { url } = await launchLab('--max-body', '1000', '--max-sessions', '1');
  const long = { ...initialize, params: { ...initialize.params, _meta: { a: 'a'.repeat(1000) } } };
  expect((await post(url, long)).status).toBe(413);
  const sessions = [await post(url, initialize), await post(url, initialize)].map(
    ({ headers }) => headers.get('mcp-session-id') ?? 'none',
  );
  const ping = { jsonrpc: '2.0', id: 2, method: 'ping' };
  const answers = sessions.map((session) => post(url, ping, { 'mcp-session-id': session }));
  // The first session was idle and has been evicted.
  expect((await Promise.all(answers)).map(({ status }) => status)).toEqual([404, 200]);
});

test.each([
  [['--colour'], 'Unknown option'],
  [['--max-body', 'big'], '--max-body must be an integer of at least 1, got "big"'],
])('exits with 64 for the flags %j', async (flags, message) => {
  const server = launch([...program('examples/lab/http.ts'), ...flags]);
  expect(await server.exit).toEqual({ code: 64, signal: null });
  expect(server.stderr).toContain(message);
});

test('exits with 0 on --help, which names every flag', async () => {
  const server = launch([...program('examples/lab/http.ts'), '--help']);
  expect((await server.exit).code).toBe(0);
  // Its stdout contains no messages.
  const help = server.violations.splice(0).join('\n');
  for (const flag of [
    'json',
    'sse',
    'redis',
    'max-body',
    'max-sessions',
    'session-idle-timeout',
    'allow-origin',
  ]) {
    expect(help).toContain(`--${flag} `);
  }
});
