/** `mcp-actors serve --openapi` as a process, called by the official client. */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { expect, onTestFinished, test } from 'vitest';
import { command } from '../../../../test/e2e/server-process.ts';
import { temporaryDirectory } from '../../../roots/test/temporary-directory.ts';
import { openApiServer } from '../../src/serve-openapi.ts';
import { serveApi, shop } from '../../../openapi/test/shop.ts';

/** The command for a document in a folder of the test's own. */
async function serving(document: object): Promise<readonly string[]> {
  const folder = await temporaryDirectory({ 'api.json': JSON.stringify(document) });
  return [...command, 'serve', '--openapi', join(folder, 'api.json')];
}

test('a document is served: a call is a request of its API, with the header from the environment', async () => {
  const { asked, server } = await serveApi(() => ({ body: '{"name":"a pen","price":2}' }));
  const client = new Client({ name: 'test', version: '1' });
  onTestFinished(() => client.close());
  const choice = ['--openapi-server', server, '--openapi-include', 'tag:items'];
  const header = ['--openapi-header', 'Authorization: Bearer ${SHOP_TOKEN}'];
  await client.connect(
    new StdioClientTransport({
      command: process.execPath,
      args: [...(await serving(shop)), ...choice, '--openapi-exclude', 'DELETE', ...header],
      env: { SHOP_TOKEN: 'of-the-shop' },
    }),
  );
  const { tools } = await client.listTools();
  expect(tools.map(({ name }) => name)).toEqual(['getItem']);
  const result = await client.callTool({ name: 'getItem', arguments: { id: 'a/b' } });
  expect(result['structuredContent']).toEqual({ name: 'a pen', price: 2 });
  expect(asked).toMatchObject([
    { method: 'GET', url: '/v1/items/a%2Fb', headers: { authorization: 'Bearer of-the-shop' } },
  ]);
});

/** What the command prints if it ends at once. */
function refused(args: readonly string[], env: { readonly [name: string]: string } = {}) {
  const { status, stdout, stderr } = spawnSync(process.execPath, args, {
    encoding: 'utf8',
    input: '',
    env: { ...process.env, ...env },
    // Only for a command that hangs.
    timeout: 100_000,
  });
  return { status, stdout, stderr };
}

test('an API key goes into the query, and a response that breaks its schema is kept on request', async () => {
  const { asked, server } = await serveApi(() => ({ body: '{"name":7}' }));
  const client = new Client({ name: 'test', version: '1' });
  onTestFinished(() => client.close());
  const key = ['--openapi-query', 'api_key=${SHOP_KEY}'];
  const header = ['--openapi-header', 'X-Token: ${SHOP_TOKEN}'];
  const args = [...(await serving(shop)), '--openapi-server', server, '--openapi-unchecked'];
  await client.connect(
    new StdioClientTransport({
      command: process.execPath,
      args: [...args, ...key, ...header],
      // As read from a file.
      env: { SHOP_KEY: 's&cret\n', SHOP_TOKEN: 'token\n' },
    }),
  );
  const result = await client.callTool({ name: 'getItem', arguments: { id: '1' } });
  expect(result['isError'] ?? false).toBe(false);
  expect(result['structuredContent']).toEqual({ name: 7 });
  expect(asked).toMatchObject([
    { url: '/v1/items/1?api_key=s%26cret', headers: { 'x-token': 'token' } },
  ]);
});

test('credentials that cannot be sent end the command, which does not show them', async () => {
  const serve = await serving(shop);
  const server = ['--openapi-server', 'https://shop.example'];
  const header = ['--openapi-header', 'Authorization: Bearer ${SHOP_TOKEN}'];
  const all = [
    refused([...serve, ...server, ...header], { SHOP_TOKEN: 'one\nhunter2' }),
    refused([...serve, '--openapi-server', 'https://ann:hunter2@shop.example']),
    refused([...serve, ...server, '--openapi-query', 'hunter2']),
  ];
  for (const { status, stdout, stderr } of all) {
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(stderr).toMatch(/^mcp-actors: --openapi/);
    expect(stderr).not.toContain('hunter2');
  }
});

test('names with a digest and ignored keywords are logged', async () => {
  const value = { name: 'n', in: 'query', schema: { type: 'any' } };
  const operation = { operationId: 'same', parameters: [value], responses: {} };
  const document = { openapi: '3.0.3', paths: { '/a': { get: operation, put: operation } } };
  const serve = await serving(document);
  const { stderr } = refused([...serve, '--openapi-server', 'https://shop.example']);
  const events = stderr
    .split('\n')
    .filter(Boolean)
    .map((line) => (JSON.parse(line) as { event: string }).event);
  // The last one because its stdin is empty.
  expect(events).toEqual([
    'tool.nameCollision',
    'schema.keywordIgnored',
    'schema.keywordIgnored',
    'input.unused',
  ]);
});

test('a file that is not OpenAPI ends the command with its name and the reason', async () => {
  const { status, stdout, stderr } = refused(await serving({ hello: 'there' }));
  expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
  expect(stderr).toMatch(
    /^mcp-actors: --openapi: \S+[\\/]api\.json cannot be used as an OpenAPI document: version must be .+\n$/,
  );
});

test('of a document without what is asked for, the command names the choice', async () => {
  const folder = await temporaryDirectory({ 'api.json': JSON.stringify(shop) });
  const wish = {
    document: join(folder, 'api.json'),
    server: 'https://shop.example',
    headers: {},
    query: {},
    checkResponses: true,
    exchange: undefined,
    include: ['tag:none', 'HEAD'],
    exclude: [],
  };
  await expect(openApiServer(wish, () => {})).rejects.toThrow(
    '--openapi: no operation to serve with --openapi-include tag:none --openapi-include HEAD',
  );
});
