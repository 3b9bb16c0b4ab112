/** What is wrong in a definition is said when it is defined, with the item and the member. JavaScript has no types to say it. */
import {
  createMcpServer,
  defineAppResource,
  defineForm,
  definePrompt,
  defineResource,
  defineResourceTemplate,
  defineSkill,
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
  [undefined, 'A tool must be an object with "name", got undefined'],
  [{ description: 'Adds', handler }, '"name" of a tool must be a string, got missing'],
  [{ name: 'sum', handler }, '"description" of the tool "sum" must be a string, got missing'],
  [named, '"handler" of the tool "sum" must be a function, got missing'],
  [{ ...named, handler: 'no' }, '"handler" of the tool "sum" must be a function, got "no"'],
  [{ ...named, execute: handler }, '"execute" of the tool "sum" is unknown: use "handler"'],
  [
    { ...named, handler, parameters: {} },
    '"parameters" of the tool "sum" is unknown: use "inputSchema"',
  ],
  [
    { ...named, handler, inputschema: {} },
    '"inputschema" of the tool "sum" is unknown: did you mean "inputSchema"?',
  ],
  [
    { ...named, handler, annotation: { readOnlyHint: true } },
    '"annotation" of the tool "sum" is unknown: did you mean "annotations"?',
  ],
  [
    { ...named, handler, requiredScopes: ['notes:write'] },
    '"requiredScopes" of the tool "sum" is unknown: use "scopes"',
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
])('rejects the tool definition %j', (item, message) => {
  expect(() => defineTool(item as never)).toThrow(message);
});

test('explains the required members if createMcpServer gets no argument', () => {
  expect(() => createMcpServer(undefined as never)).toThrow(
    'A server must be an object with "name", got undefined',
  );
});

test('allows unknown members in class instances and those unlike known members', () => {
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

test('rejects a cyclic schema', () => {
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
    '"load" of the resource "a://b" is unknown: use "read"',
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
    '"arguments" of the prompt "ask" must be an object of arguments by name, such as { city: { required: true } }, or a Standard Schema, got an array',
  ],
  [
    definePrompt,
    { name: 'ask', get: handler, arguments: { type: 'object', properties: {} } },
    'The argument "type" of the prompt "ask" must be an object, got "object". For a JSON Schema, pass its properties by name, or use a Standard Schema',
  ],
  [
    definePrompt,
    { name: 'ask', get: handler, arguments: z.string() },
    '"arguments" of the prompt "ask" must describe objects',
  ],
  [
    definePrompt,
    { name: 'ask', get: handler, arguments: z.union([z.object({}), z.object({ a: z.string() })]) },
    '"arguments" of the prompt "ask" must be a schema of an object with known members',
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
    '"inputSchema" of the prompt "ask" is unknown: use "arguments"',
  ],
  [
    definePrompt,
    { name: 'ask', get: handler, arguments: { city: true } },
    'The argument "city" of the prompt "ask" must be an object, got true',
  ],
  [
    defineResource,
    { uri: 'a://b', name: 'b', read: handler, mimetype: 'text/plain' },
    '"mimetype" of the resource "a://b" is unknown: did you mean "mimeType"?',
  ],
  [
    defineResourceTemplate,
    { uriTemplate: 'a://{b}', name: 'b', read: handler, completes: {} },
    '"completes" of the resource template "a://{b}" is unknown: did you mean "complete"?',
  ],
  [
    definePrompt,
    { name: 'ask', get: handler, argument: {} },
    '"argument" of the prompt "ask" is unknown: did you mean "arguments"?',
  ],
  [
    createMcpServer,
    { name: 'a', version: '1', tool: [] },
    '"tool" of the server "a" is unknown: did you mean "tools"?',
  ],
  [
    createMcpServer,
    { name: 'a', version: '1', onclose: handler },
    '"onclose" of the server "a" is unknown: did you mean "onClose"?',
  ],
  [
    createMcpServer,
    { name: 'a', version: '1', limits: {} },
    '"limits" of the server "a" is unknown: pass it to serve() or listen()',
  ],
  [createMcpServer, { version: '1' }, '"name" of a server must be a string, got missing'],
  [createMcpServer, { name: 'a' }, '"version" of the server "a" must be a string'],
  [
    createMcpServer,
    { name: 'a', version: '1', tools: { sum: named } },
    'The tools of a server must be a list, got an object',
  ],
  [
    createMcpServer,
    { name: 'a', version: '1', tools: [{ ...named, execute: handler }] },
    '"execute" of the tool "sum" is unknown: use "handler"',
  ],
  [
    createMcpServer,
    { name: 'a', version: '1', tools: [{ ...named, handler }] },
    'The tool "sum" must be created with defineTool',
  ],
  [
    createMcpServer,
    {
      name: 'a',
      version: '1',
      resourceTemplates: [{ uriTemplate: 'a://{b}', name: 'b', read: handler }],
    },
    'The resource template "a://{b}" must be created with defineResourceTemplate',
  ],
])('rejects invalid input of %o: %j', (define, item, message) => {
  expect(() => define(item as never)).toThrow(message);
});

test('validates items added at run time', () => {
  const server = createMcpServer({ name: 'a', version: '1', prompts: [] });
  const { prompts } = server;
  expect(() => prompts.add({ name: 'ask', get: 'text' } as never)).toThrow(
    '"get" of the prompt "ask" must be a function, got "text"',
  );
});

describe('limits of a session', () => {
  const listen = (limits: object) =>
    createMcpServer({ name: 'a', version: '1' }).listen(memory().transport, { limits });

  test('are rejected by name if unknown, with the known ones', () => {
    expect(() => listen({ maxTask: 1 })).toThrow(
      /Unknown limit "maxTask", must be one of .*maxTasks/,
    );
  });

  test.each([-1, Number.NaN, '5', null])('are rejected unless they are numbers: %j', (maxTasks) => {
    expect(() => listen({ maxTasks })).toThrow('limits.maxTasks must be a number of at least 0');
  });
});

test('hints at "structured" for a result with structuredContent', async () => {
  const both = tool('both', () => ({ content: [], structuredContent: { n: 1 } }));
  const alone = tool('alone', () => ({ structuredContent: { n: 1 } }));
  const { peer } = await operate({ tools: [both, alone] });
  for (const name of ['both', 'alone']) {
    expect(textOf(await peer.call(name))).toBe(
      '"structuredContent" of a tool result is unknown: use "structured"',
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

/** The function at the top of the error's stack. */
function firstFrame(define: () => unknown): string | undefined {
  try {
    define();
  } catch (error) {
    return /^\s+at (?:Object\.)?(\S+)/m.exec((error as Error).stack ?? '')?.[1];
  }
  return undefined;
}

test.each<[string, (given: never) => unknown]>([
  ['defineTool', defineTool],
  ['definePrompt', definePrompt],
  ['defineResource', defineResource],
  ['defineResourceTemplate', defineResourceTemplate],
  ['defineAppResource', defineAppResource],
  ['defineSkill', defineSkill],
  ['defineForm', defineForm],
  ['createMcpServer', createMcpServer],
])('the stack of an error of %s begins at its caller', (_, define) => {
  function author(): unknown {
    return define({ name: 5 } as never);
  }
  expect(firstFrame(author)).toBe('author');
});
