/** Recordings of HTTP sessions, one file each, and their replay. */
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { createMcpServer, defineTool } from 'mcp-actors';
import type { McpServer } from 'mcp-actors';
import { readRecording, recordSessions } from 'mcp-actors/recording';
import type { Recorder } from 'mcp-actors/recording';
import { serveHttp } from 'mcp-actors/serve';
import { gate } from 'mcp-actors/testing';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { laboratory } from '../../../examples/lab/laboratory.ts';
import { modern, textOf } from '../../../test/e2e/both-eras-client.ts';
import { expectSame, linesOf } from '../../recording/test/recorded-session.ts';
import { request } from './modern/modern-client.ts';
import { connectTo } from './serving.ts';

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'recorded-'));
  onTestFinished(() => rmSync(path, { recursive: true }));
  return path;
}

function textsIn(path: string): string[] {
  const names = readdirSync(path).sort();
  return names.map((name) => readFileSync(join(path, name), 'utf8'));
}

async function recorded(server: McpServer, environment: () => Recorder | undefined) {
  const serving = await serveHttp(server, { port: 0, environment });
  onTestFinished(() => serving.close());
  return { url: serving.url, close: () => serving.close() };
}

const seen = defineTool({
  name: 'seen',
  description: 'Says what it sees of the request.',
  handler: (_, { http }) =>
    JSON.stringify([
      http?.header('X-Tenant'),
      http?.header('authorization'),
      new URL(http?.target ?? '', 'http://h').searchParams.get('page'),
    ]),
});
const seeing = createMcpServer({ name: 'seeing', version: '1', tools: [seen] });

describe.each([
  ['2025-11-25', 'legacy'],
  ['2026-07-28', modern],
] as const)('a recording of an HTTP session in %s', (_, mode) => {
  test('replays with recorded and with live handlers', async () => {
    const path = folder();
    const environment = recordSessions(path);
    const { url, close } = await recorded(laboratory, environment);
    const client = await connectTo(url, mode, { roots: {} });
    client.setRequestHandler('roots/list', () => ({ roots: [{ uri: 'file:///work' }] }));
    await client.callTool({ name: 'echo', arguments: { message: 'hi' } });
    await client.callTool({ name: 'ask', arguments: { kind: 'roots', count: 2 } });
    await client.close();
    await close();
    const [text = '', ...others] = textsIn(path);
    expect(others).toEqual([]);
    const recording = readRecording(text, 'session-1.jsonl');
    expect(recording.unfinished).toBeUndefined();
    await expectSame(recording);
    await expectSame(recording, { server: laboratory });
  });

  test('passes the HTTP request without credentials to live handlers', async () => {
    const path = folder();
    const environment = recordSessions(path);
    const { url, close } = await recorded(seeing, environment);
    url.search = '?page=2&access_token=query-secret';
    const headers = {
      'x-tenant': 'acme',
      'x-api-key': 'key-secret',
      authorization: 'Bearer bearer-secret',
      cookie: 'sid=cookie-secret',
    };
    const client = new Client({ name: 'seen', version: '1' }, { versionNegotiation: { mode } });
    const transport = new StreamableHTTPClientTransport(url, { requestInit: { headers } });
    await client.connect(transport);
    const result = await client.callTool({ name: 'seen', arguments: {} });
    expect(textOf(result)).toBe('["acme",null,"2"]');
    const { sessionId } = transport;
    await client.close();
    await close();
    const [text = ''] = textsIn(path);
    expect(text).toContain('"x-tenant":"acme"');
    expect(text).not.toMatch(/(query|key|bearer|cookie)-secret/);
    expect(sessionId === undefined).toBe(mode === modern);
    expect(text).not.toContain(sessionId ?? 'mcp-session-id');
    await expectSame(readRecording(text, 'session-1.jsonl'), { server: seeing });
  });
});

test('records each HTTP session separately by number', async () => {
  const path = folder();
  const environment = recordSessions(join(path, 'mine.jsonl'));
  const { url, close } = await recorded(laboratory, environment);
  for (const message of ['one', 'two']) {
    const client = await connectTo(url, 'legacy');
    await client.callTool({ name: 'echo', arguments: { message } });
  }
  await close();
  expect(readdirSync(path).sort()).toEqual(['mine-1.jsonl', 'mine-2.jsonl']);
  const [first = '', second = ''] = textsIn(path);
  expect([first.includes('"two"'), second.includes('"one"')]).toEqual([false, false]);
  await expectSame(readRecording(second, 'mine-2.jsonl'));
});

test('serves a session whose recording fails, and reports it', async () => {
  const path = folder();
  writeFileSync(join(path, 'mine-1.jsonl'), '');
  const facts: unknown[] = [];
  const report = ({ message }: { readonly message: string }) => void facts.push(message);
  const environment = recordSessions(join(path, 'mine.jsonl'), { report });
  const { url } = await recorded(laboratory, environment);
  const client = await connectTo(url, 'legacy');
  const result = await client.callTool({ name: 'echo', arguments: { message: 'served' } });
  expect(textOf(result)).toBe('served');
  expect(facts).toEqual([
    expect.stringMatching(/^Session 1 is not recorded: .*mine-1\.jsonl" is there already/),
  ]);
});

test('reports a failed recording on stderr by default', () => {
  const written = vi.spyOn(console, 'error').mockReturnValue();
  onTestFinished(() => written.mockRestore());
  const path = folder();
  writeFileSync(join(path, 'mine-1.jsonl'), '');
  expect(recordSessions(join(path, 'mine.jsonl'))()).toBeUndefined();
  expect(written).toHaveBeenCalledWith(expect.stringContaining('recording.failed'));
});

test('rejects a recording path below a file', () => {
  const path = folder();
  mkdirSync(join(path, 'there'));
  expect(() => recordSessions(join(path, 'there'))).not.toThrow();
  expect(() => recordSessions(join(path, 'not there', 'mine.jsonl'))).toThrow(
    /not there" is no directory that can be written to/,
  );
});

test('distinguishes requests with the same id, and which client disconnected', async () => {
  const held = gate();
  const aborted = gate();
  const wait = defineTool({
    name: 'wait',
    description: 'Waits.',
    inputSchema: { type: 'object', properties: { who: { type: 'string' } } },
    handler: async ({ who = '' }, { signal }) => {
      signal.addEventListener('abort', () => void aborted.pass());
      await held.pass(signal);
      return who;
    },
  });
  const server = createMcpServer({ name: 'waiting', version: '1', tools: [wait] });
  const path = folder();
  const { url, close } = await recorded(server, recordSessions(path));
  const call = (who: string, signal?: AbortSignal) =>
    request(url, 'tools/call', { name: 'wait', arguments: { who } }, signal ? { signal } : {});
  const leaving = new AbortController();
  const left = Promise.allSettled([call('leaves', leaving.signal)]);
  await held.arrived();
  const stays = call('stays');
  await held.arrived(2);
  leaving.abort();
  await left;
  await aborted.arrived();
  held.release();
  expect(await (await stays).text()).toContain('"stays"');
  await close();
  const [text = ''] = textsIn(path);
  const { gone, id } = linesOf(text).find((line) => 'gone' in line) ?? {};
  expect([gone, id]).toEqual([1, 1]);
  await expectSame(readRecording(text, 'session-1.jsonl'));
});
