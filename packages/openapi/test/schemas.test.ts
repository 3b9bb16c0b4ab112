/**
 * Schemas and texts of tools: request and response sides, OpenAPI dialects, and documents with
 * mistakes.
 */
import { describe, expect, test } from 'vitest';
import { documentOf, serveTools } from './shop.ts';

const json = (schema: object) => ({ content: { 'application/json': { schema } } });
const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` });

/** An operation with one schema for its request and response. */
function mirror(schema: object, schemas: object = {}, more: object = {}): object {
  const post = {
    operationId: 'mirror',
    requestBody: { required: true, ...json(schema) },
    responses: { 200: { description: 'ok', ...json(schema) } },
  };
  return documentOf({ '/a': { post } }, { components: { schemas }, ...more });
}

describe('schema shared by request and response', () => {
  const properties = {
    id: { type: 'integer', readOnly: true },
    name: { type: 'string' },
    secret: { type: 'string', writeOnly: true },
  };
  const pet = { type: 'object', required: ['id', 'name', 'secret'], properties };

  test.each([
    ['itself', pet, {}],
    ['a reference', ref('Pet'), { Pet: pet }],
    [
      'properties that are references',
      ref('Pet'),
      {
        Pet: { ...pet, properties: { ...properties, id: ref('Id') } },
        Id: { type: 'integer', readOnly: true },
      },
    ],
    [
      'properties of allOf',
      ref('Pet'),
      {
        Pet: { ...pet, properties: { ...properties, id: { allOf: [ref('Id')], readOnly: true } } },
        Id: { type: 'integer' },
      },
    ],
    [
      'requirements beside the schema with the properties',
      { allOf: [ref('Base'), { required: ['id', 'name', 'secret'] }] },
      { Base: { type: 'object', properties } },
    ],
    [
      'requirements in a schema of their own',
      { allOf: [ref('Base'), ref('All')] },
      { Base: { type: 'object', properties }, All: { required: ['id', 'name', 'secret'] } },
    ],
  ])(
    'requires readOnly members in responses only and writeOnly ones in arguments only: %s',
    async (_, schema, schemas) => {
      const { asked, client } = await serveTools(mirror(schema, schemas), () => ({
        body: '{"id":1,"name":"a"}',
      }));
      const { isError, structured } = await client.callTool('mirror', {
        body: { name: 'a', secret: 's' },
      });
      expect(isError).toBe(false);
      expect(structured).toEqual({ id: 1, name: 'a' });
      expect(asked[0]?.body).toBe('{"name":"a","secret":"s"}');
      const lacking = await client.callTool('mirror', { body: { name: 'a' } });
      expect([lacking.isError, asked.length]).toEqual([true, 1]);
    },
  );

  test('hides readOnly members in arguments, including those in lists', async () => {
    const { toolOf } = await serveTools(mirror({ type: 'array', items: ref('Pet') }, { Pet: pet }));
    const { $defs } = toolOf('mirror')!.inputSchema as unknown as { $defs: object };
    expect($defs).toEqual({
      Pet: {
        type: 'object',
        required: ['name', 'secret'],
        properties: { name: { type: 'string' }, secret: { type: 'string' } },
      },
    });
  });

  test('leaves defaults to the API: calls do not send defaults the model did not set', async () => {
    const schema = {
      type: 'object',
      properties: { status: { type: 'string', default: 'new', description: 'A status.' } },
    };
    const { asked, client, toolOf } = await serveTools(mirror(schema), () => ({ body: '{}' }));
    await client.callTool('mirror', { body: {} });
    expect(asked[0]?.body).toBe('{}');
    expect(toolOf('mirror')?.inputSchema).toMatchObject({
      properties: { body: { properties: { status: { description: 'A status. Default: "new"' } } } },
    });
  });
});

describe('schema with a mistake', () => {
  /** Calls an operation with a value; returns the value that arrived and the warnings. */
  async function sent(schema: object, value: unknown) {
    const { asked, client, warnings } = await serveTools(
      mirror({ type: 'object', properties: { value: schema } }),
      () => ({ body: JSON.stringify({ value }) }),
    );
    const { isError, text } = await client.callTool('mirror', { body: { value } as never });
    return { isError, text, asked, warnings: warnings.map(({ message }) => message) };
  }

  test.each([
    [String.raw`^[\w\-\.]+$`, 'a-b.c', 'a b'],
    [String.raw`^[\w-.]+$`, 'a-b.c', 'a b'],
    [String.raw`^\d{3}\-\d{2}$`, '123-45', '12345'],
    [String.raw`^[^\s\@]+\@[a-z\-]+$`, 'a@b-c', 'a b'],
    ['^{id}$', '{id}', 'id'],
    [String.raw`^\"x\"$`, '"x"', 'x'],
    [String.raw`^a\_b$`, 'a_b', 'ab'],
  ])('supports the ECMA-262 5.1 pattern %s', async (pattern, good, bad) => {
    const accepted = await sent({ type: 'string', pattern }, good);
    expect([accepted.isError, accepted.warnings]).toEqual([false, []]);
    const refused = await sent({ type: 'string', pattern }, bad);
    expect([refused.isError, refused.asked.length]).toEqual([true, 0]);
  });

  test.each([
    ['pattern', { type: 'string', pattern: String.raw`\A\w+\Z` }, 'a'],
    ['pattern', { type: 'string', pattern: '(' }, 'a'],
    ['pattern', { type: 'string', pattern: String.raw`(a)\1` }, 'b'],
    ['pattern', { type: 'string', pattern: 7 }, 'a'],
    ['type', { type: 'any' }, 7],
    ['type', { type: ['string', 'date'] }, 7],
    ['required', { type: 'string', required: true }, 'a'],
    ['minimum', { type: 'integer', minimum: '0' }, -1],
    ['maxLength', { type: 'string', maxLength: null }, 'a'],
    ['enum', { type: 'string', enum: 'a' }, 'b'],
    ['items', { type: 'array', items: [{ type: 'string' }] }, [7]],
    ['items', { type: 'array', items: 'string' }, [7]],
    ['properties', { type: 'object', properties: ['a'] }, { a: 1 }],
    ['properties/a', { type: 'object', properties: { a: 'string' } }, { a: 1 }],
    [
      'patternProperties/(',
      { type: 'object', patternProperties: { '(': { type: 'string' } } },
      { a: 1 },
    ],
    ['additionalProperties', { type: 'object', additionalProperties: 'string' }, { a: 1 }],
    ['allOf', { allOf: {} }, 7],
    ['oneOf', { oneOf: [] }, 7],
    ['anyOf', { anyOf: ['string'] }, 7],
    ['$ref', { $ref: 7 }, 7],
    ['multipleOf', { type: 'number', multipleOf: '2' }, 3],
    ['$dynamicRef', { $dynamicRef: '#node' }, 7],
    ['dependencies', { dependencies: { a: 7 } }, { a: 1 }],
  ])('drops and reports the keyword %s: %j', async (keyword, schema, value) => {
    const { isError, text, asked, warnings } = await sent(schema, value);
    expect([isError, text]).toEqual([false, JSON.stringify({ value })]);
    expect(JSON.parse(asked[0]?.body ?? '')).toEqual({ value });
    // Once for the request and once for the response.
    expect(warnings).toHaveLength(2);
    for (const message of warnings) expect(message).toContain(JSON.stringify(keyword));
  });

  test('costs the output schema if in a response, and the operation if in a request', async () => {
    const lost = { $ref: '#/components/schemas/Lost' };
    const { tools, unusable, warnings } = await serveTools(
      documentOf({
        '/a': {
          get: { operationId: 'reads', responses: { 200: { description: '', ...json(lost) } } },
          post: { operationId: 'writes', requestBody: json(lost), responses: {} },
        },
      }),
    );
    expect(tools.map(({ name, outputSchema }) => [name, outputSchema])).toEqual([
      ['reads', undefined],
    ]);
    expect(warnings.map(({ name }) => name)).toEqual(['schema.keywordIgnored']);
    expect(unusable).toEqual([
      { operation: 'POST /a', reason: 'reference "#/components/schemas/Lost" has no target' },
    ]);
  });
});

describe('null', () => {
  const pet = { type: 'object', properties: { name: { type: 'string' } } };

  test.each([
    ['beside a type', { type: 'string', nullable: true }],
    ['beside an enum without it', { type: 'string', enum: ['a'], nullable: true }],
    ['beside an enum with it', { type: 'string', enum: ['a', null], nullable: true }],
    ['beside allOf', { nullable: true, allOf: [ref('Pet')] }],
    ['beside allOf and a type', { type: 'object', nullable: true, allOf: [ref('Pet')] }],
    ['beside oneOf', { nullable: true, oneOf: [ref('Pet'), { type: 'string' }] }],
    ['beside a reference', { $ref: '#/components/schemas/Pet', nullable: true }],
    ['in a referenced schema', ref('Nullable')],
  ])('accepts null for nullable %s, in requests and responses', async (_, schema) => {
    const schemas = { Pet: pet, Nullable: { ...pet, nullable: true } };
    const whole = { type: 'object', required: ['value'], properties: { value: schema } };
    const { asked, client } = await serveTools(mirror(whole, schemas), () => ({
      body: '{"value":null}',
    }));
    const { isError, structured } = await client.callTool('mirror', { body: { value: null } });
    expect([isError, structured]).toEqual([false, { value: null }]);
    expect(asked[0]?.body).toBe('{"value":null}');
    expect((await client.callTool('mirror', { body: { value: 7 } })).isError).toBe(true);
  });

  test('accepts null as the response of a nullable object', async () => {
    const { client } = await serveTools(mirror({ ...pet, nullable: true }), () => ({
      body: 'null',
    }));
    const { isError, structured } = await client.callTool('mirror', { body: {} });
    expect([isError, structured]).toEqual([false, { result: null }]);
  });
});

describe('reference', () => {
  test('resolves a reference to an anchor', async () => {
    const { asked, client } = await serveTools(
      mirror(
        { $ref: '#Pet' },
        { Animal: { $anchor: 'Pet', type: 'object', required: ['name'] } },
        { openapi: '3.1.0' },
      ),
      () => ({ body: '{"name":"a"}' }),
    );
    expect((await client.callTool('mirror', { body: {} })).isError).toBe(true);
    expect((await client.callTool('mirror', { body: { name: 'a' } })).isError).toBe(false);
    expect(asked).toHaveLength(1);
  });

  test('gives parts with similar names distinct definitions', async () => {
    const properties = { a: ref('A%20B'), b: ref('A_20B') };
    const { client } = await serveTools(
      mirror(
        { type: 'object', properties },
        { 'A B': { type: 'string' }, A_20B: { type: 'integer' } },
      ),
      () => ({ body: '{}' }),
    );
    expect((await client.callTool('mirror', { body: { a: 'x', b: 1 } })).isError).toBe(false);
    expect((await client.callTool('mirror', { body: { a: 1 } })).isError).toBe(true);
  });

  test('keeps a property named like a keyword', async () => {
    const properties = Object.fromEntries(
      ['example', 'nullable', 'type', 'readOnly', 'required', '$ref2', 'xml', 'pattern'].map(
        (name) => [name, { type: 'string' }],
      ),
    );
    const { toolOf, warnings } = await serveTools(mirror({ type: 'object', properties }));
    expect(toolOf('mirror')?.inputSchema).toMatchObject({ properties: { body: { properties } } });
    expect(warnings).toEqual([]);
  });
});

describe('description text', () => {
  async function textsOf(description: string, summary = '') {
    const { toolOf } = await serveTools(
      documentOf({ '/a': { get: { operationId: 'a', summary, description, responses: {} } } }),
    );
    const { title, description: text } = toolOf('a')!;
    return { title, text };
  }

  test.each([
    [
      'Orders whose total is < 100 and whose age is > 30 days.',
      'Orders whose total is < 100 and whose age is > 30 days.',
    ],
    ['if a<b and c>d.', 'if a<b and c>d.'],
    ['Use <id> or <pet-name>.', 'Use <id> or <pet-name>.'],
    ['a List<String> of i < n, p>q.', 'a List<String> of i < n, p>q.'],
    ['<p>One <b>bold</b>.</p><br/>Two.<!-- no -->', 'One bold. Two.'],
    ['See <a href="https://h.example/x?a=1" target=_blank>the page</a>.', 'See the page.'],
    ['[The docs](https://h.example/x "t") and array[0](x).', 'The docs and array[0](x).'],
  ])('removes only markup from a description: %s', async (description, expected) => {
    expect((await textsOf(description)).text).toBe(expected);
  });

  test('removes control, bidirectional and invisible characters', async () => {
    const foul = 'Del\u001b[2Jete\u202e it\u0007\u2066\u{e0041}\u009b';
    expect(await textsOf(foul, foul)).toEqual({ title: 'Del[2Jete it', text: 'Del[2Jete it.' });
    const { toolOf } = await serveTools(
      mirror({
        type: 'object',
        title: foul,
        properties: { a: { type: 'string', title: foul, description: foul } },
      }),
    );
    const listed = toolOf('mirror');
    expect(JSON.stringify(listed)).not.toMatch(/\\u|\u202e|\u2066/);
  });
});

describe('tool name', () => {
  const operation = (operationId?: string) => ({
    ...(operationId === undefined ? {} : { operationId }),
    responses: {},
  });

  test('adds a digest to a tool name only on a collision, with a warning', async () => {
    const paths = {
      '/a': {
        get: operation('issues/list-for-repo'),
        post: operation('same'),
        put: operation('x/y'),
      },
      '/b': { get: operation('same'), post: operation('x_y'), put: operation() },
    };
    const { tools, warnings } = await serveTools(documentOf(paths));
    const names = tools.map(({ name }) => name.replace(/_[0-9a-f]{8}$/, '_#'));
    expect(names).toEqual(['issues_list-for-repo', 'x_y_#', 'same_#', 'same_#', 'put_b', 'x_y_#']);
    expect(new Set(tools.map(({ name }) => name)).size).toBe(6);
    expect(warnings.map(({ name, message }) => [name, message])).toEqual([
      [
        'tool.nameCollision',
        '"x_y" would name several operations, so each name gets a digest: PUT /a, POST /b',
      ],
      [
        'tool.nameCollision',
        '"same" would name several operations, so each name gets a digest: POST /a, GET /b',
      ],
    ]);
  });

  test('names tools independently of the order of operations and of filters', async () => {
    const document = (paths: object) => documentOf(paths);
    const a = { '/a': { get: operation('same') } };
    const b = { '/b': { get: operation('same') } };
    const namesOf = async (paths: object, include?: readonly string[]) => {
      const { tools } = await serveTools(document(paths), undefined, include ? { include } : {});
      return tools.map(({ name }) => name);
    };
    const both = await namesOf({ ...a, ...b });
    expect(await namesOf({ ...b, ...a })).toEqual(both.toReversed());
    expect(await namesOf({ ...a, ...b }, ['/a'])).toEqual(both.slice(0, 1));
  });

  test('truncates a tool name that is too long', async () => {
    const { tools } = await serveTools(
      documentOf({
        '/a': { get: operation('a'.repeat(70)), put: operation('b'.repeat(70)) },
        '/b': { get: operation(`${'b'.repeat(69)}c`), put: operation('日本') },
      }),
    );
    expect(tools.map(({ name }) => name.replace(/_[0-9a-f]{8}$/, '_#'))).toEqual([
      'a'.repeat(64),
      `${'b'.repeat(55)}_#`,
      `${'b'.repeat(55)}_#`,
      'operation',
    ]);
  });
});
