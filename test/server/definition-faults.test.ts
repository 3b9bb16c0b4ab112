/** What is wrong in a definition is said when it is defined, with the item and the member. JavaScript has no types to say it. */
import {
  createMcpServer,
  definePrompt,
  defineResource,
  defineResourceTemplate,
  defineTool,
  memory,
} from 'mcp-actors';
import type { JsonObject } from 'mcp-actors';
import { type } from 'arktype';
import * as v from 'valibot';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { operate, textOf, tool } from '../contract/serving.ts';

const handler = () => 'text';
const named = { name: 'sum', description: 'Adds' };
const inSchema = (inputSchema: JsonObject) => ({ ...named, inputSchema, handler });

test.each<[item: unknown, message: string]>([
  [undefined, 'A tool is an object with name; this is undefined'],
  [{ description: 'Adds', handler }, '"name" of a tool must be a string, this is missing'],
  [{ name: 'sum', handler }, '"description" of the tool "sum" must be a string, this is missing'],
  [named, '"handler" of the tool "sum" must be a function, this is missing'],
  [{ ...named, handler: 'no' }, '"handler" of the tool "sum" must be a function, this is "no"'],
  [{ ...named, execute: handler }, '"execute" of the tool "sum" is called "handler" here'],
  [
    { ...named, handler, parameters: {} },
    '"parameters" of the tool "sum" is called "inputSchema" here',
  ],
  [
    { ...named, handler, inputschema: {} },
    '"inputschema" is no member of the tool "sum"; did you mean "inputSchema"?',
  ],
  [
    { ...named, handler, annotation: { readOnlyHint: true } },
    '"annotation" is no member of the tool "sum"; did you mean "annotations"?',
  ],
  [
    { ...named, handler, requiredScopes: ['notes:write'] },
    '"requiredScopes" of the tool "sum" is called "scopes" here',
  ],
  [
    { ...named, handler, scopes: 'notes:write' },
    '"scopes" of the tool "sum" must be an array of scopes, got "notes:write"',
  ],
  [
    { ...named, handler, scopes: ['notes:write', 'notes read'] },
    '"scopes" of the tool "sum" must contain scopes of visible ASCII characters except " and \\, got "notes read" at index 1',
  ],
  [
    inSchema({ type: 'object', properties: { n: { type: 'int' } } }),
    'The inputSchema of the tool "sum" is not a JSON Schema: #/properties/n/type must be one of array, boolean',
  ],
  [
    inSchema({ type: 'object', properties: { n: 'number' } }),
    '#/properties/n must be a schema, got "number"',
  ],
  [inSchema({ type: 'object', properties: [] }), '#/properties must be an object of schemas'],
  [inSchema({ type: 'object', required: true }), '#/required must be an array of names'],
  [
    inSchema({ type: 'object', properties: { n: { anyOf: [] } } }),
    '#/properties/n/anyOf must be a list of schemas',
  ],
  [
    inSchema({ type: 'object', properties: { n: { minimum: '1' } } }),
    '#/properties/n/minimum must be a number, got "1"',
  ],
  [inSchema({ type: 'object', $defs: { a: { enum: 'b' } } }), '#/$defs/a/enum must be a list'],
  [
    { ...named, handler, outputSchema: { type: 'object', items: { type: 7 } } },
    'The outputSchema of the tool "sum" is not a JSON Schema: #/items/type',
  ],
])('a tool: %j', (item, message) => {
  expect(() => defineTool(item as never)).toThrow(message);
});

test('createMcpServer of nothing says what a server is', () => {
  expect(() => createMcpServer(undefined as never)).toThrow(
    'A server is an object with name; this is undefined',
  );
});

test("members of their own are the author's business: in a class, or unlike ours", () => {
  class Roll {
    readonly name = 'roll';
    readonly description = 'Rolls';
    readonly error = undefined;
    readonly iconSet = ['die'];
    handler = handler;
  }
  expect(defineTool(new Roll()).name).toBe('roll');
  expect(defineTool({ ...named, handler, owner: 'games' } as never).name).toBe('sum');
});

test('a schema that contains itself is refused', () => {
  const cycle: { type: string; items?: unknown } = { type: 'object' };
  cycle.items = cycle;
  expect(() => defineTool(inSchema(cycle) as never)).toThrow('nested at most 256 deep');
});

test.each<[define: (item: never) => unknown, item: object, message: string]>([
  [
    defineResource,
    { uri: 'a://b', name: 'b' },
    '"read" of the resource "a://b" must be a function',
  ],
  [
    defineResource,
    { uri: 'a://b', name: 'b', load: handler },
    '"load" of the resource "a://b" is called "read" here',
  ],
  [defineResource, { name: 'b', read: handler }, '"uri" of a resource must be a string'],
  [
    defineResourceTemplate,
    { uriTemplate: 'a://{b}', name: 'b' },
    '"read" of the resource template "a://{b}" must be a function',
  ],
  [definePrompt, { name: 'ask' }, '"get" of the prompt "ask" must be a function'],
  [
    definePrompt,
    { name: 'ask', get: handler, arguments: [{ name: 'city' }] },
    '"arguments" of the prompt "ask" must be an object of arguments by name, such as { city: { required: true } }, or a Standard Schema; this is an array',
  ],
  [
    definePrompt,
    { name: 'ask', get: handler, arguments: { type: 'object', properties: {} } },
    'The argument "type" of the prompt "ask" must be an object, this is "object". Is it a JSON Schema? Give its properties by name, or a Standard Schema',
  ],
  [
    definePrompt,
    { name: 'ask', get: handler, arguments: z.string() },
    '"arguments" of the prompt "ask" must describe objects',
  ],
  [
    definePrompt,
    { name: 'ask', get: handler, arguments: z.union([z.object({}), z.object({ a: z.string() })]) },
    '"arguments" of the prompt "ask" must be a schema of one object with its members, not of a union',
  ],
  [
    definePrompt,
    { name: 'ask', get: handler, arguments: v.object({ a: v.string() }) },
    '"arguments" of the prompt "ask" is a schema of valibot that cannot be converted to JSON Schema',
  ],
  [
    definePrompt,
    { name: 'ask', get: handler, arguments: z.object({ a: z.string() }), complete: { b: handler } },
    'The prompt "ask" has no argument "b" to complete',
  ],
  [
    definePrompt,
    { name: 'ask', get: handler, inputSchema: z.object({}) },
    '"inputSchema" of the prompt "ask" is called "arguments" here',
  ],
  [
    definePrompt,
    { name: 'ask', get: handler, arguments: { city: true } },
    'The argument "city" of the prompt "ask" must be an object, this is true',
  ],
  [
    defineResource,
    { uri: 'a://b', name: 'b', read: handler, mimetype: 'text/plain' },
    '"mimetype" is no member of the resource "a://b"; did you mean "mimeType"?',
  ],
  [
    defineResourceTemplate,
    { uriTemplate: 'a://{b}', name: 'b', read: handler, completes: {} },
    '"completes" is no member of the resource template "a://{b}"; did you mean "complete"?',
  ],
  [
    definePrompt,
    { name: 'ask', get: handler, argument: {} },
    '"argument" is no member of the prompt "ask"; did you mean "arguments"?',
  ],
  [
    createMcpServer,
    { name: 'a', version: '1', tool: [] },
    '"tool" is no member of the server "a"; did you mean "tools"?',
  ],
  [
    createMcpServer,
    { name: 'a', version: '1', onclose: handler },
    '"onclose" is no member of the server "a"; did you mean "onClose"?',
  ],
  [
    createMcpServer,
    { name: 'a', version: '1', limits: {} },
    '"limits" of the server "a" is an option of serve() and listen()',
  ],
  [createMcpServer, { version: '1' }, '"name" of a server must be a string, this is missing'],
  [createMcpServer, { name: 'a' }, '"version" of the server "a" must be a string'],
  [
    createMcpServer,
    { name: 'a', version: '1', tools: { sum: named } },
    'The tools of a server are a list; this is an object',
  ],
  [
    createMcpServer,
    { name: 'a', version: '1', tools: [{ ...named, execute: handler }] },
    '"execute" of the tool "sum" is called "handler" here',
  ],
  [
    createMcpServer,
    { name: 'a', version: '1', tools: [{ ...named, handler }] },
    'The tool "sum" is not defined: use defineTool',
  ],
  [
    createMcpServer,
    {
      name: 'a',
      version: '1',
      resourceTemplates: [{ uriTemplate: 'a://{b}', name: 'b', read: handler }],
    },
    'The resource template "a://{b}" is not defined: use defineResourceTemplate',
  ],
])('%o: %j', (define, item, message) => {
  expect(() => define(item as never)).toThrow(message);
});

test('an item that is added while the server runs is looked at too', () => {
  const server = createMcpServer({ name: 'a', version: '1', prompts: [] });
  const { prompts } = server;
  expect(() => prompts.add({ name: 'ask', get: 'text' } as never)).toThrow(
    '"get" of the prompt "ask" must be a function, this is "text"',
  );
});

describe('a limit', () => {
  const listen = (limits: object) =>
    createMcpServer({ name: 'a', version: '1' }).listen(memory().transport, { limits });

  test('that does not exist is named, with those that do', () => {
    expect(() => listen({ maxTask: 1 })).toThrow(
      /Unknown limit "maxTask", must be one of .*maxTasks/,
    );
  });

  test.each([-1, Number.NaN, '5', null])('must be a number: %j', (maxTasks) => {
    expect(() => listen({ maxTasks })).toThrow('limits.maxTasks must be a number of at least 0');
  });
});

test('a result in the SDKs’ shape gets a hint, with content and without', async () => {
  const both = tool('both', () => ({ content: [], structuredContent: { n: 1 } }));
  const alone = tool('alone', () => ({ structuredContent: { n: 1 } }));
  const { peer } = await operate({ tools: [both, alone] });
  for (const name of ['both', 'alone']) {
    expect(textOf(await peer.call(name))).toBe(
      '"structuredContent" of a result is called "structured" here',
    );
  }
});

test.each([
  [{ q: z.string(), n: z.number() }, 'wrap it in z.object, as in z.object('],
  [{ q: v.string() }, 'wrap it in v.object'],
  [{ q: type('string') }, 'wrap it in type'],
])('a raw shape, as the official SDK takes it, is told how it is wrapped: %#', (shape, fault) => {
  for (const name of ['inputSchema', 'outputSchema']) {
    const define = () =>
      defineTool({ name: 'sum', description: 'Adds', [name]: shape, handler: () => '' } as never);
    expect(define).toThrow(TypeError);
    expect(define).toThrow(
      `The ${name} of the tool "sum" must be a schema, got an object of schemas: `,
    );
    expect(define).toThrow(fault);
  }
});
