/** `mcp-actors serve --http` with the official client, and a workspace per session. */
import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { CallToolResult, Client } from '@modelcontextprotocol/client';
import { Client as SseClient } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { JsonObject } from 'mcp-actors';
import { connectTo } from '../../packages/http/test/serving.ts';
import { modern, textOf } from './both-eras-client.ts';
import { launchHttp } from './http-process.ts';
import { launch, reapServers, workspaceCommand } from './server-process.ts';

let base: string;
let one: string;
let two: string;

beforeAll(async () => {
  base = await realpath(await mkdtemp(join(tmpdir(), 'mcp-actors-')));
  [one, two] = [join(base, 'one'), join(base, 'two')];
  for (const directory of [one, two]) {
    await mkdir(directory);
    await writeFile(join(directory, 'where.txt'), directory);
  }
});
afterAll(() => rm(base, { recursive: true }));
afterEach(reapServers);

function serveWorkspace(args: readonly string[] = [], cwd = base) {
  const port = ['--http', '0', '--log-level', 'info'];
  return launchHttp([...workspaceCommand, ...port, ...args], { cwd });
}

const asking = (url: URL, path: string): URL => {
  const asked = new URL(url);
  asked.searchParams.set('project_path', path);
  return asked;
};

async function projectOf(client: Client): Promise<unknown> {
  const { structuredContent } = await client.callTool({ name: 'workspace_info', arguments: {} });
  return (structuredContent as JsonObject)['project'];
}

const reading = { name: 'read_file', arguments: { path: 'where.txt' } };
const read = (client: Client) => client.callTool(reading);

describe.each([
  ['2025-11-25', 'legacy'],
  ['2026-07-28', modern],
] as const)('the workspace server in %s', (_, mode) => {
  test("works in the project named by each client's URL", async () => {
    const { url } = await serveWorkspace();
    const clients = await Promise.all([
      connectTo(asking(url, one), mode),
      connectTo(asking(url, two), mode),
    ]);
    const projects = await Promise.all(clients.map(projectOf));
    expect(projects).toMatchObject([
      { path: one, source: 'query' },
      { path: two, source: 'query' },
    ]);
    const texts = (await Promise.all(clients.map(read))).map(textOf);
    expect(texts[0]).toContain(one);
    expect(texts[1]).toContain(two);
  });

  test("prefers the client's roots to the URL", async () => {
    const { url } = await serveWorkspace();
    const client = await connectTo(asking(url, one), mode, { roots: {} });
    client.setRequestHandler('roots/list', () => ({ roots: [{ uri: pathToFileURL(two).href }] }));
    expect(await projectOf(client)).toMatchObject({ path: two, source: 'roots' });
  });

  test.each([
    ['a relative path', () => 'one', /"one"/],
    ['a path that does not exist', () => join(base, 'gone'), /gone" does not exist/],
    ['a path outside the ceiling', () => two, /two" is outside the directories/],
  ])('reports %s as a tool error that names it', async (_what, path, message) => {
    const { url } = await serveWorkspace([one]);
    const client = await connectTo(asking(url, path()), mode);
    const result = await read(client);
    expect(result.isError).toBe(true);
    expect(textOf(result)).toMatch(message);
    expect(textOf(result)).toContain('project_path');
  });

  test('tells every client without a choice where it works', async () => {
    const { url } = await serveWorkspace([], one);
    for (const client of [await connectTo(url, mode), await connectTo(url, mode)]) {
      expect(textOf(await read(client))).toContain(`Working in ${one}`);
    }
  });
});

test("works in the project named by each client's URL over HTTP+SSE too", async () => {
  const { url } = await serveWorkspace(['--sse']);
  const texts = [one, two, join(base, 'gone')].map(async (path) => {
    const client = new SseClient({ name: 'sse', version: '1' });
    await client.connect(new SSEClientTransport(asking(new URL('/sse', url), path)));
    onTestFinished(() => client.close());
    return textOf((await client.callTool(reading)) as CallToolResult);
  });
  const [first, second, none] = await Promise.all(texts);
  expect(first).toContain(one);
  expect(second).toContain(two);
  expect(none).toContain('gone" does not exist');
});

test('exits with 0 on SIGTERM', async () => {
  const { server, url } = await serveWorkspace();
  await connectTo(url, 'legacy');
  expect(server.stderr).toContain(`mcp-actors: serving over HTTP at ${url.href}`);
  server.child.kill('SIGTERM');
  expect(await server.exit).toEqual({ code: 0, signal: null });
});

test.each([
  [['--http', '0.0.0.0:0'], '0.0.0.0 is reachable from other machines'],
  [
    ['--http', '192.0.2.1:0', '--insecure'],
    '--http: 192.0.2.1 is not an address of this machine (port 0)',
  ],
])('rejects %j', async (args, message) => {
  const server = launch([...workspaceCommand, ...args], { cwd: base });
  expect((await server.exit).code).toBe(2);
  expect(server.stderr).toContain(message);
});

test('reports a port in use', async () => {
  const { url } = await serveWorkspace();
  const server = launch([...workspaceCommand, '--http', url.port], { cwd: base });
  expect((await server.exit).code).toBe(2);
  expect(server.stderr).toBe(
    `mcp-actors: --http: Port ${url.port} of 127.0.0.1 is in use: stop the program that listens there, or choose another port\n`,
  );
});
