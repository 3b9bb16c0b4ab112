/** API calls: redirects, servers, responses, credentials and time limits. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, onTestFinished, test } from 'vitest';
import { toolsFromOpenApi } from '@mcp-actors/openapi';
import { createMcpServer } from 'mcp-actors';
import type { JsonObject } from 'mcp-actors';
import { testClient } from 'mcp-actors/testing';
import { documentOf, serveTools } from './shop.ts';
import type { ApiResponse } from './shop.ts';

const pet = { type: 'object', required: ['name'], properties: { name: { type: 'string' } } };
const json = (schema: object) => ({
  description: 'ok',
  content: { 'application/json': { schema } },
});
const id = { name: 'id', in: 'path', required: true, schema: { type: 'string' } };

const pets = documentOf({
  '/pets': {
    get: { operationId: 'list', responses: { 200: json({ type: 'array', items: pet }) } },
    post: {
      operationId: 'create',
      requestBody: { required: true, content: { 'application/json': { schema: pet } } },
      responses: { 200: json(pet) },
    },
  },
  '/pets/{id}': {
    parameters: [id],
    get: { operationId: 'read', responses: { 200: json(pet) } },
    put: {
      operationId: 'replace',
      requestBody: { content: { 'application/json': { schema: pet } } },
      responses: { 200: {} },
    },
    patch: {
      operationId: 'update',
      requestBody: { content: { 'application/json': { schema: pet } } },
      responses: { 200: {} },
    },
    delete: { operationId: 'remove', responses: { 200: {} } },
    head: { operationId: 'exists', responses: { 200: {} } },
  },
});

const argumentsOf = (name: string) =>
  name === 'create' ? { body: { name: 'a' } } : { id: '1', ...bodies[name] };
const bodies: { readonly [name: string]: JsonObject } = {
  replace: { body: { name: 'a' } },
  update: { body: { name: 'a' } },
};

describe('redirects', () => {
  const calls = [
    ['replace', 'PUT'],
    ['update', 'PATCH'],
    ['remove', 'DELETE'],
    ['exists', 'HEAD'],
  ] as const;

  test.each(
    calls.flatMap(([name, method]) =>
      [301, 302, 307, 308].map((status) => ({ name, method, status })),
    ),
  )('repeats $method with its body on redirect $status', async ({ name, method, status }) => {
    const { asked, client } = await serveTools(pets, ({ url }) =>
      url.endsWith('/') ? {} : { status, headers: { location: `${url}/` } },
    );
    const result = await client.callTool(name, argumentsOf(name));
    expect(result.isError).toBe(false);
    const body = bodies[name] ? '{"name":"a"}' : '';
    expect(asked.map(({ method, url, body }) => [method, url, body])).toEqual([
      [method, '/v1/pets/1', body],
      [method, '/v1/pets/1/', body],
    ]);
  });

  test('does not follow 302 after POST, which is ambiguous', async () => {
    const { asked, client } = await serveTools(pets, () => ({
      status: 302,
      headers: { location: '/v1/pets/' },
    }));
    const result = await client.callTool('create', argumentsOf('create'));
    expect(result.isError).toBe(true);
    expect(result.text).toContain('The request may have succeeded');
    expect(asked).toHaveLength(1);
  });

  test('repeats POST on 301 and sends GET on 303', async () => {
    for (const [status, method] of [
      [301, 'POST'],
      [303, 'GET'],
    ] as const) {
      const { asked, client } = await serveTools(pets, ({ url }) =>
        url === '/v1/pets'
          ? { status, headers: { location: '/v1/pets/1' } }
          : { body: '{"name":"a"}' },
      );
      const result = await client.callTool('create', argumentsOf('create'));
      expect(result.structured).toEqual({ name: 'a' });
      expect(asked.map(({ method }) => method)).toEqual(['POST', method]);
    }
  });

  test.each(['/admin', '/v1evil', '/v1/../admin', '/v1/%2e%2e/admin', '/v1/a%2f..%2f..%2fadmin'])(
    'refuses a redirect outside the base path: %s',
    async (location) => {
      const { asked, client } = await serveTools(
        pets,
        () => ({ status: 307, headers: { location } }),
        { auth: { authorization: 'Bearer secret' } },
      );
      const result = await client.callTool('read', { id: '1' });
      expect(result.isError).toBe(true);
      expect(result.text).toContain('outside the API');
      expect(asked).toHaveLength(1);
    },
  );

  test.each(['http://', 'https://[', 'http://a:b:c/'])(
    'reports the malformed Location %j as a tool error',
    async (location) => {
      const { client } = await serveTools(pets, () => ({ status: 301, headers: { location } }));
      const result = await client.callTool('read', { id: '1' });
      expect(result.isError).toBe(true);
      expect(result.text).toContain('Location header is not a URL');
    },
  );

  test('stops following endless redirects', async () => {
    const { asked, client } = await serveTools(pets, ({ url }) => ({
      status: 308,
      headers: { location: `${url}/1` },
    }));
    expect((await client.callTool('list')).text).toContain('too often');
    expect(asked).toHaveLength(6);
  });
});

describe('API base URL', () => {
  /** Resolves the URL of a call for a server object. */
  async function urlWith(description: object): Promise<string> {
    const operation = { get: { operationId: 'a', responses: {} } };
    const urls: string[] = [];
    const tools = await toolsFromOpenApi(
      documentOf({ '/a': operation }, { servers: [description] }) as JsonObject,
      {
        fetch: (url) => {
          urls.push(String(url as URL));
          return Promise.resolve(new Response('ok'));
        },
      },
    );
    await using client = await testClient(createMcpServer({ name: 'api', version: '1', tools }));
    await client.callTool('a');
    return urls.join();
  }

  test.each([
    ['http://127.0.0.1:{port}', { port: { default: 8443 } }, 'http://127.0.0.1:8443/a'],
    [
      'https://{host}/{flag}',
      { host: { default: 'h.example' }, flag: { default: true } },
      'https://h.example/true/a',
    ],
    ['https://h.example/{v}', { v: { default: '' } }, 'https://h.example/a'],
  ])('resolves variables with scalar defaults in %s', async (url, variables, expected) => {
    expect(await urlWith({ url, variables })).toBe(expected);
  });

  test.each([
    ['https://{host}/intranet/v1', {}],
    ['https://{host}/intranet/v1', { host: {} }],
    ['https://{host}/intranet/v1', undefined],
    ['https://{host}/intranet/v1', { host: { default: ['a'] } }],
    ['https://{host}/intranet/v1', { host: { default: null, enum: ['a'] } }],
  ])('refuses %s with the variables %j, naming the variable', async (url, variables) => {
    await expect(urlWith({ url, variables })).rejects.toThrow('Variable "host"');
  });

  test('refuses a base URL with a password without revealing it', async () => {
    const refused = toolsFromOpenApi(pets as JsonObject, {
      server: 'https://ann:hunter2@h.example',
    });
    const message = await refused.catch((error: Error) => error.message);
    expect(message).toContain('must not contain a user name or password');
    expect(message).not.toContain('hunter2');
    const wrong = toolsFromOpenApi(pets as JsonObject, { server: 'ftp://ann:hunter2@h.example' });
    expect(await wrong.catch((error: Error) => error.message)).not.toContain('hunter2');
  });
});

describe('success responses', () => {
  const operation = (responses: object, method = 'post') =>
    documentOf({ '/a': { [method]: { operationId: 'a', responses } } });

  test.each([
    [
      201,
      {
        200: json(pet),
        201: json({ type: 'object', required: ['id'], properties: { id: { type: 'integer' } } }),
      },
      '{"id":1}',
    ],
    [
      202,
      { 202: json({ type: 'object', properties: { job: { type: 'string' } } }) },
      '{"job":"j"}',
    ],
    [200, { '2XX': json({ type: 'array', items: { type: 'string' } }) }, '["x"]'],
    [200, { 200: json({ type: 'array', items: { type: 'string' } }), 201: json(pet) }, '["x"]'],
  ])('structures a %i response with its own schema', async (status, responses, body) => {
    const { client } = await serveTools(operation(responses), () => ({ status, body }));
    const { isError, structured } = await client.callTool('a');
    expect(isError).toBe(false);
    const value = JSON.parse(body) as unknown;
    expect([value, { result: value }]).toContainEqual(structured);
  });

  test.each([
    ['a documented 204', 'post', { 200: json(pet), 204: { description: 'none' } }, { status: 204 }],
    ['a documented 204 alone', 'delete', { 204: { description: 'none' } }, { status: 204 }],
    [
      'an empty documented 202',
      'post',
      { 200: json(pet), 202: { description: 'later' } },
      { status: 202 },
    ],
    ['HEAD', 'head', { 200: json(pet) }, { status: 200 }],
  ])('accepts %s', async (_, method, responses, said: ApiResponse) => {
    const { client } = await serveTools(operation(responses, method), () => said);
    const { isError, text } = await client.callTool('a');
    expect([isError, text.slice(0, 3)]).toEqual([false, String(said.status)]);
  });

  test.each([
    [{ produces: ['text/plain'], schema: { type: 'string' } }, 'text/plain', 'plain text'],
    [{ produces: ['text/csv'], schema: { type: 'file' } }, 'text/csv', 'a,b'],
    [{ schema: { type: 'file' } }, 'text/plain', 'content'],
  ])('returns text and files of Swagger 2.0: %j', async ({ schema, ...own }, type, body) => {
    const document = {
      swagger: '2.0',
      info: { title: 't', version: '1' },
      produces: ['application/json'],
      paths: {
        '/a': {
          get: { operationId: 'a', ...own, responses: { 200: { description: 'ok', schema } } },
        },
      },
    };
    const { client, toolOf } = await serveTools(document, () => ({
      headers: { 'content-type': type },
      body,
    }));
    expect(toolOf('a')?.outputSchema).toBeUndefined();
    const { isError, text } = await client.callTool('a');
    expect([isError, text]).toEqual([false, body]);
  });

  test('reports a success without the declared JSON as such', async () => {
    const { client } = await serveTools(operation({ 200: json(pet) }), () => ({ status: 202 }));
    const { isError, text } = await client.callTool('a');
    expect(isError).toBe(true);
    expect(text).toMatch(/succeeded with 202 Accepted.*Do not repeat the call/);
  });

  test('rejects a response that violates its schema unless checkResponses is false', async () => {
    const say = () => ({ body: '{"name":1}' });
    const checked = await serveTools(operation({ 200: json(pet) }), say);
    expect((await checked.client.callTool('a')).isError).toBe(true);
    const kept = await serveTools(operation({ 200: json(pet) }), say, { checkResponses: false });
    expect(kept.toolOf('a')?.outputSchema).toBeUndefined();
    const { isError, structured, text } = await kept.client.callTool('a');
    expect([isError, structured, text]).toEqual([false, { name: 1 }, '{"name":1}']);
  });

  test.each([
    ['text/plain; charset=iso-8859-1', Buffer.from([0x63, 0x61, 0x66, 0xe9]), 'café'],
    ['text/plain; charset="utf-16le"', Buffer.from('café', 'utf16le'), 'café'],
    ['text/plain; charset=windows-1251', Buffer.from([0xcf, 0xf0]), 'Пр'],
    ['text/plain; charset=unknown-charset', Buffer.from('café'), 'café'],
    ['application/xml;charset=ISO-8859-1', Buffer.from([0x3c, 0x61, 0x3e, 0xe9]), '<a>é'],
  ])('decodes a response by its charset: %s', async (type, body, expected) => {
    const { client } = await serveTools(operation({ 200: {} }), () => ({
      headers: { 'content-type': type },
      body,
    }));
    expect((await client.callTool('a')).text).toBe(expected);
  });

  test('decodes JSON and error responses by their charset', async () => {
    const body = Buffer.from('{"name":"caf\u00e9"}', 'latin1');
    const headers = { 'content-type': 'application/json; charset=iso-8859-1' };
    const { client } = await serveTools(operation({ 200: json(pet) }), () => ({ headers, body }));
    expect((await client.callTool('a')).structured).toEqual({ name: 'café' });
    const wrong = await serveTools(operation({ 200: json(pet) }), () => ({
      status: 400,
      headers,
      body,
    }));
    expect((await wrong.client.callTool('a')).text).toContain('café');
  });
});

describe('API credentials', () => {
  const keyed = documentOf({
    '/a': {
      get: {
        operationId: 'a',
        parameters: [
          { name: 'api_key', in: 'query', required: true, schema: { type: 'string' } },
          { name: 'X-Key', in: 'header', required: true, schema: { type: 'string' } },
          { name: 'q', in: 'query', schema: { type: 'string' } },
        ],
        responses: {},
      },
    },
  });

  test('sends query credentials with each request and hides them from the arguments', async () => {
    const { asked, client, toolOf } = await serveTools(
      keyed,
      ({ url }) =>
        url.includes('/a?')
          ? { status: 307, headers: { location: '/v1/b?api_key=other&r=1' } }
          : { headers: { 'content-type': 'application/octet-stream' }, body: 'x' },
      { auth: { 'x-key': 'h' }, authQuery: { api_key: 's&e cret' } },
    );
    expect(toolOf('a')?.inputSchema).toMatchObject({ properties: { q: { type: 'string' } } });
    expect(JSON.stringify(toolOf('a')?.inputSchema)).not.toMatch(/key/i);
    const result = await client.callTool('a', { q: 'a b' });
    expect(asked.map(({ url }) => url)).toEqual([
      '/v1/a?q=a%20b&api_key=s%26e+cret',
      '/v1/b?r=1&api_key=s%26e+cret',
    ]);
    expect(asked[1]?.headers['x-key']).toBe('h');
    expect(JSON.stringify(result)).not.toContain('cret');
  });

  test('replaces an argument of the same name by a credential from a callback', async () => {
    const { asked, client } = await serveTools(keyed, () => ({}), {
      authQuery: (_, { operationId }) => ({ api_key: `of-${operationId}` }),
    });
    await client.callTool('a', { api_key: 'guess', 'X-Key': 'k', q: '1' });
    expect(asked[0]?.url).toBe('/v1/a?q=1&api_key=of-a');
  });

  test('refuses a credential with a line break without revealing it', async () => {
    const auth = { authorization: 'Bearer abc\ndef-secret' };
    const refused = await toolsFromOpenApi(keyed as JsonObject, { server: 'http://h', auth }).catch(
      (error: Error) => error.message,
    );
    expect(refused).toMatch(/"authorization".*got 21 characters/);
    expect(refused).not.toContain('secret');
    const { asked, client } = await serveTools(keyed, () => ({}), { auth: () => auth });
    const result = await client.callTool('a', { api_key: 'k', 'X-Key': 'k' });
    expect(result.isError).toBe(true);
    expect(JSON.stringify(result)).not.toContain('secret');
    expect(asked).toEqual([]);
  });
});

/** Serves a response that never ends. */
async function drippingApi(onDrip: () => void): Promise<string> {
  const http = createServer((_, response) => {
    response.writeHead(200, { 'content-type': 'text/plain' });
    const drip = setInterval(() => {
      response.write('.');
      onDrip();
    }, 10);
    response.on('close', () => clearInterval(drip));
  });
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    http.closeAllConnections();
    http.close();
  });
  return `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
}

describe('timeoutMs', () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;

  test('ends a never-ending response even while garbage is collected', async () => {
    const server = await drippingApi(collect);
    const { client } = await serveTools(pets, () => ({}), { server, timeoutMs: 500 });
    const results = await Promise.all(Array.from({ length: 8 }, () => client.callTool('list')));
    for (const { isError, text } of results) {
      expect(isError).toBe(true);
      expect(text).toContain('not answered within 500 ms');
    }
  });
});
