/** Where no code may be made of text, as in a worker: schemas are interpreted, and mean the same. */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { interpret } from '../../src/schema/interpreted.ts';
import type { JsonSchema, SchemaSide } from '../../src/schema/json-schema.ts';
import { SchemaCompiler } from '../../src/schema/validation.ts';

const nested: JsonSchema = {
  type: 'object',
  properties: {
    name: { type: 'string', minLength: 2, default: 'Ada' },
    at: { type: 'string', format: 'date-time' },
    format: { enum: ['short', 'long'] },
    tags: { type: 'array', items: { $ref: '#/$defs/tag' }, uniqueItems: true },
    size: {
      type: 'object',
      properties: { width: { type: 'integer', default: 1 }, 'a/b': { const: { format: 1 } } },
    },
    either: { anyOf: [{ type: 'number', minimum: 3 }, { type: 'null' }] },
  },
  allOf: [{ properties: { page: { type: 'integer', default: 7 } } }],
  required: ['tags'],
  additionalProperties: false,
  $defs: { tag: { type: 'string', pattern: '^[a-z]+$' } },
};
const open = { ...nested, additionalProperties: true };

const cases: readonly (readonly [what: string, schema: JsonSchema, value: unknown])[] = [
  ['all defaults', open, { tags: [], size: {} }],
  ['all given', open, { name: 'Bo', tags: ['a', 'b'], size: { width: 2 }, either: null, page: 1 }],
  ['a format that is not met', open, { tags: [], at: 'yesterday' }],
  ['a property that is called as a keyword', open, { tags: [], format: 'longer' }],
  ['what is missing', open, {}],
  ['what is too short', open, { tags: [], name: 'B' }],
  ['a pattern behind a reference', open, { tags: ['a', 'B'] }],
  ['the same twice', open, { tags: ['a', 'a'] }],
  ['none of several', open, { tags: [], either: 2 }],
  ['a name with a slash', open, { tags: [], size: { 'a/b': { format: 2 } } }],
  ['one too many', nested, { tags: [], page: 1 }],
  ['another type', open, 'text'],
  ['null', open, null],
];

test.each(cases)('%s is accepted, refused and filled in as ajv does', async (_, schema, value) => {
  const compiler = new SchemaCompiler();
  await compiler.load();
  for (const side of ['input', 'output'] as const satisfies readonly SchemaSide[]) {
    const [compiled, interpreted] = [structuredClone(value), structuredClone(value)];
    const faults = [
      compiler.compile(schema, side)(compiled),
      interpret(schema, side)(interpreted),
    ] as const;
    expect(faults[1] === undefined, faults.join(' | ')).toBe(faults[0] === undefined);
    if (faults[1] === undefined) expect(interpreted).toEqual(compiled);
  }
  // The validator keeps its notes elsewhere.
  expect(JSON.stringify(schema)).not.toContain('absolute');
});

test('what is wrong is said with its place', () => {
  const check = interpret({ ...nested, allOf: [] }, 'input');
  expect(check({ tags: ['B'], size: { width: 'x' }, more: 1 })).toBe(
    'tags.0: String does not match pattern; size.width: type "string" is invalid. Expected "integer"; the arguments must not have the property "more"',
  );
  expect(interpret({ required: ['a'] }, 'output')({})).toBe(
    'the result: does not have required property "a"',
  );
});

test('members that are undefined are not there', () => {
  const schema = { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] };
  expect(interpret(schema, 'output')({ a: undefined })).toContain('"a"');
});

const program = `
  import { createMcpServer, defineTool } from 'mcp-actors';
  import { testClient } from 'mcp-actors/testing';
  const greet = defineTool({
    name: 'greet',
    description: 'Greets',
    inputSchema: { type: 'object', properties: { who: { type: 'string', default: 'you' } } },
    handler: ({ who }) => 'Hello ' + who,
  });
  const client = await testClient(createMcpServer({ name: 's', version: '1', tools: [greet] }));
  for (const args of [{}, { who: 1 }]) console.log(JSON.stringify(await client.callTool('greet', args)));
  await client.close();
`;

test('a process in which nothing may be made of text calls tools', async () => {
  const flags = ['--disallow-code-generation-from-strings', '--input-type=module', '--eval'];
  const cwd = fileURLToPath(new URL('../..', import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, [...flags, program], { cwd });
  expect(stdout).toContain('Hello you');
  expect(stdout).toContain('who: type');
});
