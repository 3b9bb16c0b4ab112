/** Document operations as tools: schemas, requests and results. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createMcpServer } from 'mcp-actors';
import type { JsonObject, Tool } from 'mcp-actors';
import { testClient } from 'mcp-actors/testing';
import { describe, expect, onTestFinished, test } from 'vitest';
import { toolsFromOpenApi } from '@mcp-actors/openapi';
import type { OpenApiOptions, Operation, UnusableOperation } from '@mcp-actors/openapi';
import { serveApi, shop } from './shop.ts';
import type { ApiResponse } from './shop.ts';

/** A client of the document's tools, and the requests the API receives. */
async function client(
  say: () => ApiResponse | Promise<ApiResponse> = () => ({}),
  options: OpenApiOptions = {},
) {
  const { asked, server } = await serveApi(say);
  const tools = await toolsFromOpenApi(shop, { server, ...options });
  const made = await testClient(createMcpServer({ name: 'shop', version: '1', tools }));
  onTestFinished(() => made[Symbol.asyncDispose]());
  return { asked, server, client: made };
}

const named = (tools: readonly Tool[]) => new Map(tools.map((tool) => [tool.name, tool]));
const server = 'https://shop.example/v1';

describe('tools of a document', () => {
  test('resolves bodies shared by Swagger 2.0 operations', async () => {
    const shared = { name: 'note', in: 'body', required: true, schema: { type: 'object' } };
    const operation = (...parameters: object[]) => ({
      parameters,
      consumes: ['application/json'],
      responses: { 200: { description: 'ok' } },
    });
    const document = {
      swagger: '2.0',
      info: { title: 'notes', version: '1' },
      host: 'notes.example',
      parameters: { note: shared, page: { name: 'page', in: 'query', type: 'integer' } },
      paths: {
        '/notes': {
          post: operation({ $ref: '#/parameters/note' }, { $ref: '#/parameters/page' }),
          put: operation({ $ref: '#/parameters/note' }, shared),
        },
      },
    };
    const unusable: UnusableOperation[] = [];
    const [only] = await toolsFromOpenApi(document, { onUnusable: (one) => unusable.push(one) });
    expect(only?.inputSchema).toMatchObject({
      properties: { body: { type: 'object' }, page: { type: 'integer' } },
      required: ['body'],
    });
    expect(unusable).toEqual([{ operation: 'PUT /notes', reason: 'more than one body' }]);
  });

  test('names a tool independently of other operations, with the hints of its method', async () => {
    const unusable: UnusableOperation[] = [];
    const tools = await toolsFromOpenApi(shop, { server, onUnusable: (one) => unusable.push(one) });
    expect(tools.map(({ name, annotations }) => [name, annotations])).toEqual(
      [
        ['getItem', true, undefined, true],
        ['items_put', false, false, true],
        ['delete_items_id', false, true, true],
        ['search', true, undefined, true],
        ['styles', true, undefined, true],
        ['postForm', false, false, false],
        ['upload', false, false, false],
      ].map(([name, readOnlyHint, destructiveHint, idempotentHint]) => [
        name,
        {
          readOnlyHint,
          ...(destructiveHint === undefined ? {} : { destructiveHint }),
          idempotentHint,
          openWorldHint: true,
        },
      ]),
    );
    expect(unusable).toEqual([
      { operation: 'GET /broken/{id}', reason: 'path variable {id} has no parameter' },
    ]);
  });

  test('converts schemas to 2020-12 with references for recursive types', async () => {
    const tools = named(await toolsFromOpenApi(shop, { server }));
    const item = {
      type: 'object',
      required: ['name'],
      properties: {
        name: { type: ['string', 'null'] },
        price: { type: 'number', exclusiveMinimum: 0 },
        parts: { type: 'array', items: { $ref: '#/$defs/Item' } },
      },
    };
    expect(tools.get('getItem')?.outputSchema).toEqual({
      $ref: '#/$defs/Item',
      type: 'object',
      $defs: { Item: item },
    });
    expect(tools.get('items_put')?.inputSchema).toEqual({
      type: 'object',
      properties: { id: { type: 'string' }, body: { $ref: '#/$defs/Item' } },
      required: ['id', 'body'],
      additionalProperties: false,
      $defs: { Item: item },
    });
    const search = tools.get('search')?.inputSchema as JsonObject;
    expect(Object.keys(search['properties'] as object)).not.toContain('Authorization');
    const description = tools.get('getItem')?.description ?? '';
    expect(description).toMatch(/^Gets an item\. Its parts, too\. More\./);
    expect(description.length).toBeLessThanOrEqual(1024);
  });

  test('returns objects unwrapped, even if only a subschema declares an object', async () => {
    const known = { $ref: '#/components/schemas/Known' };
    const wrapped = async (schema: object) => {
      const content = { 'application/json': { schema } };
      const responses = { 200: { description: 'ok', content } };
      const document = {
        ...{ openapi: '3.1.0', info: { title: 't', version: '1' } },
        paths: { '/one': { get: { responses } } },
        components: {
          schemas: { Known: { allOf: [known, { type: 'object' }] }, Any: { allOf: [{}] } },
        },
      };
      const [tool] = await toolsFromOpenApi(document, { server });
      const { type, required } = tool!.outputSchema as JsonObject;
      return [type, required];
    };
    expect(await wrapped({ allOf: [{ minProperties: 1 }, known] })).toEqual(['object', undefined]);
    expect(await wrapped({ $ref: '#/components/schemas/Any' })).toEqual(['object', ['result']]);
    expect(await wrapped({ anyOf: [known] })).toEqual(['object', ['result']]);
  });

  test('selects operations by include and exclude, and renames them', async () => {
    const names = async (options: OpenApiOptions) =>
      (await toolsFromOpenApi(shop, { server, ...options })).map(({ name }) => name);
    expect(await names({ include: ['tag:items'], exclude: ['DELETE'] })).toEqual(['getItem']);
    expect(await names({ include: ['GET /s*', 'postForm'] })).toEqual(['search', 'postForm']);
    const rename = ({ operationId }: Operation) => operationId?.replace('/', '.');
    expect(await names({ include: ['PUT'], rename })).toEqual(['items.put']);
    await expect(names({ include: ['GET'], rename: () => 'same' })).rejects.toThrow(
      'Tool name "same" must be unique',
    );
  });

  test('rejects an unknown base URL and an invalid document', async () => {
    await expect(toolsFromOpenApi(shop)).rejects.toThrow(`pass the API's base URL as "server"`);
    await expect(toolsFromOpenApi({ hello: 1 })).rejects.toThrow(
      'version must be "openapi": "3.0"',
    );
  });

  test('loads a YAML file with parts in its folder, but not outside it', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'openapi-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const document = (reference: string) =>
      `openapi: 3.1.0\ninfo: {title: t, version: '1'}\npaths:\n  /a:\n    get:\n      operationId: a\n      parameters:\n        - $ref: '${reference}'\n      responses: {}\n`;
    await writeFile(join(folder, 'part.yaml'), 'name: n\nin: query\nschema: {type: integer}\n');
    await writeFile(join(folder, 'good.yaml'), document('./part.yaml'));
    await writeFile(join(folder, 'bad.yaml'), document('/etc/hostname'));
    const [tool] = await toolsFromOpenApi(join(folder, 'good.yaml'), { server });
    expect(tool?.inputSchema).toMatchObject({ properties: { n: { type: 'integer' } } });
    const bad = toolsFromOpenApi(join(folder, 'bad.yaml'), { server });
    await expect(bad).rejects.toThrow('/etc/hostname is outside the document');
    await writeFile(join(folder, 'lost.yaml'), document('./no-part.yaml'));
    const whyNot = async (name: string) =>
      String(
        await toolsFromOpenApi(join(folder, name), { server }).catch((error: unknown) => error),
      );
    expect(await whyNot('lost.yaml')).toMatch(
      /lost\.yaml cannot be used .*no-part\.yaml does not exist/,
    );
    expect(await whyNot('gone.yaml')).toMatch(
      /[\\/]gone\.yaml cannot be used as an OpenAPI document: it does not exist/,
    );
  });
});

describe('call of an OpenAPI tool', () => {
  test('serializes each parameter as the document specifies', async () => {
    const { asked, client: made } = await client(() => ({ body: '["found"]' }));
    const found = await made.callTool('search', {
      words: ['a b', 'c&d'],
      ids: ['1', '2'],
      piped: ['x', 'y'],
      filter: { status: 'new' },
      where: { n: 1 },
      'X-Trace': ['t', 'u'],
      crumb: 'c',
    });
    expect(found.structured).toEqual({ result: ['found'] });
    await made.callTool('styles', { label: ['a', 'b'], matrix: ['1', '2'] });
    const [search, styles] = asked;
    expect(search?.url).toBe(
      '/v1/search?words=a%20b&words=c%26d&ids=1,2&piped=x%7Cy&filter[status]=new&where=%7B%22n%22%3A1%7D',
    );
    expect(search?.headers).toMatchObject({ 'x-trace': 't,u', cookie: 'crumb=c' });
    expect(styles?.url).toBe('/v1/pages.a.b/;matrix=1,2');
  });

  test('sends bodies of each media type', async () => {
    const { asked, client: made } = await client();
    await made.callTool('items_put', { id: 'a/b', body: { name: null } });
    await made.callTool('postForm', { body: { a: '1 2', b: 'é' } });
    const base64 = Buffer.from('content').toString('base64');
    await made.callTool('upload', { body: { note: 'n', file: { base64, filename: 'f.txt' } } });
    expect(asked.map(({ method, url }) => `${method} ${url}`)).toEqual([
      'PUT /v1/items/a%2Fb',
      'POST /v1/form',
      'POST /v1/upload',
    ]);
    expect(asked[0]?.body).toBe('{"name":null}');
    expect(asked[1]?.body).toBe('a=1%202&b=%C3%A9');
    expect(asked[2]?.body).toMatch(/filename="f\.txt"[\s\S]*content/);
  });

  test.each(['..', '.', ''])('keeps %j from changing the path', async (id) => {
    const { asked, client: made } = await client();
    const result = await made.callTool('getItem', { id });
    expect([result.isError, asked.length]).toEqual([true, 0]);
    expect(result.text).toContain('must be a non-empty path segment');
  });

  test('follows redirects on its own server only', async () => {
    const elsewhere = await serveApi(() => ({ body: '{"name":"stolen"}' }));
    let location = elsewhere.server;
    let asked = 0;
    const { client: made } = await client(() =>
      ++asked === 2 ? { body: '{"name":"here"}' } : { status: 302, headers: { location } },
    );
    const refused = await made.callTool('getItem', { id: '1' });
    expect(refused.text).toContain('which is outside the API');
    expect(elsewhere.asked).toEqual([]);
    asked = 0;
    location = '/v1/moved';
    expect((await made.callTool('getItem', { id: '1' })).structured).toEqual({ name: 'here' });
  });

  test('sends its authorization headers', async () => {
    const { asked, client: made } = await client(() => ({ body: '{"name":"x"}' }), {
      auth: async ({ client: { info } }, { operationId }) => ({
        authorization: `Bearer ${info.name} ${operationId}`,
      }),
    });
    await made.callTool('getItem', { id: '1' });
    expect(asked[0]?.headers.authorization).toBe('Bearer scripted-peer getItem');
  });

  test("returns the API's error with its body, truncated", async () => {
    const { client: made } = await client(() => ({ status: 422, body: `no ${'x'.repeat(9000)}` }));
    const { isError, text } = await made.callTool('getItem', { id: '1' });
    expect(isError).toBe(true);
    expect(text).toMatch(
      /^GET \/items\/\{id\} was answered with 422 Unprocessable Entity:\nno xxx/,
    );
    expect(text.length).toBeLessThan(4200);
  });

  test('limits a response in size and time', async () => {
    const large = await client(() => ({ body: `{"name":"${'x'.repeat(5000)}"}` }), {
      maxResponseBytes: 1000,
    });
    const { text } = await large.client.callTool('getItem', { id: '1' });
    expect(text).toContain('exceeds 1000 bytes: request less data');
    const silent = await client(() => new Promise<ApiResponse>(() => {}), { timeoutMs: 50 });
    const late = await silent.client.callTool('getItem', { id: '1' });
    expect(late.text).toContain('was not answered within 50 ms');
  });

  test('returns a non-JSON response unchanged', async () => {
    const { client: made } = await client(() => ({
      headers: { 'content-type': 'image/png' },
      body: 'png',
    }));
    const { content } = await made.callTool('upload', {});
    expect(content).toEqual([{ type: 'image', mimeType: 'image/png', data: 'cG5n' }]);
  });
});
