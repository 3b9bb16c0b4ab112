/** A sample document with typical content, and an API that records the requests it receives. */
import { createServer } from 'node:http';
import type { IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { createMcpServer } from 'mcp-actors';
import type { JsonObject } from 'mcp-actors';
import { testClient } from 'mcp-actors/testing';
import { onTestFinished } from 'vitest';
import { toolsFromOpenApi } from '@mcp-actors/openapi';
import type { DocumentWarning, OpenApiOptions, UnusableOperation } from '@mcp-actors/openapi';

const json = (schema: object) => ({ 'application/json': { schema } });
const answer = (schema: object) => ({
  responses: { 200: { description: 'ok', content: json(schema) } },
});
const parameter = (name: string, place: string, schema: object, more: object = {}) => ({
  name,
  in: place,
  schema,
  ...more,
});
const list = { type: 'array', items: { type: 'string' } };
const pair = { type: 'object', additionalProperties: { type: 'string' } };

export const shop = {
  openapi: '3.0.3',
  info: { title: 'Shop', version: '1' },
  servers: [{ url: '/v1' }],
  paths: {
    '/items/{id}': {
      parameters: [parameter('id', 'path', { type: 'string' }, { required: true })],
      get: {
        operationId: 'getItem',
        tags: ['items'],
        summary: 'Gets an item',
        description: `<p>Its [parts](https://shop.example/parts), too.</p> ${'More. '.repeat(400)}`,
        ...answer({ $ref: '#/components/schemas/Item' }),
      },
      put: {
        operationId: 'items/put',
        requestBody: { required: true, content: json({ $ref: '#/components/schemas/Item' }) },
        responses: { 204: { description: 'done' } },
      },
      delete: { tags: ['items'], responses: { 204: { description: 'done' } } },
    },
    '/search': {
      get: {
        operationId: 'search',
        parameters: [
          parameter('words', 'query', list),
          parameter('ids', 'query', list, { explode: false }),
          parameter('piped', 'query', list, { style: 'pipeDelimited', explode: false }),
          parameter('filter', 'query', pair, { style: 'deepObject' }),
          parameter('where', 'query', {}, { content: json({ type: 'object' }), schema: undefined }),
          parameter('X-Trace', 'header', list),
          parameter('crumb', 'cookie', { type: 'string' }),
          parameter('Authorization', 'header', { type: 'string' }),
        ],
        ...answer(list),
      },
    },
    '/pages{label}/{matrix}': {
      get: {
        operationId: 'styles',
        parameters: [
          parameter('label', 'path', list, { required: true, style: 'label', explode: true }),
          parameter('matrix', 'path', list, { required: true, style: 'matrix' }),
        ],
        responses: { 200: { description: 'ok' } },
      },
    },
    '/form': {
      post: {
        operationId: 'postForm',
        requestBody: {
          content: { 'application/x-www-form-urlencoded': { schema: pair } },
        },
        responses: { 200: { description: 'ok' } },
      },
    },
    '/upload': {
      post: {
        operationId: 'upload',
        requestBody: {
          content: {
            'multipart/form-data': {
              schema: {
                type: 'object',
                properties: {
                  note: { type: 'string' },
                  file: { type: 'string', format: 'binary' },
                },
              },
            },
          },
        },
        responses: { 200: { description: 'ok' } },
      },
    },
    '/broken/{id}': { get: { operationId: 'broken', responses: {} } },
  },
  components: {
    schemas: {
      Item: {
        type: 'object',
        required: ['name'],
        properties: {
          name: { type: 'string', nullable: true, example: 'a pen' },
          price: { type: 'number', minimum: 0, exclusiveMinimum: true },
          parts: { type: 'array', items: { $ref: '#/components/schemas/Item' } },
        },
      },
    },
  },
};

/** A request received by the API. */
export interface ReceivedRequest {
  readonly method: string;
  /** As in the request line. */
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  /** Names and values as received. */
  readonly rawHeaders: readonly string[];
  readonly body: string;
  readonly bytes: Buffer;
}

/** A response of the API. */
export interface ApiResponse {
  readonly status?: number;
  /** Undefined headers are omitted. */
  readonly headers?: { readonly [name: string]: string | undefined };
  readonly body?: string | Uint8Array;
}

/** Serves an API for the duration of the test. */
export async function serveApi(
  say: (asked: ReceivedRequest) => ApiResponse | Promise<ApiResponse>,
) {
  const asked: ReceivedRequest[] = [];
  const http = createServer((request, response) => {
    void (async () => {
      const { method = '', url = '', headers, rawHeaders } = request;
      const bytes = await buffer(request);
      const one = { method, url, headers, rawHeaders, bytes, body: bytes.toString() };
      asked.push(one);
      const { status = 200, headers: given = {}, body = '' } = await say(one);
      const all = { 'content-type': 'application/json', ...given };
      for (const [name, value] of Object.entries(all)) {
        if (value !== undefined) response.setHeader(name, value);
      }
      response.writeHead(status).end(body);
    })();
  });
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    http.closeAllConnections();
    http.close();
  });
  return { asked, server: `http://127.0.0.1:${(http.address() as AddressInfo).port}/v1` };
}

/** Connects a client to the tools of a document and an API that answers. */
export async function serveTools(
  document: object,
  say: (asked: ReceivedRequest) => ApiResponse | Promise<ApiResponse> = () => ({}),
  options: OpenApiOptions = {},
) {
  const { asked, server } = await serveApi(say);
  const unusable: UnusableOperation[] = [];
  const warnings: DocumentWarning[] = [];
  const tools = await toolsFromOpenApi(document as JsonObject, {
    server,
    onUnusable: (one) => unusable.push(one),
    onWarning: (one) => warnings.push(one),
    ...options,
  });
  const client = await testClient(createMcpServer({ name: 'api', version: '1', tools }));
  onTestFinished(() => client[Symbol.asyncDispose]());
  const toolOf = (name: string) => tools.find((tool) => tool.name === name);
  return { asked, server, client, tools, toolOf, unusable, warnings };
}

/** Builds a document with these paths. */
export function documentOf(paths: object, more: object = {}): object {
  return { openapi: '3.0.3', info: { title: 'Test', version: '1' }, paths, ...more };
}
