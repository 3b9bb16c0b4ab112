/**
 * Loading documents (files, YAML, limits), and calling every operation of third-party documents.
 */
import { readFileSync, readdirSync } from 'node:fs';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { createMcpServer } from 'mcp-actors';
import type { JsonObject } from 'mcp-actors';
import { testClient } from 'mcp-actors/testing';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { load } from 'js-yaml';
import { describe, expect, onTestFinished, test } from 'vitest';
import { toolsFromOpenApi } from '@mcp-actors/openapi';
import { makeNamedPipe } from '../../roots/test/named-pipe.ts';
import { serveApi } from './shop.ts';
import type { ReceivedRequest, ApiResponse } from './shop.ts';

const server = 'https://shop.example/v1';

async function folderWith(files: { readonly [name: string]: string }): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'openapi-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), text);
  }
  return folder;
}

const withParameter = (reference: string) =>
  `openapi: 3.1.0\ninfo: {title: t, version: '1'}\npaths:\n  /a:\n    get:\n      operationId: a\n      parameters:\n        - $ref: '${reference}'\n      responses: {}\n`;
const part = 'name: n\nin: query\nschema: {type: integer}\n';

const reasonAgainst = async (source: string) =>
  String(await toolsFromOpenApi(source, { server }).catch((error: unknown) => error));

describe('document in a file', () => {
  test('loads a file with its parts from a ConfigMap mount', async () => {
    const folder = await folderWith({
      '..2024_01_01/api.yaml': withParameter('./part.yaml'),
      '..2024_01_01/part.yaml': part,
    });
    await symlink('..2024_01_01', join(folder, '..data'));
    for (const name of ['api.yaml', 'part.yaml']) {
      await symlink(join('..data', name), join(folder, name));
    }
    const [tool] = await toolsFromOpenApi(join(folder, 'api.yaml'), { server });
    expect(tool?.inputSchema).toMatchObject({ properties: { n: { type: 'integer' } } });
  });

  test("does not follow a symlink out of the document's folder", async () => {
    const folder = await folderWith({
      'in/api.yaml': withParameter('./part.yaml'),
      'part.yaml': part,
    });
    await symlink('../part.yaml', join(folder, 'in', 'part.yaml'));
    expect(await reasonAgainst(join(folder, 'in', 'api.yaml'))).toContain(
      "is outside the document's folder",
    );
  });

  test.runIf(process.platform !== 'win32')(
    'rejects a part that is a FIFO or a folder',
    async () => {
      const folder = await folderWith({
        'api.yaml': withParameter('./pipe'),
        'other.yaml': withParameter('./folder'),
        'folder/x': '',
      });
      makeNamedPipe(join(folder, 'pipe'));
      for (const name of ['api.yaml', 'other.yaml']) {
        expect(await reasonAgainst(join(folder, name))).toContain('must be a regular file');
      }
      expect(await reasonAgainst(join(folder, 'pipe'))).toContain('must be a regular file');
    },
  );

  test('limits the number of parts', async () => {
    const files = Object.fromEntries(
      Array.from({ length: 1100 }, (_, n) => [`p${n}.yaml`, `$ref: './p${n + 1}.yaml'\n`]),
    );
    const folder = await folderWith({ ...files, 'api.yaml': withParameter('./p0.yaml') });
    expect(await reasonAgainst(join(folder, 'api.yaml'))).toContain('more than 1000 files');
  });
});

describe('document in YAML', () => {
  const operation = (more: string) =>
    `info: {title: t, version: '1'}\npaths:\n  /a:\n    get:\n      operationId: a\n      parameters: [{name: n, in: query, ${more}}]\n      responses: {200: {description: ok}}\n`;

  test.each([
    ['swagger: 2.0', 'type: integer'],
    ['swagger: "2.0"', 'type: integer'],
    ['openapi: 3.0', 'schema: {type: integer}'],
    ['openapi: 3.1', 'schema: {type: integer}'],
    ['openapi: 3.0.3', 'schema: {type: integer}'],
  ])('accepts a YAML version with or without quotes: %s', async (version, more) => {
    const folder = await folderWith({ 'api.yaml': `${version}\n${operation(more)}` });
    const [tool] = await toolsFromOpenApi(join(folder, 'api.yaml'), { server });
    expect(tool?.inputSchema).toMatchObject({ properties: { n: { type: 'integer' } } });
  });

  test('supports YAML merge keys', async () => {
    const text = `openapi: 3.0.3\nx-common: &common\n  operationId: a\n  responses: {200: {description: ok}}\npaths:\n  /a:\n    get:\n      <<: *common\n      summary: Own\n`;
    const folder = await folderWith({ 'api.yaml': text });
    const tools = await toolsFromOpenApi(join(folder, 'api.yaml'), { server });
    expect(tools.map(({ name, title }) => [name, title])).toEqual([['a', 'Own']]);
  });

  test('keeps YAML dates as strings', async () => {
    const more = 'schema: {type: string, enum: [2024-01-01]}';
    const folder = await folderWith({ 'api.yaml': `openapi: 3.0.3\n${operation(more)}` });
    const [tool] = await toolsFromOpenApi(join(folder, 'api.yaml'), { server });
    expect(tool?.inputSchema).toMatchObject({ properties: { n: { enum: ['2024-01-01'] } } });
  });

  const levels = (next: (at: number) => string) =>
    Array.from({ length: 40 }, (_, at) => `x${at + 1}: &x${at + 1} ${next(at)}`).join('\n');

  test.each([
    [
      'aliases',
      `x0: &x0 [a]\n${levels((at) => `[${`*x${at},`.repeat(9)}]`)}`,
      'more than 4000000 values',
    ],
    ['a value that contains itself', 'x: &x [*x]', 'contains itself'],
    ['nesting', `x: ${'['.repeat(5000)}${']'.repeat(5000)}`, 'maxDepth'],
  ])('rejects a YAML document inflated by %s', async (_, more, reason) => {
    const text = `openapi: 3.0.3\npaths: {}\n${more}\n`;
    const folder = await folderWith({ 'api.yaml': text });
    expect(await reasonAgainst(join(folder, 'api.yaml'))).toContain(reason);
  });
});

describe('document as a value', () => {
  test('rejects a value that contains itself, and never modifies it', async () => {
    const circular: { [name: string]: unknown } = { openapi: '3.0.3', paths: {} };
    circular['x-self'] = circular;
    await expect(toolsFromOpenApi(circular as JsonObject, { server })).rejects.toThrow(
      'contains itself',
    );
    const given = JSON.parse(
      readFileSync(examples('2.0/json/petstore.json'), 'utf8'),
    ) as JsonObject;
    const before = JSON.stringify(given);
    await toolsFromOpenApi(given);
    expect(JSON.stringify(given)).toBe(before);
  });
});

describe('document at a URL', () => {
  test('takes the scheme of Swagger 2.0 from its URL, and refuses references to other origins', async () => {
    const document = {
      swagger: '2.0',
      paths: { '/a': { get: { operationId: 'a', responses: {} } } },
    };
    const http = createServer((_, response) => {
      response.end(JSON.stringify(document));
    });
    await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => {
      http.close().closeAllConnections();
    });
    const { port } = http.address() as AddressInfo;
    const urls: string[] = [];
    const tools = await toolsFromOpenApi(`http://127.0.0.1:${port}/docs/api.json`, {
      fetch: (url) => {
        urls.push(String(url as URL));
        return Promise.resolve(new Response('ok'));
      },
    });
    await using client = await testClient(createMcpServer({ name: 'api', version: '1', tools }));
    await client.callTool('a');
    expect(urls).toEqual([`http://127.0.0.1:${port}/a`]);
  });
});

const require = createRequire(import.meta.url);

/** Path of a file in `@readme/oas-examples`. */
function examples(path: string): string {
  return join(dirname(require.resolve('@readme/oas-examples/package.json')), path);
}

function documentsIn(folder: string): readonly string[] {
  return readdirSync(folder, { recursive: true })
    .map(String)
    .filter((name) => /\.(json|ya?ml)$/.test(name))
    .map((name) => join(folder, name));
}

type Value = { readonly [member: string]: unknown };

/** The JSON Schema validator used by many hosts. */
const ajv = new Ajv2020({ strict: false, validateFormats: false, logger: false });

/**
 * Generates a value that a schema accepts by trial; undefined if none is found.
 *
 * @throws {Error} if the schema is invalid
 */
function sampleOf(schema: Value): unknown {
  const accepts = ajv.compile(schema);
  for (const isWhole of [true, false]) {
    for (const pick of [0, 1, 2]) {
      const sample = new Sampler(schema, pick, isWhole).of(schema);
      if (accepts(sample)) return sample;
    }
  }
  return undefined;
}

/** Sample file argument. */
const sampleFile: Value = { base64: 'AAEC', mimeType: 'image/png' };

class Sampler {
  readonly #definitions: Value;
  readonly #pick: number;
  readonly #isWhole: boolean;

  /**
   * @param pick index of the alternative to choose
   * @param isWhole false for required members only
   */
  constructor({ $defs = {} }: Value, pick: number, isWhole: boolean) {
    this.#definitions = $defs as Value;
    this.#pick = pick;
    this.#isWhole = isWhole;
  }

  of(given: unknown, depth = 0): unknown {
    const schema = (typeof given === 'object' && given !== null ? given : {}) as Value;
    const { $ref, anyOf, oneOf, allOf, type } = schema;
    if (depth > 12) return type === 'array' ? [] : {};
    if ('const' in schema) return schema['const'];
    if (Array.isArray(schema['enum'])) return schema['enum'][0];
    const parts: unknown[] = Array.isArray(allOf) ? [...(allOf as unknown[])] : [];
    if (typeof $ref === 'string') {
      parts.push(this.#definitions[decodeURIComponent($ref.slice('#/$defs/'.length))]);
    }
    for (const list of [anyOf, oneOf]) {
      if (Array.isArray(list)) parts.push(list[Math.min(this.#pick, list.length - 1)]);
    }
    const types: readonly unknown[] = Array.isArray(type) ? type : [type];
    const samples = parts.map((part) => this.of(part, depth + 1));
    const own = this.#ofType(types[0], schema, depth);
    const objects = [...samples, own].filter((each) => typeof each === 'object' && each !== null);
    if (objects.length > 0 && !objects.some(Array.isArray)) {
      return Object.fromEntries(objects.flatMap((each) => Object.entries(each as Value)));
    }
    return samples.find((each) => each !== undefined) ?? own;
  }

  #ofType(type: unknown, schema: Value, depth: number): unknown {
    const { properties = {}, required = [], items, minItems = 1, minimum } = schema;
    if (type === 'object' || (type === undefined && 'properties' in schema)) {
      const all = Object.keys(properties as Value);
      const names = this.#isWhole && depth < 3 ? all : (required as string[]);
      return Object.fromEntries(
        names.map((name) => [
          name,
          sampleFile[name] ?? this.of((properties as Value)[name], depth + 1),
        ]),
      );
    }
    switch (type) {
      case 'array':
        return Array.from({ length: Math.max(1, Number(minItems)) }, () =>
          this.of(items, depth + 1),
        );
      case 'integer':
      case 'number':
        return Number(
          minimum ??
            schema['maximum'] ??
            Number(schema['exclusiveMinimum'] ?? 0) + Number(schema['multipleOf'] ?? 1),
        );
      case 'boolean':
        return true;
      case 'null':
        return null;
      case 'string':
        return this.#text(schema);
      default:
        return undefined;
    }
  }

  #text({ pattern, minLength = 0, maxLength = Infinity }: Value): string {
    const long = 'a'.repeat(Number(minLength));
    const all = ['a b/c?d=é', 'a', '1', 'ab-c', '2024-01-01', '1.2.3', '#ffffff', 'a.json', long];
    const fitting = all.find(
      (text) =>
        text.length >= Number(minLength) &&
        text.length <= Number(maxLength) &&
        (typeof pattern !== 'string' || new RegExp(pattern, 'u').test(text)),
    );
    return fitting ?? 'a';
  }
}

/** An operation as described by its document, read independently of the code under test. */
interface Described {
  readonly method: string;
  readonly path: string;
  readonly parameters: readonly Value[];
  readonly mediaTypes: readonly string[];
  readonly status: number;
}

const resolved = (document: Value, given: unknown): Value => {
  const { $ref } = given as Value;
  if (typeof $ref !== 'string') return given as Value;
  const names = $ref
    .slice(2)
    .split('/')
    .map((name) => decodeURIComponent(name).replaceAll('~1', '/').replaceAll('~0', '~'));
  return resolved(
    document,
    names.reduce<unknown>((value, name) => (value as Value)[name], document),
  );
};

function describedIn(document: Value): ReadonlyMap<string, Described> {
  const all = Object.entries(document['paths'] ?? {}).flatMap(([path, item]) => {
    const shared = resolved(document, item);
    return ['get', 'put', 'post', 'delete', 'options', 'head', 'patch'].flatMap((method) => {
      const operation = shared[method] as Value | undefined;
      if (!operation) return [];
      const parameters = [shared['parameters'], operation['parameters']]
        .flatMap((list) => (Array.isArray(list) ? (list as unknown[]) : []))
        .map((each) => resolved(document, each));
      const body = operation['requestBody'] && resolved(document, operation['requestBody']);
      const content = Object.keys((body as Value | undefined)?.['content'] ?? {});
      const consumes = (operation['consumes'] ??
        document['consumes'] ?? ['application/json']) as string[];
      const status = Object.keys((operation['responses'] ?? {}) as object).find((code) =>
        /^2\d\d$/.test(code),
      );
      const described: Described = {
        ...{ method: method.toUpperCase(), path, parameters },
        mediaTypes: [
          ...content,
          ...consumes,
          'application/x-www-form-urlencoded',
          'multipart/form-data',
        ],
        status: Number(status ?? 200),
      };
      return [[`${method.toUpperCase()} ${path}`, described] as const];
    });
  });
  return new Map(all);
}

const isEmptyList = (value: unknown) => Array.isArray(value) && value.length === 0;

/** Mismatches between a call and the request that arrived for it. */
function faultsOf(
  asked: ReceivedRequest,
  { method, path, parameters, mediaTypes }: Described,
  args: Value,
): readonly string[] {
  const faults: string[] = [];
  const { pathname, searchParams } = new URL(asked.url, 'http://h');
  const pattern = path
    .replace(/#.*$/, '')
    .replaceAll(/[.*+?^$()[\]\\|]/g, '\\$&')
    .replaceAll(/\{[^}]+\}/g, '[^/]+');
  if (asked.method !== method) faults.push(`the method is ${asked.method}`);
  // Compare decoded paths: only path templates contain characters that URLs encode.
  if (!new RegExp(`^/v1${pattern}$`).test(decodeURI(pathname)))
    faults.push(`the path is ${pathname}`);
  for (const { name, in: place, required, schema, type } of parameters) {
    const { type: declared = type } = (schema ?? {}) as Value;
    if (required !== true || !['string', 'integer', 'boolean', 'number'].includes(String(declared)))
      continue;
    const found =
      place === 'query'
        ? searchParams.get(String(name))
        : place === 'header'
          ? asked.headers[String(name).toLowerCase()]
          : '';
    const expected = args[String(name)];
    if (
      place === 'query' &&
      found !== (typeof expected === 'string' ? expected : JSON.stringify(expected))
    ) {
      faults.push(`${String(name)} is ${found as string}`);
    }
    if (
      place === 'header' &&
      found === undefined &&
      !/^(accept|authorization|content-type)$/i.test(String(name))
    ) {
      faults.push(`the header ${String(name)} is missing`);
    }
  }
  const type = asked.headers['content-type'];
  const body = args['body'] as Value | undefined;
  if (body === undefined || type === undefined) {
    if (asked.bytes.length > 0) faults.push('it has a body');
    return faults;
  }
  const [plain = ''] = type.split(';');
  if (!mediaTypes.some((each) => each.startsWith(plain) || each.includes('*')))
    faults.push(`the type is ${type}`);
  if (/json/.test(plain) && asked.body !== JSON.stringify(body))
    faults.push(`the body is ${asked.body}`);
  if (plain === 'application/x-www-form-urlencoded') {
    const sent = new URLSearchParams(asked.body);
    for (const [name, value] of Object.entries(body)) {
      if (typeof value === 'string' && sent.get(name) !== value)
        faults.push(`${name} is ${sent.get(name)}`);
    }
  }
  if (plain.startsWith('multipart/')) {
    for (const [name, value] of Object.entries(body)) {
      const isThere = asked.body.includes(`form-data; name="${name}"`);
      if (isThere === (value === null || isEmptyList(value)))
        faults.push(`the part ${name} is wrong`);
    }
  }
  return faults;
}

/** Calls each tool of a document with sample arguments and returns the mismatches. */
async function faultsOfDocument(path: string) {
  const document = load(readFileSync(path, 'utf8')) as Value;
  const described = describedIn(document);
  let said: ApiResponse = {};
  const { asked, server: api } = await serveApi(() => said);
  const calls: string[] = [];
  const unusable: string[] = [];
  const tools = await toolsFromOpenApi(path, {
    server: api,
    rename: ({ method, path: of }) => `o${calls.push(`${method} ${of}`) - 1}`,
    onUnusable: ({ operation, reason }) => unusable.push(`${operation}: ${reason}`),
  });
  await using client = await testClient(createMcpServer({ name: 'api', version: '1', tools }));
  const faults: string[] = [];
  let verified = 0;
  for (const { name, inputSchema, outputSchema } of tools) {
    const call = calls[Number(name.slice(1))] ?? '';
    const operation = described.get(call)!;
    const sample = sampleOf(inputSchema as unknown as Value);
    const args = sample && (JSON.parse(JSON.stringify(sample)) as Value);
    const schema = outputSchema as Value | undefined;
    const result = schema && (sampleOf(schema) as Value | undefined);
    if (!args) continue;
    const isWrapped = Object.keys((schema?.['properties'] ?? {}) as object).join() === 'result';
    const body = result ? JSON.stringify(isWrapped ? result['result'] : result) : '';
    said = { status: operation.status, body: operation.status === 204 ? '' : body };
    asked.length = 0;
    const { isError, text } = await client.callTool(name, args as JsonObject);
    const [request] = asked;
    if (!request || (isError && (result || !schema))) {
      faults.push(`${call}: ${text.slice(0, 300)}`);
    } else {
      faults.push(
        ...faultsOf(request, operation, args as Value).map((fault) => `${call}: ${fault}`),
      );
      verified++;
    }
  }
  return { faults, unusable, verified, operations: described.size };
}

describe('every operation of a third-party document', () => {
  const figma = require.resolve('@figma/rest-api-spec/package.json');
  /**
   * Additional documents, separated as in PATH, such as GitHub's in `@octokit/openapi` (385 MB).
   */
  const more = (process.env['OPENAPI_DOCUMENTS'] ?? '').split(delimiter).filter(Boolean);
  const all = [
    ...['2.0/json', '3.0/json', '3.1/json'].flatMap((folder) => documentsIn(examples(folder))),
    examples('2.0/yaml/petstore.yaml'),
    examples('3.1/yaml/petstore.yaml'),
    join(dirname(figma), 'openapi/openapi.yaml'),
    ...more,
  ];

  test.each(all.map((path) => [path.split('/').slice(-3).join('/'), path] as const))(
    'arrives at the API as described: %s',
    async (_, path) => {
      const { faults, unusable, verified, operations } = await faultsOfDocument(path);
      expect({ faults, unusable }).toEqual({ faults: [], unusable: [] });
      // For some schemas, no sample is found by trial.
      expect(verified).toBeGreaterThanOrEqual(operations * 0.6);
    },
  );
});
