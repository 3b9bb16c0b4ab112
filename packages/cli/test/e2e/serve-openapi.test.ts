/** `mcp-actors serve --openapi` as a process, called by the official client. */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { expect, onTestFinished, test } from 'vitest';
import { command } from '../../../../test/e2e/server-process.ts';
import { temporaryDirectory } from '../../../../test/roots/temporary-directory.ts';
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

test('a file that is not OpenAPI ends the command with its name and the reason', async () => {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    await serving({ hello: 'there' }),
    {
      encoding: 'utf8',
      input: '',
      // Only for a command that hangs.
      timeout: 100_000,
    },
  );
  expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
  expect(stderr).toMatch(
    /^mcp-actors: --openapi: \S+[\\/]api\.json cannot be used as an OpenAPI document: it has neither .+\n$/,
  );
});

test('of a document without what is asked for, the command names the choice', async () => {
  const folder = await temporaryDirectory({ 'api.json': JSON.stringify(shop) });
  const wish = {
    document: join(folder, 'api.json'),
    server: 'https://shop.example',
    headers: {},
    exchange: undefined,
    include: ['tag:none', 'HEAD'],
    exclude: [],
  };
  await expect(openApiServer(wish, () => {})).rejects.toThrow(
    'no operation that could be served with --openapi-include tag:none --openapi-include HEAD',
  );
});
