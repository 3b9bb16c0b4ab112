/** What the features of a server say to requests of 2026-07-28; every answer is checked against the official schemas. */
import {
  ProtocolError,
  createMcpServer,
  definePrompt,
  defineResource,
  defineTool,
} from 'mcp-actors';
import type { JsonObject } from 'mcp-actors';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { askModern as ask, callModern as call } from '../contract/enveloped.ts';
import { connect, echo, serve, textOf, tool } from '../contract/serving.ts';

const greet = definePrompt({
  name: 'greet',
  arguments: { who: { required: true, complete: () => ['Ada', 'Bob'] } },
  get: ({ who }) => `Greet ${who}`,
});
const sum = defineTool({
  name: 'sum',
  description: 'Adds two numbers.',
  inputSchema: {
    type: 'object',
    properties: { a: { type: 'number' }, b: { type: 'number' } },
    required: ['a', 'b'],
  },
  outputSchema: {
    type: 'object',
    properties: { sum: { type: 'number', minimum: 0 } },
    required: ['sum'],
  },
  handler: ({ a, b }) => ({ structured: { sum: a + b } }),
});

describe('server/discover', () => {
  test('declares exactly the offered features [DISC-02]', async () => {
    const { capabilities: none } = await ask(serve({}), 'server/discover');
    expect(none).not.toHaveProperty('tools');
    expect(none).not.toHaveProperty('logging');
    const all = serve({ tools: [echo], prompts: [greet], resources: [], logging: {} });
    expect((await ask(all, 'server/discover'))['capabilities']).toEqual({
      tools: { listChanged: true },
      prompts: { listChanged: true },
      resources: { listChanged: true, subscribe: true },
      completions: {},
      logging: {},
    });
  });

  test.each(['tools/list', 'prompts/list', 'resources/list', 'completion/complete'])(
    'answers undeclared %s with -32601 [DISC-02]',
    async (method) => {
      await expect(ask(serve({}), method)).rejects.toMatchObject({ code: -32601 });
    },
  );

  test('sends no logs without declared logging [DISC-02]', async () => {
    const log = tool('log', (_, context) => {
      context.log.error('said');
      return 'ok';
    });
    const serving = serve({ tools: [log] });
    await call(serving, 'log', {}, { logLevel: 'debug' });
    expect(serving.peer.count('notifications/message')).toBe(0);
  });

  test('returns lists in definition order, identical for every connection and request [TOOLS-12]', async () => {
    const server = createMcpServer({
      name: 'listed',
      version: '1',
      tools: [tool('z', () => 'z'), tool('a', () => 'a'), echo],
      prompts: [greet],
      resources: ['b:2', 'b:1'].map((uri) => defineResource({ uri, name: uri, read: () => uri })),
    });
    const [one, other] = [connect(server), connect(server)];
    for (const method of ['tools/list', 'prompts/list', 'resources/list']) {
      const first = await ask(one, method);
      await call(one, 'a', {}, { capabilities: { sampling: {} } });
      expect([await ask(one, method), await ask(other, method)]).toEqual([first, first]);
    }
    const { tools } = await ask(other, 'tools/list');
    expect((tools as JsonObject[]).map(({ name }) => name)).toEqual(['z', 'a', 'echo']);
  });
});

describe('a stateless tool call', () => {
  test('returns structured content and its JSON text [TOOLS-13]', async () => {
    const serving = serve({ tools: [sum] });
    const result = await call(serving, 'sum', { a: 1, b: 2 });
    expect(result['structuredContent']).toEqual({ sum: 3 });
    expect(JSON.parse(textOf(result))).toEqual({ sum: 3 });
    expect((await call(serving, 'sum', { a: 1 }))['isError']).toBe(true);
    const wrong = await call(serving, 'sum', { a: -1, b: 0 });
    expect(wrong).toMatchObject({ isError: true });
    expect(wrong).not.toHaveProperty('structuredContent');
  });

  test('rejects a schema with a remote reference without fetching it [SCHEMA-09]', () => {
    const fetched = vi.fn<typeof fetch>();
    vi.stubGlobal('fetch', fetched);
    onTestFinished(() => void vi.unstubAllGlobals());
    const define = () =>
      defineTool({
        name: 'remote',
        description: 'Refers to the network.',
        inputSchema: { type: 'object', properties: { a: { $ref: 'https://schemas.test/a.json' } } },
        handler: () => 'ran',
      });
    expect(define).toThrow(/tool "remote".*"https:\/\/schemas.test\/a.json".*not fetched/);
    expect(fetched).not.toHaveBeenCalled();
  });
});

test('gets a prompt, and answers unknown prompts and missing arguments with -32602 [PROMPT-06]', async () => {
  const serving = serve({ prompts: [greet] });
  const got = await ask(serving, 'prompts/get', { name: 'greet', arguments: { who: 'Ada' } });
  expect(got['messages']).toMatchObject([{ content: { text: 'Greet Ada' } }]);
  for (const params of [{ name: 'none' }, { name: 'greet' }, { name: 'greet', arguments: {} }]) {
    await expect(ask(serving, 'prompts/get', params)).rejects.toMatchObject({ code: -32602 });
  }
});

test('completes an argument, and answers unknown arguments and references with -32602 [COMPL-05]', async () => {
  const serving = serve({ prompts: [greet] });
  const complete = (name: string, argument: string) =>
    ask(serving, 'completion/complete', {
      ref: { type: 'ref/prompt', name },
      argument: { name: argument, value: '' },
    });
  expect((await complete('greet', 'who'))['completion']).toMatchObject({ values: ['Ada', 'Bob'] });
  await expect(complete('none', 'who')).rejects.toMatchObject({ code: -32602 });
  await expect(complete('greet', 'none')).rejects.toMatchObject({ code: -32602 });
});

test('disables caching of a resource read by a retry [CACHE-02]', async () => {
  const asks = defineResource({
    uri: 'a:asks',
    name: 'asks',
    caching: { ttlMs: 60_000, scope: 'public' },
    read: async (context) => {
      const schema = { type: 'object', properties: { name: { type: 'string' } } } as const;
      const answer = await context.elicit({ message: 'Who?', schema });
      return answer.action === 'accept' ? 'for them' : 'for nobody';
    },
  });
  const plain = defineResource({
    uri: 'a:plain',
    name: 'plain',
    caching: { ttlMs: 60_000, scope: 'public' },
    read: () => 'for all',
  });
  const serving = serve({ resources: [asks, plain] });
  const options = { capabilities: { elicitation: { form: {} } } };
  const read = (uri: string, more: JsonObject = {}) =>
    ask(serving, 'resources/read', { uri, ...more }, options);
  const { requestState } = await read('a:asks');
  const inputResponses = { q1: { action: 'accept', content: {} } };
  expect(await read('a:asks', { requestState, inputResponses })).toMatchObject({
    contents: [{ text: 'for them' }],
    ttlMs: 0,
    cacheScope: 'private',
  });
  expect(await read('a:plain')).toMatchObject({ ttlMs: 60_000, cacheScope: 'public' });
});

test.each([
  ['accept', { action: 'accept', content: { name: 'Ada' } }],
  ['decline', { action: 'decline' }],
  ['cancel', { action: 'cancel' }],
])('returns the user choice %s of an elicitation [ELICIT-13]', async (action, answer) => {
  const asks = defineTool({
    name: 'asks',
    description: 'Asks.',
    handler: async (_, context) => {
      const schema = { type: 'object', properties: { name: { type: 'string' } } } as const;
      return (await context.elicit({ message: 'Who?', schema })).action;
    },
  });
  const serving = serve({ tools: [asks] });
  const options = { capabilities: { elicitation: { form: {} } } };
  const { requestState } = await call(serving, 'asks', {}, options);
  const retry = { name: 'asks', arguments: {}, requestState, inputResponses: { q1: answer } };
  expect(textOf(await ask(serving, 'tools/call', retry, options))).toBe(action);
});

test.each([
  [-32000, -32603],
  [-32002, -32602],
  [-32042, -32603],
  [-32050, -32603],
  [7, 7],
])('sends the handler error code %i as %i [ENV-09]', async (thrown, sent) => {
  const fails = definePrompt({
    name: 'fails',
    get: () => {
      throw new ProtocolError(thrown, 'It failed');
    },
  });
  const serving = serve({ prompts: [fails] });
  await expect(ask(serving, 'prompts/get', { name: 'fails' })).rejects.toMatchObject({
    code: sent,
  });
});
