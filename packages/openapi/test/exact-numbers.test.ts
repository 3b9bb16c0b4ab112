/**
 * Integers beyond 2^53 between a client, `mcp-actors serve --openapi` and an API, compared as
 * bytes.
 */
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { command, launch, reapServers } from '../../../test/e2e/server-process.ts';
import { eachLine } from '../../../test/e2e/line-stream.ts';
import { temporaryDirectory } from '../../roots/test/temporary-directory.ts';
import { documentOf, serveApi } from './shop.ts';
import type { ReceivedRequest, ApiResponse } from './shop.ts';

const great = '9007199254740993';
const greater = '18446744073709551615';
const tiny = '-9223372036854775807';

const integer = { type: 'integer', format: 'int64' };
const integers = { type: 'array', items: integer };
const object = { type: 'object', properties: { id: integer, ids: integers } };
const content = (mediaType: string, schema: object) => ({ content: { [mediaType]: { schema } } });
const answers = (schema: object) => ({
  responses: { 200: { description: 'ok', ...content('application/json', schema) } },
});
const post = (operationId: string, mediaType: string, schema: object) => ({
  post: {
    operationId,
    requestBody: { required: true, ...content(mediaType, schema) },
    responses: { 200: { description: 'ok' } },
  },
});
const parameter = (name: string, place: string, schema: object, more: object = {}) => ({
  name,
  in: place,
  schema,
  ...more,
});

const rows = documentOf({
  '/rows/{id}': {
    get: {
      operationId: 'row',
      parameters: [
        parameter('id', 'path', integer, { required: true }),
        parameter('ids', 'query', integers),
        parameter('between', 'query', integers, { explode: false }),
        parameter('filter', 'query', object, { style: 'deepObject' }),
        parameter(
          'where',
          'query',
          {},
          { ...content('application/json', object), schema: undefined },
        ),
        parameter('x-trace', 'header', integer),
        parameter('crumb', 'cookie', integer),
      ],
      ...answers(object),
    },
  },
  '/rows': { get: { operationId: 'rows', ...answers({ type: 'array', items: object }) } },
  '/free': { get: { operationId: 'free', responses: { 200: { description: 'ok' } } } },
  '/json': post('json', 'application/json', object),
  '/scalar': post('scalar', 'application/json', integer),
  '/form': post('form', 'application/x-www-form-urlencoded', object),
  '/parts': post('parts', 'multipart/form-data', {
    type: 'object',
    properties: { id: integer, deep: object },
  }),
  '/xml': post('xml', 'application/xml', object),
  '/plain-xml': post('plainXml', 'application/xml', integer),
});

/**
 * Calls tools of the built command with arguments as raw text.
 *
 * @returns the response lines
 */
async function serving(
  say: (asked: ReceivedRequest) => ApiResponse = () => ({ body: '{}' }),
  ...options: string[]
) {
  const { asked, server } = await serveApi(say);
  const folder = await temporaryDirectory({ 'api.json': JSON.stringify(rows) });
  onTestFinished(reapServers);
  const file = join(folder, 'api.json');
  const api = launch([
    ...command,
    ...['serve', '--openapi', file, '--openapi-server', server, ...options],
  ]);
  const lines: string[] = [];
  eachLine(api.child.stdout, (line) => lines.push(line));
  await api.initialize();
  let id = 0;
  const call = async (name: string, args: string): Promise<string> => {
    id++;
    const params = `{"name":"${name}","arguments":${args}}`;
    await api.write(`{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":${params}}\n`);
    await api.answer(id);
    return lines.find((line) => line.includes(`"id":${id},`) || line.endsWith(`"id":${id}}`)) ?? '';
  };
  return { asked, call };
}

test('integers beyond 2^53 in arguments reach the API unchanged', async () => {
  const { asked, call } = await serving();
  const object = `{"id":${great},"ids":[${greater},1,${tiny}]}`;
  const places = `"filter":{"id":${great}},"where":${object},"x-trace":${great},"crumb":${great}`;
  await call('row', `{"id":${great},"ids":[${great},2],"between":[1,${greater}],${places}}`);
  for (const name of ['json', 'form', 'xml']) await call(name, `{"body":${object}}`);
  await call('scalar', `{"body":${greater}}`);
  await call('parts', `{"body":{"id":${great},"deep":${object}}}`);
  await call('plainXml', `{"body":${great}}`);
  const [row, json, form, xml, scalar, parts, plainXml] = asked;
  const query = new URLSearchParams(row?.url.replace(/^[^?]*\?/, ''));
  expect(row?.url).toContain(`/rows/${great}?`);
  expect([...query]).toEqual([
    ['ids', great],
    ['ids', '2'],
    ['between', `1,${greater}`],
    ['filter[id]', great],
    ['where', object],
  ]);
  expect(row?.headers).toMatchObject({ 'x-trace': great, cookie: `crumb=${great}` });
  expect(json?.body).toBe(object);
  expect(form?.body).toBe(`id=${great}&ids=${greater}&ids=1&ids=${tiny}`);
  expect(xml?.body).toContain(`<id>${great}</id><ids>${greater}</ids><ids>1</ids>`);
  expect(plainXml?.body).toContain(`<root>${great}</root>`);
  expect(scalar?.body).toBe(greater);
  expect(parts?.body).toContain(`\r\n\r\n${great}\r\n`);
  expect(parts?.body).toContain(`\r\n\r\n${object}\r\n`);
});

test('integers beyond 2^53 in a response reach the client unchanged', async () => {
  const object = `{"id":${great},"ids":[${greater},1,${tiny}]}`;
  const { call } = await serving(({ url }) => ({ body: url === '/v1/rows' ? list : object }));
  const list = `[${Array.from({ length: 2500 }, () => object).join(',')}]`;
  const row = await call('row', '{"id":1}');
  expect(row).toContain(`"structuredContent":${object}`);
  expect(row).toContain(JSON.stringify(object));
  expect(await call('rows', '{}')).toContain(`"structuredContent":{"result":${list}}`);
});

test('integers beyond 2^53 in an unchecked response reach the client unchanged', async () => {
  const { call } = await serving(() => ({ body: `{"id":${great}}` }), '--openapi-unchecked');
  expect(await call('free', '{}')).toContain(`"structuredContent":{"id":${great}}`);
});

test('rejects a response with a duplicate key beside an integer beyond 2^53', async () => {
  const { call } = await serving(() => ({ body: `{"id":1,"id":${great}}` }));
  const row = await call('row', '{"id":1}');
  expect(JSON.parse(row)).toMatchObject({ result: { isError: true } });
  expect(row).not.toContain('structuredContent');
});
