/** How long, and by whom, what a server says may be cached: clients of 2026-07-28 are told. */
import { createMcpServer, definePrompt, defineResource, defineResourceTemplate } from 'mcp-actors';
import type { JsonObject, ServerDefinition } from 'mcp-actors';
import { describe, expect, test } from 'vitest';
import { askModern } from '../contract/enveloped.ts';
import { echo, serve } from '../contract/serving.ts';

describe('cache hints', () => {
  const resource = (uri: string, more = {}) =>
    defineResource({ uri, name: uri, read: () => uri, ...more });
  const features = {
    tools: [echo],
    prompts: [definePrompt({ name: 'p', get: () => 'hi' })],
    resources: [resource('a:1'), resource('a:2', { caching: { ttlMs: 5, scope: 'public' } })],
    resourceTemplates: [
      defineResourceTemplate({
        uriTemplate: 'b:{n}',
        name: 'b',
        read: (uri) => uri,
        caching: { ttlMs: 7 },
      }),
    ],
  } satisfies Partial<ServerDefinition>;
  const hints = ({ ttlMs, cacheScope }: JsonObject) => [ttlMs, cacheScope];
  const requests = [
    ['server/discover', {}],
    ['tools/list', {}],
    ['prompts/list', {}],
    ['resources/list', {}],
    ['resources/templates/list', {}],
    ['resources/read', { uri: 'a:1' }],
  ] as const;

  test.each(requests)('disable caching by default: %s [CACHE-01]', async (method, params) => {
    expect(hints(await askModern(serve(features), method, params))).toEqual([0, 'private']);
  });

  test.each(requests)('apply the server-wide hints: %s [CACHE-01]', async (method, params) => {
    const serving = serve({ ...features, caching: { ttlMs: 60_000, scope: 'public' } });
    expect(hints(await askModern(serving, method, params))).toEqual([60_000, 'public']);
  });

  test('apply overrides per kind and per resource', async () => {
    const caching = {
      ttlMs: 1,
      discovery: { ttlMs: 2 },
      tools: { scope: 'public' },
      prompts: { ttlMs: 3, scope: 'public' },
      resources: { ttlMs: 4 },
      resourceTemplates: { ttlMs: 0 },
      contents: { ttlMs: 6, scope: 'private' },
    } as const;
    const serving = serve({ ...features, caching });
    const told: unknown[] = [];
    for (const [method, params] of requests)
      told.push(hints(await askModern(serving, method, params)));
    expect(told).toEqual([
      [2, 'private'],
      [1, 'public'],
      [3, 'public'],
      [4, 'private'],
      [0, 'private'],
      [6, 'private'],
    ]);
    const read = async (uri: string) => hints(await askModern(serving, 'resources/read', { uri }));
    expect([await read('a:2'), await read('b:1')]).toEqual([
      [5, 'public'],
      [7, 'private'],
    ]);
  });

  test('have the same scope on all pages of a list [CACHE-04] [PAGE-03]', async () => {
    const options = { limits: { pageSize: 1 } };
    const serving = serve({ ...features, caching: { resources: { scope: 'public' } } }, options);
    const first = await askModern(serving, 'resources/list');
    const { nextCursor: cursor } = first;
    const second = await askModern(serving, 'resources/list', { cursor });
    expect([first, second].map((page) => page['cacheScope'])).toEqual(['public', 'public']);
    expect(second).not.toHaveProperty('nextCursor');
    await expect(askModern(serving, 'resources/list', { cursor: 'x' })).rejects.toMatchObject({
      code: -32602,
    });
  });

  test('are omitted for earlier revisions', async () => {
    const { peer } = serve({ ...features, caching: { ttlMs: 60_000 } });
    await peer.handshake();
    expect(Object.keys(await peer.ask('tools/list'))).toEqual(['tools']);
  });
});

describe('invalid cache hints', () => {
  const make = (caching: unknown) => () =>
    createMcpServer({ name: 's', version: '1', caching: caching as never });
  test.each([
    [7, '"caching" of the server must be an object, got 7'],
    [
      { ttlMs: -1 },
      '"caching.ttlMs" of the server must be a whole number of milliseconds, at least 0',
    ],
    [{ ttlMs: 0.5 }, 'got 0.5'],
    [{ ttlMs: '1' }, 'got "1"'],
    [{ scope: 'shared' }, '"caching.scope" of the server must be "public" or "private"'],
    [{ tools: { ttlMs: NaN } }, '"caching.tools.ttlMs" of the server'],
    [{ tools: [] }, '"caching.tools" of the server must be an object, got an array'],
  ])('are rejected by createMcpServer: %j [CACHE-03]', (caching, message) => {
    expect(make(caching)).toThrow(message);
  });

  test('are rejected by defineResource [CACHE-03]', () => {
    const read = () => '';
    const caching = { ttlMs: -1 };
    expect(() => defineResource({ uri: 'a:b', name: 'n', read, caching })).toThrow(
      '"caching.ttlMs" of the resource "a:b"',
    );
    expect(() =>
      defineResourceTemplate({ uriTemplate: 'a:{b}', name: 'n', read, caching }),
    ).toThrow('"caching.ttlMs" of the resource template "a:{b}"');
  });
});
