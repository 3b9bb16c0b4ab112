/** The OpenAPI example, with an API. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, expect, onTestFinished, test } from 'vitest';
import { closeClients, connect } from '../e2e/sdk-client.ts';
import { program } from '../tooling/programs.ts';

afterEach(closeClients);

test("turns operations of an API into tools, and reports the API's errors to the model", async () => {
  const asked: string[] = [];
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const { method, url, headers } = request;
    asked.push(`${method} ${url} ${headers.authorization} ${await text(request)}`);
    const [status, said] =
      url === '/v1/orders/7'
        ? [404, { why: 'no order 7' }]
        : method === 'POST'
          ? [201, { id: '8', item: 'tea', count: 2 }]
          : [200, [{ id: '1', item: 'tea', delivered: false }]];
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(JSON.stringify(said));
  };
  const api = createServer((...args) => void answer(...args)).listen(0, '127.0.0.1');
  await once(api, 'listening');
  onTestFinished(() => void api.close());
  const url = `http://127.0.0.1:${(api.address() as AddressInfo).port}/v1`;
  const { client } = await connect(
    [...program('examples/openapi/server.ts'), 'examples/openapi/orders.yaml', url],
    { env: { API_TOKEN: 'secret' } },
  );
  const { tools } = await client.listTools();
  expect(tools.map(({ name }) => name)).toEqual(['listOrders', 'placeOrder', 'getOrder']);
  const call = (name: string, args: object) => client.callTool({ name, arguments: { ...args } });
  expect(await call('listOrders', { open: true })).toMatchObject({
    structuredContent: { result: [{ id: '1', item: 'tea', delivered: false }] },
  });
  expect(await call('placeOrder', { body: { item: 'tea', count: 2 } })).toMatchObject({
    structuredContent: { id: '8' },
  });
  expect(await call('placeOrder', { body: { count: 0 } })).toMatchObject({ isError: true });
  const refused = await call('getOrder', { id: '7' });
  expect(refused).toMatchObject({ isError: true });
  expect(JSON.stringify(refused.content)).toContain('no order 7');
  expect(asked).toEqual([
    'GET /v1/orders?open=true Bearer secret ',
    'POST /v1/orders Bearer secret {"item":"tea","count":2}',
    'GET /v1/orders/7 Bearer secret ',
  ]);
});
