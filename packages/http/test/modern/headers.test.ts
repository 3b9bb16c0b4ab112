import { createMcpServer, definePrompt, defineResource, defineTool } from 'mcp-actors';
import { expect, test } from 'vitest';
import { laboratory } from '../../../../examples/lab/laboratory.ts';
import { ask, callTool, request } from './modern-client.ts';
import type { ModernRequestOptions } from './modern-client.ts';
import { jsonOf } from '../raw-client.ts';
import { serveHttp } from '../serving.ts';

const headerMismatch = -32020;

const base64 = (text: string) => `=?base64?${Buffer.from(text).toString('base64')}?=`;

const refusals: readonly (readonly [
  what: string,
  ModernRequestOptions['headers'],
  fault: string,
])[] = [
  [
    'no revision',
    { 'mcp-protocol-version': undefined },
    'The header MCP-Protocol-Version must match "io.modelcontextprotocol/protocolVersion" in "_meta" ("2026-07-28"), got none',
  ],
  [
    'another revision than the body',
    { 'mcp-protocol-version': '2025-11-25' },
    'The header MCP-Protocol-Version must match "io.modelcontextprotocol/protocolVersion" in "_meta" ("2026-07-28"), got "2025-11-25"',
  ],
  [
    'a revision twice',
    { 'mcp-protocol-version': '2026-07-28, 2026-07-28' },
    'The header MCP-Protocol-Version must match "io.modelcontextprotocol/protocolVersion" in "_meta" ("2026-07-28"), got "2026-07-28, 2026-07-28"',
  ],
  [
    'no method',
    { 'mcp-method': undefined },
    'The header Mcp-Method must match the method ("tools/call"), got none',
  ],
  [
    'another method',
    { 'mcp-method': 'tools/list' },
    'The header Mcp-Method must match the method ("tools/call"), got "tools/list"',
  ],
  [
    'a method in other case',
    { 'mcp-method': 'TOOLS/CALL' },
    'The header Mcp-Method must match the method ("tools/call"), got "TOOLS/CALL"',
  ],
  [
    'no name',
    { 'mcp-name': undefined },
    'The header Mcp-Name must match "name" ("echo"), got none',
  ],
  [
    'another name',
    { 'mcp-name': 'slow' },
    'The header Mcp-Name must match "name" ("echo"), got "slow"',
  ],
  [
    'another name in base64',
    { 'mcp-name': base64('slow') },
    'The header Mcp-Name must match "name" ("echo"), got "slow"',
  ],
  [
    'a name in base64 without its padding',
    { 'mcp-name': '=?base64?ZWNobw?=' },
    'The header Mcp-Name must be base64 of UTF-8 text, got "=?base64?ZWNobw?="',
  ],
  [
    'a name in base64 that is not UTF-8',
    { 'mcp-name': '=?base64?/w==?=' },
    'The header Mcp-Name must be base64 of UTF-8 text, got "=?base64?/w==?="',
  ],
  [
    'a name of characters that no header may have',
    { 'mcp-name': '\u00e9cho' },
    'The header Mcp-Name must not contain control or non-ASCII characters; encode the value in base64',
  ],
];

test.each(refusals)(
  'rejects a request whose headers have %s [HMOD-02]',
  async (_, headers, fault) => {
    const url = await serveHttp(laboratory);
    const { status, error } = await callTool(url, 'echo', { message: 'hi' }, { headers });
    expect([status, error]).toEqual([
      400,
      { code: headerMismatch, message: `Header mismatch: ${fault}` },
    ]);
  },
);

test('accepts a base64-encoded name [HMOD-02]', async () => {
  const url = await serveHttp(laboratory);
  const headers = { 'mcp-name': base64('echo') };
  const { status, result } = await callTool(url, 'echo', { message: 'hi' }, { headers });
  expect([status, result?.['structuredContent']]).toEqual([200, { message: 'hi' }]);
});

test('accepts the URI of a resource with any characters [HMOD-02]', async () => {
  const uri = 'notes://Grüße,世界';
  const resource = defineResource({ uri, name: 'greeting', read: () => 'hello' });
  const server = createMcpServer({ name: 'notes', version: '1', resources: [resource] });
  const url = await serveHttp(server);
  const read = (name: string) =>
    ask(url, 'resources/read', { uri }, { headers: { 'mcp-name': name } });
  const answers = await Promise.all([read(base64(uri)), read(base64('notes://other'))]);
  expect(answers.map(({ status }) => status)).toEqual([200, 400]);
});

test('requires names of prompts and ids of tasks in Mcp-Name [HMOD-02]', async () => {
  const url = await serveHttp(laboratory);
  const headers = { 'mcp-name': 'other' };
  const answers = await Promise.all([
    ask(url, 'prompts/get', { name: 'some' }, { headers }),
    ...['get', 'cancel', 'update'].map((what) =>
      ask(url, `tasks/${what}`, { taskId: 'some' }, { headers }),
    ),
  ]);
  expect(answers.map(({ error }) => error?.message)).toEqual([
    'Header mismatch: The header Mcp-Name must match "name" ("some"), got "other"',
    ...['get', 'cancel', 'update'].map(
      () => 'Header mismatch: The header Mcp-Name must match "taskId" ("some"), got "other"',
    ),
  ]);
});

test('requires no parameter headers for a prompt named like a tool [HMOD-03]', async () => {
  const inputSchema = {
    type: 'object',
    properties: { region: { type: 'string', 'x-mcp-header': 'Region' } },
  } as const;
  const server = createMcpServer({
    name: 'namesakes',
    version: '1',
    tools: [defineTool({ name: 'same', description: 'A tool', inputSchema, handler: () => '' })],
    prompts: [
      definePrompt({
        name: 'same',
        description: 'A prompt',
        arguments: { region: { description: 'A region' } },
        get: ({ region = '' }) => region,
      }),
    ],
  });
  const url = await serveHttp(server);
  const args = { name: 'same', arguments: { region: 'north' } };
  expect((await ask(url, 'prompts/get', args)).status).toBe(200);
  expect((await ask(url, 'tools/call', args)).error?.code).toBe(headerMismatch);
});

test('requires no Mcp-Name for a request without a name [HMOD-02]', async () => {
  const url = await serveHttp(laboratory);
  const listed = await ask(url, 'tools/list');
  const unnamed = await ask(url, 'tools/call', {});
  expect([listed.status, unnamed.error?.code]).toEqual([200, -32602]);
  // Invalid params are rejected by the method, not by the header check.
  const numbered = await request(url, 'tools/call', { name: 7 });
  const unknown = await request(url, 'tools/call', { name: 'nothing' });
  for (const response of [numbered, unknown]) {
    expect((await jsonOf(response)).error?.code).toBe(-32602);
  }
});

const everyArgument = { text: 'hi', count: 42, flag: true, nested: { text: 'there' } };
const everyHeader = {
  'mcp-param-text': 'hi',
  'mcp-param-count': '42',
  'mcp-param-flag': 'true',
  'mcp-param-nested-text': 'there',
};

test.each<[string, object, ModernRequestOptions['headers']]>([
  ['each in its header', everyArgument, everyHeader],
  ['none at all', {}, {}],
  ['a text in base64', { text: ' hällo\n' }, { 'mcp-param-text': base64(' hällo\n') }],
  ['an empty text', { text: '' }, { 'mcp-param-text': '' }],
  [
    'what looks like base64 and is not marked so',
    { text: 'SGVsbG8=' },
    { 'mcp-param-text': 'SGVsbG8=' },
  ],
  ['the same integer, written otherwise', { count: -7 }, { 'mcp-param-count': '-7.0' }],
  ['a header that is no parameter', {}, { 'mcp-param-other': 'hi' }],
])('accepts mirrored tool parameters: %s [HMOD-03]', async (_, args, headers) => {
  const url = await serveHttp(laboratory);
  const { status, result } = await callTool(url, 'headers', { ...args }, { headers });
  expect([status, result?.['structuredContent']]).toEqual([200, { got: args }]);
});

test.each<[string, object, ModernRequestOptions['headers'], string]>([
  [
    'is missing',
    { text: 'hi' },
    {},
    'Mcp-Param-Text must match the argument text ("hi"), got none',
  ],
  [
    'differs',
    everyArgument,
    { ...everyHeader, 'mcp-param-nested-text': 'here' },
    'Mcp-Param-Nested-Text must match the argument nested.text ("there"), got "here"',
  ],
  [
    'differs as a number',
    { count: 42 },
    { 'mcp-param-count': '43' },
    'Mcp-Param-Count must match the argument count (42), got "43"',
  ],
  [
    'is no number',
    { count: 0 },
    { 'mcp-param-count': '' },
    'Mcp-Param-Count must match the argument count (0), got ""',
  ],
  [
    'is a number that another could be read as',
    { count: 2 ** 53 },
    { 'mcp-param-count': String(2 ** 53) },
    'Mcp-Param-Count must match the argument count (9007199254740992), got "9007199254740992"',
  ],
  [
    'differs as a boolean',
    { flag: true },
    { 'mcp-param-flag': 'True' },
    'Mcp-Param-Flag must match the argument flag (true), got "True"',
  ],
  [
    'is there for an argument that is not',
    {},
    { 'mcp-param-text': 'hi' },
    'Mcp-Param-Text must match the argument text (missing), got "hi"',
  ],
  [
    'is there for an argument that only an object’s prototype has',
    { nested: [] },
    { 'mcp-param-nested-text': 'hi' },
    'Mcp-Param-Nested-Text must match the argument nested.text (missing), got "hi"',
  ],
])('rejects a parameter whose header %s [HMOD-03]', async (_, args, headers, fault) => {
  const url = await serveHttp(laboratory);
  const { status, error } = await callTool(url, 'headers', { ...args }, { headers });
  expect([status, error]).toEqual([
    400,
    { code: headerMismatch, message: `Header mismatch: The header ${fault}` },
  ]);
});

test('requires no header for a null parameter [HMOD-03]', async () => {
  const url = await serveHttp(laboratory);
  const { status, result } = await callTool(url, 'headers', { text: null });
  // The tool's schema rejects null.
  expect([status, result?.['isError']]).toEqual([200, true]);
});

const object = (properties: object) => ({ type: 'object', properties }) as const;
const text = (name: unknown) => ({ type: 'string', 'x-mcp-header': name });

test.each<[string, object, string]>([
  ['no name', { a: text('') }, '"x-mcp-header" must be a valid HTTP header name, got ""'],
  [
    'a name with a line feed',
    { a: text('a\nb') },
    '"x-mcp-header" must be a valid HTTP header name, got "a\\nb"',
  ],
  ['a number for a name', { a: text(1) }, '"x-mcp-header" must be a valid HTTP header name, got 1'],
  [
    'a name twice',
    { a: text('Region'), b: object({ c: text('region') }) },
    '"x-mcp-header": "region" is declared twice, as "Region"',
  ],
  [
    'a number’s name',
    { a: { type: 'number', 'x-mcp-header': 'A' } },
    '"x-mcp-header": "A" is only allowed on a string, integer or boolean; "type" of a is "number"',
  ],
  [
    'the name of items',
    { a: { type: 'array', items: text('A') } },
    '"x-mcp-header": "A" is only allowed on properties reached through "properties"',
  ],
  [
    'the name of an alternative',
    { a: { anyOf: [{ type: 'null' }, text('A')] } },
    '"x-mcp-header": "A" is only allowed on properties reached through "properties"',
  ],
  [
    'the name of a definition',
    { a: { $defs: { b: object({ c: text('A') }) } } },
    '"x-mcp-header": "A" is only allowed on properties reached through "properties"',
  ],
])(
  'rejects the definition of a tool that declares %s as a header [HMOD-04]',
  (_, properties, fault) => {
    const define = () =>
      defineTool({
        name: 'tool',
        description: 'Some tool',
        inputSchema: object(properties),
        handler: () => 'done',
      });
    expect(define).toThrow(new TypeError(`The inputSchema of the tool "tool": ${fault}`));
  },
);

test('ignores header declarations within schema data or property names [HMOD-04]', () => {
  const properties = {
    a: { default: { 'x-mcp-header': '' } },
    'x-mcp-header': { type: 'string' },
  };
  const tool = { name: 'tool', description: 'Some tool', inputSchema: object(properties) };
  expect(defineTool({ ...tool, handler: () => 'done' }).name).toBe('tool');
});
