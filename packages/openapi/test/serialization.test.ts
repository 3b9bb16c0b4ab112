/** Requests as received: parameters of each style and location, and bodies of each media type. */
import type { JsonObject } from 'mcp-actors';
import { describe, expect, test } from 'vitest';
import { documentOf, serveTools } from './shop.ts';

const text = { type: 'string' };
const list = { type: 'array', items: text };
const map = { type: 'object', additionalProperties: text };

/** Sends a value through an operation with one parameter. */
async function sentParameter(parameter: object, value: unknown, path = '/a') {
  const document = documentOf({
    [path]: { get: { operationId: 'a', parameters: [parameter], responses: {} } },
  });
  const { asked, client } = await serveTools(document);
  const { name } = parameter as { readonly name: string };
  const result = await client.callTool('a', { [name]: value } as never);
  return { result, request: asked[0], url: asked[0]?.url.replace('/v1', '') };
}

/** Sends a value as the body of an operation. */
async function sentBody(
  mediaType: string,
  schema: object,
  value: unknown,
  encoding = {},
  more = {},
) {
  const content = { [mediaType]: { schema, encoding } };
  const document = documentOf(
    { '/a': { post: { operationId: 'a', requestBody: { content }, responses: {} } } },
    more,
  );
  const { asked, client } = await serveTools(document);
  const result = await client.callTool('a', { body: value } as never);
  return { result, request: asked[0], body: asked[0]?.body };
}

describe('query parameter', () => {
  const query = (schema: object, more: object = {}) => ({
    name: 'q',
    in: 'query',
    schema,
    ...more,
  });
  const colors = ['blue', 'b k', 'r,n'];
  const rgb = { R: '100', 'G&': '2 0' };

  test.each([
    [query(text), 'a b&c=d/e?é', '?q=a%20b%26c%3Dd%2Fe%3F%C3%A9'],
    [query(text), '100%25', '?q=100%2525'],
    [query(text), '', '?q='],
    [query(text), "!'()*", '?q=%21%27%28%29%2A'],
    [query(text), '\ud800x', '?q=%EF%BF%BDx'],
    [query({ type: 'integer' }), 0, '?q=0'],
    [query({ type: 'boolean' }), false, '?q=false'],
    [query({ type: 'string', nullable: true }), null, ''],
    [query(list), colors, '?q=blue&q=b%20k&q=r%2Cn'],
    [query(list), [], ''],
    [query(list, { explode: false }), colors, '?q=blue,b%20k,r%2Cn'],
    [query(list, { style: 'spaceDelimited', explode: false }), colors, '?q=blue%20b%20k%20r%2Cn'],
    [query(list, { style: 'pipeDelimited', explode: false }), colors, '?q=blue%7Cb%20k%7Cr%2Cn'],
    [query(list, { style: 'pipeDelimited', explode: true }), colors, '?q=blue&q=b%20k&q=r%2Cn'],
    [query(map), rgb, '?R=100&G%26=2%200'],
    [query(map, { explode: false }), rgb, '?q=R,100,G%26,2%200'],
    [query(map, { style: 'deepObject', explode: true }), rgb, '?q[R]=100&q[G%26]=2%200'],
    [
      query({ type: 'object' }, { style: 'deepObject' }),
      { a: { b: [1, 2] }, c: null },
      '?q[a][b][]=1&q[a][b][]=2',
    ],
    [query(text, { allowReserved: true }), 'a/b?c=d#e&f+g é', '?q=a/b?c=d%23e%26f%2Bg%20%C3%A9'],
    [query(list, { allowReserved: true, explode: false }), ['a/b', 'c:d'], '?q=a/b,c:d'],
    [query(list, { allowReserved: true }), ['a/b', 'c:d'], '?q=a/b&q=c:d'],
    [query(text, { name: 'filter[a,b]' }), 'x', '?filter%5Ba%2Cb%5D=x'],
  ])(
    'serializes the query parameter %j as OpenAPI specifies: %j',
    async (parameter, value, expected) => {
      expect((await sentParameter(parameter, value)).url).toBe(`/a${expected}`);
    },
  );

  test.each([
    ['text/plain', text, 'a b', '?q=a%20b'],
    ['application/json', text, 'a b', '?q=%22a%20b%22'],
    ['application/json', map, { a: 'b' }, '?q=%7B%22a%22%3A%22b%22%7D'],
    ['application/problem+json', list, ['a'], '?q=%5B%22a%22%5D'],
  ])('sends a parameter in %s in that media type', async (type, schema, value, expected) => {
    const parameter = { name: 'q', in: 'query', content: { [type]: { schema } } };
    expect((await sentParameter(parameter, value)).url).toBe(`/a${expected}`);
  });
});

describe('path with its own query or fragment', () => {
  test.each([
    ['/a?Action=List', '/a?Action=List&q=x'],
    ['/a#list', '/a?q=x'],
    ['/a?b=1#c', '/a?b=1&q=x'],
  ])('keeps the query of the path %s beside the parameters', async (path, expected) => {
    const parameter = { name: 'q', in: 'query', schema: text };
    expect((await sentParameter(parameter, 'x', path)).url).toBe(expected);
  });
});

describe('path parameter', () => {
  const path = (schema: object, more: object = {}) => ({
    ...{ name: 'p', in: 'path', required: true, schema },
    ...more,
  });
  const colors = ['blue', 'b/k'];
  const rgb = { R: '1', 'G/': '2' };

  test.each([
    [path(text), 'a/b c', '/a/a%2Fb%20c'],
    [path(text), '$&', '/a/%24%26'],
    [path(list), colors, '/a/blue,b%2Fk'],
    [path(map), rgb, '/a/R,1,G%2F,2'],
    [path(map, { explode: true }), rgb, '/a/R=1,G%2F=2'],
    [path(text, { style: 'label' }), 'x', '/a/.x'],
    [path(list, { style: 'label', explode: true }), colors, '/a/.blue.b%2Fk'],
    [path(list, { style: 'label' }), colors, '/a/.blue,b%2Fk'],
    [path(map, { style: 'label', explode: true }), rgb, '/a/.R=1.G%2F=2'],
    [path(text, { style: 'matrix' }), 'x', '/a/;p=x'],
    [path(list, { style: 'matrix' }), colors, '/a/;p=blue,b%2Fk'],
    [path(list, { style: 'matrix', explode: true }), colors, '/a/;p=blue;p=b%2Fk'],
    [path(map, { style: 'matrix' }), rgb, '/a/;p=R,1,G%2F,2'],
    [path(map, { style: 'matrix', explode: true }), rgb, '/a/;R=1;G%2F=2'],
    [
      path({}, { schema: undefined, content: { 'text/plain': { schema: text } } }),
      'x y',
      '/a/x%20y',
    ],
  ])(
    'serializes the path parameter %j as OpenAPI specifies: %j',
    async (parameter, value, expected) => {
      expect((await sentParameter(parameter, value, '/a/{p}')).url).toBe(expected);
    },
  );

  test.each(['x/../../admin', '..\\x', '..%2f..%2fadmin'])(
    'keeps the path argument %j inside the path',
    async (value) => {
      const { request } = await sentParameter(path(text), value, '/a/{p}');
      // Either refused, or a single segment however often it is decoded.
      expect(request?.url ?? '/v1/a/').toMatch(/^\/v1\/a\/[^/]*$/);
    },
  );
});

describe('header or cookie parameter', () => {
  test.each([
    ['header', list, {}, ['t', 'u'], 't,u'],
    ['header', map, {}, { a: 'b', c: 'd e' }, 'a,b,c,d e'],
    ['header', map, { explode: true }, { a: 'b' }, 'a=b'],
    ['header', { type: 'integer' }, {}, 7, '7'],
    ['header', {}, { schema: undefined, content: { 'text/plain': { schema: text } } }, 'x', 'x'],
    [
      'header',
      {},
      { schema: undefined, content: { 'application/json': { schema: map } } },
      { a: 'b' },
      '{"a":"b"}',
    ],
    ['cookie', text, {}, 'c;d', 'X-P=c%3Bd'],
    ['cookie', list, { explode: false }, ['1', '2'], 'X-P=1,2'],
    ['cookie', list, {}, ['1', '2'], 'X-P=1; X-P=2'],
  ])(
    'serializes a parameter as OpenAPI specifies: %s %j %j',
    async (place, schema, more, value, expected) => {
      const { request } = await sentParameter({ name: 'X-P', in: place, schema, ...more }, value);
      expect(request?.headers[place === 'cookie' ? 'cookie' : 'x-p']).toBe(expected);
    },
  );

  test('rejects line breaks in a header', async () => {
    const { result, request } = await sentParameter(
      { name: 'X-P', in: 'header', schema: text },
      'a\nb: c',
    );
    expect([result.isError, request]).toEqual([true, undefined]);
  });
});

describe('parameters of the same name', () => {
  test('gives parameters of the same name separate arguments', async () => {
    const parameter = (name: string, place: string) => ({
      name,
      in: place,
      required: true,
      schema: text,
    });
    const { asked, client, toolOf } = await serveTools(
      documentOf({
        '/a/{id}': {
          get: {
            operationId: 'a',
            parameters: [
              parameter('query_id', 'query'),
              parameter('id', 'path'),
              parameter('id', 'query'),
              parameter('id', 'header'),
            ],
            responses: {},
          },
        },
      }),
    );
    expect((toolOf('a')!.inputSchema as JsonObject)['required']).toEqual([
      'query_id',
      'id',
      'query_id_2',
      'header_id',
    ]);
    await client.callTool('a', { query_id: '1', id: '2', query_id_2: '3', header_id: '4' });
    expect([asked[0]?.url, asked[0]?.headers['id']]).toEqual(['/v1/a/2?query_id=1&id=3', '4']);
  });
});

describe('collectionFormat of Swagger 2.0', () => {
  test.each([
    ['query', undefined, '/v1/a?p=x%20y,z'],
    ['query', 'csv', '/v1/a?p=x%20y,z'],
    ['query', 'ssv', '/v1/a?p=x%20y%20z'],
    ['query', 'tsv', '/v1/a?p=x%20y%09z'],
    ['query', 'pipes', '/v1/a?p=x%20y%7Cz'],
    ['query', 'multi', '/v1/a?p=x%20y&p=z'],
    ['path', 'csv', '/v1/a/x%20y,z'],
    ['path', 'ssv', '/v1/a/x%20y%20z'],
    ['path', 'tsv', '/v1/a/x%20y%09z'],
    ['path', 'pipes', '/v1/a/x%20y%7Cz'],
    ['header', 'csv', 'x y,z'],
    ['header', 'ssv', 'x y z'],
    ['header', 'tsv', 'x y\tz'],
    ['header', 'pipes', 'x y|z'],
    ['formData', 'csv', 'p=x%20y,z'],
    ['formData', 'tsv', 'p=x%20y%09z'],
    ['formData', 'pipes', 'p=x%20y%7Cz'],
    ['formData', 'multi', 'p=x%20y&p=z'],
  ])('serializes a list in %s as %s', async (place, collectionFormat, expected) => {
    const parameter = {
      ...{ name: 'p', in: place, required: true, type: 'array', items: { type: 'string' } },
      collectionFormat,
    };
    const operation = { operationId: 'a', parameters: [parameter], responses: {} };
    const { asked, client } = await serveTools({
      swagger: '2.0',
      info: { title: 't', version: '1' },
      consumes: ['application/x-www-form-urlencoded'],
      paths: { [place === 'path' ? '/a/{p}' : '/a']: { post: operation } },
    });
    const value = ['x y', 'z'];
    await client.callTool('a', place === 'formData' ? { body: { p: value } } : { p: value });
    const [request] = asked;
    const { [place]: found = request?.url } = {
      header: request?.headers['p'],
      formData: request?.body,
    };
    expect(found).toBe(expected);
  });
});

describe('urlencoded form', () => {
  const type = 'application/x-www-form-urlencoded';

  test.each([
    [list, { f: ['a b', 'c'] }, {}, 'f=a%20b&f=c'],
    [list, { f: ['a b', 'c'] }, { f: { explode: false } }, 'f=a%20b,c'],
    [list, { f: ['a', 'c'] }, { f: { style: 'pipeDelimited', explode: false } }, 'f=a%7Cc'],
    [list, { f: ['a', 'c'] }, { f: { style: 'spaceDelimited', explode: false } }, 'f=a%20c'],
    [map, { f: { a: 'b', c: 'd' } }, {}, 'f=%7B%22a%22%3A%22b%22%2C%22c%22%3A%22d%22%7D'],
    [map, { f: { a: 'b', c: 'd' } }, { f: { style: 'deepObject' } }, 'f[a]=b&f[c]=d'],
    [map, { f: { a: 'b', c: 'd' } }, { f: { style: 'form' } }, 'a=b&c=d'],
    [map, { f: { a: 'b', c: 'd' } }, { f: { explode: false } }, 'f=a,b,c,d'],
    [text, { f: 'a/b' }, { f: { allowReserved: true } }, 'f=a/b'],
    [{ type: 'string', nullable: true }, { f: null, g: '1' }, {}, 'g=1'],
  ])('serializes a form by its encoding: %j %j %j', async (schema, value, encoding, expected) => {
    const whole = { type: 'object', properties: { f: schema, g: text } };
    const { body, request } = await sentBody(type, whole, value, encoding);
    expect([body, request?.headers['content-type']]).toEqual([expected, type]);
  });
});

describe('multipart form', () => {
  const type = 'multipart/form-data';
  const file = { type: 'string', format: 'binary' };
  const base64 = Buffer.from([0, 255, 13, 10]).toString('base64');

  /** Parts as received: header lines and content. */
  async function parts(schema: object, value: unknown, encoding: object = {}, more: object = {}) {
    const { request, result } = await sentBody(type, schema, value, encoding, more);
    expect(result.isError).toBe(false);
    const [, boundary = ''] =
      /^multipart\/form-data; boundary=(\S+)$/.exec(request?.headers['content-type'] ?? '') ?? [];
    const raw = request!.bytes.toString('latin1');
    expect(raw.endsWith(`--${boundary}--\r\n`)).toBe(true);
    return raw
      .split(`--${boundary}`)
      .slice(1, -1)
      .map((part) => {
        const [head = '', ...content] = part.slice(2, -2).split('\r\n\r\n');
        return [...head.split('\r\n'), content.join('\r\n\r\n')];
      });
  }
  const named = (name: string, rest = '') =>
    `Content-Disposition: form-data; name="${name}"${rest}`;
  const object = (properties: object) => ({ type: 'object', properties });

  test('sends JSON parts without a file name, and no part for null', async () => {
    const schema = object({
      meta: { type: 'object' },
      note: { type: 'string', nullable: true },
      count: { type: 'integer' },
      tags: list,
    });
    const value = { meta: { a: 'é' }, note: null, count: 0, tags: ['x', 'y'] };
    expect(await parts(schema, value)).toEqual([
      [
        named('meta'),
        'Content-Type: application/json',
        Buffer.from('{"a":"é"}').toString('latin1'),
      ],
      [named('count'), '0'],
      [named('tags'), 'x'],
      [named('tags'), 'y'],
    ]);
  });

  test.each([
    ['3.0.3', file],
    ['3.0.3', { ...file, nullable: true }],
    ['3.1.0', { type: ['string', 'null'], format: 'binary' }],
    ['3.1.0', { anyOf: [file, { type: 'null' }] }],
    ['3.1.0', { type: ['string', 'null'], contentMediaType: 'application/octet-stream' }],
    ['3.0.3', { $ref: '#/components/schemas/Upload' }],
  ])('uploads a file, nullable or not: %s %j', async (openapi, schema) => {
    const components = { schemas: { Upload: { ...file, nullable: true } } };
    const value = { f: { base64, filename: 'a"b.bin', mimeType: 'image/png' } };
    expect(await parts(object({ f: schema }), value, {}, { openapi, components })).toEqual([
      [named('f', '; filename="a%22b.bin"'), 'Content-Type: image/png', '\0\u00ff\r\n'],
    ]);
  });

  test('uploads several files, and none for null', async () => {
    const schema = object({ fs: { type: 'array', items: file }, f: { ...file, nullable: true } });
    const value = { fs: [{ base64 }, { base64, filename: 'b' }], f: null };
    expect((await parts(schema, value)).map(([head]) => head)).toEqual([
      named('fs', '; filename="fs"'),
      named('fs', '; filename="b"'),
    ]);
  });

  test('applies the media types and styles of its encoding', async () => {
    const schema = object({ note: text, ids: list, all: list, meta: { type: 'object' }, f: file });
    const encoding = {
      note: { contentType: 'text/markdown' },
      ids: { style: 'form', explode: false },
      all: { contentType: 'application/json' },
      meta: { contentType: 'application/vnd.api+json' },
      f: { contentType: 'image/*, application/pdf' },
    };
    const value = { note: '# x', ids: ['1', '2'], all: ['1'], meta: { a: 1 }, f: { base64: '' } };
    expect(await parts(schema, value, encoding)).toEqual([
      [named('note'), 'Content-Type: text/markdown', '# x'],
      [named('ids'), '1,2'],
      [named('all'), 'Content-Type: application/json', '["1"]'],
      [named('meta'), 'Content-Type: application/vnd.api+json', '{"a":1}'],
      [named('f', '; filename="f"'), 'Content-Type: application/pdf', ''],
    ]);
  });

  test('escapes line breaks in names and rejects them in media types', async () => {
    const schema = { type: 'object', additionalProperties: file };
    const injected = await parts(schema, { 'a"\r\nX: y': { base64, filename: 'b\r\nX: y' } });
    expect(injected[0]?.[0]).toBe(named('a%22%0D%0AX: y', '; filename="b%0D%0AX: y"'));
    const { result, request } = await sentBody(type, schema, {
      f: { base64, mimeType: 'text/plain\r\nX: y' },
    });
    expect([result.isError, request]).toEqual([true, undefined]);
  });
});

describe('request body', () => {
  test.each(['get', 'head'] as const)(
    'omits the body of %s, as OpenAPI 3.0 requires',
    async (method) => {
      const requestBody = { content: { 'application/json': { schema: map } } };
      const { asked, client, toolOf } = await serveTools(
        documentOf({ '/a': { [method]: { operationId: 'a', requestBody, responses: {} } } }),
      );
      expect(toolOf('a')?.inputSchema).toEqual({
        type: 'object',
        properties: {},
        additionalProperties: false,
      });
      expect((await client.callTool('a')).isError).toBe(false);
      expect(asked).toHaveLength(1);
    },
  );

  test('rejects an operation with a GET body or the method TRACE', async () => {
    const requestBody = { required: true, content: { 'application/json': { schema: map } } };
    const { unusable } = await serveTools(
      documentOf({ '/a': { get: { requestBody, responses: {} }, trace: { responses: {} } } }),
    );
    expect(unusable).toEqual([
      { operation: 'GET /a', reason: 'a GET request cannot have a body' },
      { operation: 'TRACE /a', reason: 'TRACE requests cannot be sent' },
    ]);
  });

  test('sends the body of DELETE', async () => {
    const requestBody = { content: { 'application/json': { schema: map } } };
    const { asked, client } = await serveTools(
      documentOf({ '/a': { delete: { operationId: 'a', requestBody, responses: {} } } }),
    );
    await client.callTool('a', { body: { a: 'b' } });
    expect([asked[0]?.method, asked[0]?.body]).toEqual(['DELETE', '{"a":"b"}']);
  });

  test.each([
    ['application/octet-stream', { type: 'string', format: 'binary' }, 'application/octet-stream'],
    ['application/octet-stream', {}, 'application/octet-stream'],
    ['image/*', { type: 'string', format: 'binary' }, 'image/png'],
    ['application/pdf', {}, 'application/pdf'],
  ])('takes a file for the body %s with the schema %j', async (type, schema, expected) => {
    const bytes = Buffer.from([0, 200, 10]);
    const { request } = await sentBody(type, schema, {
      base64: bytes.toString('base64'),
      mimeType: 'image/png',
    });
    expect(request?.bytes).toEqual(bytes);
    expect(request?.headers['content-type']).toBe(expected);
  });

  test('sends a text body verbatim', async () => {
    const { request, body } = await sentBody('text/plain', text, 'a "b" é');
    expect([body, request?.headers['content-type']]).toEqual(['a "b" é', 'text/plain']);
  });

  test('keeps a string of binary format in a JSON body', async () => {
    const schema = { type: 'object', properties: { f: { type: 'string', format: 'binary' } } };
    const { body } = await sentBody('application/json', schema, { f: 'AAEC' });
    expect(body).toBe('{"f":"AAEC"}');
  });
});

describe('XML body', () => {
  const declaration = '<?xml version="1.0" encoding="UTF-8"?>';
  const pet = {
    type: 'object',
    xml: { name: 'pet' },
    properties: {
      id: { type: 'integer', xml: { attribute: true } },
      name: text,
      photoUrls: {
        type: 'array',
        xml: { wrapped: true },
        items: { ...text, xml: { name: 'photo' } },
      },
      tags: { type: 'array', items: { $ref: '#/components/schemas/Tag' } },
    },
  };
  const components = {
    schemas: { Pet: pet, Tag: { type: 'object', xml: { name: 'tag' }, properties: { n: text } } },
  };

  test('follows the names, attributes and wrappers of its schema', async () => {
    const value = {
      id: 7,
      name: '<a & "b">',
      photoUrls: ['x', 'y'],
      tags: [{ n: '1' }, { n: '2' }],
    };
    const { body, request } = await sentBody('application/xml', pet, value, {}, { components });
    expect(body).toBe(
      `${declaration}<pet id="7"><name>&lt;a &amp; &quot;b&quot;&gt;</name><photoUrls><photo>x</photo><photo>y</photo></photoUrls><tag><n>1</n></tag><tag><n>2</n></tag></pet>`,
    );
    expect(request?.headers['content-type']).toBe('application/xml');
  });

  test.each([
    [{ $ref: '#/components/schemas/Bare' }, { a: 1, b: null }, '<Bare><a>1</a></Bare>'],
    [
      { type: 'object', xml: { name: 'r', prefix: 'p', namespace: 'urn:x' } },
      { a: true },
      '<p:r xmlns:p="urn:x"><a>true</a></p:r>',
    ],
    [{ allOf: [{ $ref: '#/components/schemas/Pet' }] }, { id: 1 }, '<pet id="1"/>'],
    [{ type: 'array', items: text, xml: { name: 'l', wrapped: true } }, ['a'], '<l><l>a</l></l>'],
  ])('serializes the schema %j as %s', async (schema, value, expected) => {
    const more = { components: { schemas: { ...components.schemas, Bare: { type: 'object' } } } };
    const { body } = await sentBody('text/xml', schema, value, {}, more);
    expect(body).toBe(declaration + expected);
  });

  test('sends XML given as text verbatim', async () => {
    const { body } = await sentBody('application/xml', text, '<a/>');
    expect(body).toBe('<a/>');
  });

  test('rejects names that are not valid element names', async () => {
    const { result, request } = await sentBody(
      'application/xml',
      { type: 'object' },
      { 'a><b': '1' },
    );
    expect([result.isError, request]).toEqual([true, undefined]);
  });
});
