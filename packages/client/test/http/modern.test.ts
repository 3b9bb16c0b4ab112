/** The modern era over HTTP: no session, headers that repeat the body, a request ended by its stream. */
import { createMcpServer, defineTool } from 'mcp-actors';
import { describe, expect, test, vi } from 'vitest';
import { laboratory } from '../../../../examples/lab/laboratory.ts';
import { serveHttp } from '../../../http/test/serving.ts';
import { HttpHost, errorOf } from './http-host.ts';
import { Poured, anywhere, jsonOf, resultOf, scriptedFetch } from './scripted-fetch.ts';
import { scriptedServer } from './scripted-server.ts';
import type { Scripted } from './scripted-server.ts';

const isCall = ({ message }: Scripted) => message?.method === 'tools/call';

const annotated = (header: string) => ({
  name: 'run',
  inputSchema: {
    type: 'object',
    properties: { region: { type: 'string', 'x-mcp-header': header } },
  },
});

describe('a modern server over HTTP', () => {
  test('of ours takes every request as it is sent, and knows of no session', async () => {
    const run = defineTool({
      name: 'mirror.region',
      description: 'Says where',
      inputSchema: {
        type: 'object',
        properties: { region: { type: 'string', 'x-mcp-header': 'Region' } },
        required: ['region'],
      },
      handler: ({ region }) => `in ${region}`,
    });
    const server = createMcpServer({ name: 's', version: '1', tools: [run] });
    const host = new HttpHost({ url: (await serveHttp(server)).href });
    expect(await host.ask('server/discover')).toMatchObject({
      result: { supportedVersions: ['2026-07-28'] },
    });
    expect(await host.ask('tools/list')).toMatchObject({ kind: 'result' });
    const call = { name: 'mirror.region', arguments: { region: ' Zürich\n' } };
    expect(await host.ask('tools/call', call)).toMatchObject({
      result: { content: [{ text: 'in  Zürich\n' }] },
    });
    expect(await host.ask('no/such')).toMatchObject({ kind: 'error', error: { code: -32_601 } });
    await host.close();
  });

  test('of ours serves a call whose headers it knew nothing of: the tools are listed, and it is sent again [HOST-16]', async () => {
    const run = defineTool({
      name: 'run',
      description: 'Runs',
      inputSchema: {
        type: 'object',
        properties: { region: { type: 'string', 'x-mcp-header': 'Region' } },
      },
      handler: () => 'ran',
    });
    const server = createMcpServer({ name: 's', version: '1', tools: [run] });
    const host = new HttpHost({ url: (await serveHttp(server)).href });
    const call = { name: 'run', arguments: { region: 'eu' } };
    expect(await host.ask('tools/call', call)).toMatchObject({
      result: { content: [{ text: 'ran' }] },
    });
  });

  const mismatched = (asked: Scripted) => {
    const error = { code: -32_020, message: 'Header mismatch' };
    asked.json({ jsonrpc: '2.0', id: asked.message?.id, error }, 400);
  };

  test('that refuses the headers again is believed', async () => {
    const server = await scriptedServer((asked) => {
      if (isCall(asked)) return mismatched(asked);
      const cursor = asked.message?.params?.['cursor'];
      if (cursor === undefined) return asked.result({ tools: [], nextCursor: 'p2' });
      return asked.result({ tools: [annotated('Region')] });
    });
    const host = new HttpHost({ url: server.url.href });
    const call = { name: 'run', arguments: { region: 'eu' } };
    expect(await host.ask('tools/call', call)).toEqual({
      kind: 'error',
      error: { code: -32_020, message: 'Header mismatch' },
    });
    const seen = server.asked.map(({ message, headers }) => [
      message?.method,
      headers['mcp-param-region'],
    ]);
    expect(seen).toEqual([
      ['tools/call', undefined],
      ['tools/list', undefined],
      ['tools/list', undefined],
      ['tools/call', 'eu'],
    ]);
  });

  const isList = ({ message }: Scripted) => message?.method === 'tools/list';

  test.each<[what: string, list: () => Response]>([
    ['fails', () => jsonOf({}, 500)],
    ['is no list', () => jsonOf({ jsonrpc: '2.0', id: '1/tools/1', result: { tools: 5 } })],
    [
      'comes after something else',
      () => {
        const body = new Poured();
        body.event({ jsonrpc: '2.0', method: 'notifications/message', params: {} });
        body.event({ jsonrpc: '2.0', id: '1/tools/1', result: { tools: [annotated('Region')] } });
        return body.answer();
      },
    ],
  ])('is called again with what is known if its list %s', async (what, list) => {
    const regions: (string | null)[] = [];
    const { fetch } = scriptedFetch((asked) => {
      if (asked.message?.method === 'tools/list') {
        expect(asked.message.params?.['_meta']).not.toHaveProperty('progressToken');
        return list();
      }
      regions.push(asked.headers.get('mcp-param-region'));
      expect(asked.message?.params?.['_meta']).toHaveProperty('progressToken');
      const error = { code: -32_020, message: 'Header mismatch' };
      if (regions.length > 1) return resultOf(asked);
      return jsonOf({ jsonrpc: '2.0', id: asked.message?.id, error }, 400);
    });
    const host = new HttpHost(anywhere, { fetch });
    const call = { name: 'run', arguments: { region: 'eu' }, _meta: { progressToken: 7 } };
    expect(await host.ask('tools/call', call)).toEqual({ kind: 'result', result: {} });
    expect(regions).toEqual([null, what.startsWith('comes') ? 'eu' : null]);
  });

  test('whose list does not end is asked for a hundred pages of it, and is believed then', async () => {
    const warned = vi.spyOn(process, 'emitWarning');
    const { fetch, asked } = scriptedFetch(({ message }) => {
      const { id, method } = message ?? {};
      if (method === 'tools/list')
        return jsonOf({ jsonrpc: '2.0', id, result: { tools: [], nextCursor: 'more' } });
      return jsonOf({ jsonrpc: '2.0', id, error: { code: -32_020, message: 'no' } }, 400);
    });
    const host = new HttpHost(anywhere, { fetch });
    const outcome = await host.ask('tools/call', { name: 'run' });
    expect(outcome).toMatchObject({ kind: 'error', error: { code: -32_020 } });
    expect(asked).toHaveLength(102);
    const text = expect.stringContaining('AbortSignal') as string;
    const tooManyListeners = expect.objectContaining({ message: text }) as Error;
    expect(warned).not.toHaveBeenCalledWith(tooManyListeners);
  });

  test('hears that a call is cancelled whose headers are looked for: nobody waits for the list', async () => {
    const server = await scriptedServer((asked) => {
      if (isCall(asked)) mismatched(asked);
      else asked.stream();
    });
    const host = new HttpHost({ url: server.url.href });
    void host.ask('tools/call', { name: 'run' }, 5);
    const { response } = await server.next(isList);
    const gone = new Promise((resolve) => response.on('close', resolve));
    host.cancel(5);
    await gone;
  });

  test('has a tool left out whose headers are none, and that is told [HOST-15]', async () => {
    const server = await scriptedServer((asked) => {
      asked.result({ tools: [annotated('Region'), { ...annotated('no header'), name: 'bad' }] });
    });
    const host = new HttpHost({ url: server.url.href });
    const outcome = await host.ask('tools/list');
    expect(outcome).toEqual({ kind: 'result', result: { tools: [annotated('Region')] } });
    expect(host.facts.all).toMatchObject([
      {
        level: 'warning',
        name: 'tool.leftOut',
        message: expect.stringContaining('"bad"') as string,
      },
    ]);
  });

  test('gets its lists and results as they are, and headers of parameters with calls alone', async () => {
    const odd = [null, 5, { name: 7 }, annotated('Region')];
    const { fetch, asked } = scriptedFetch((one) => {
      const { method, id } = one.message ?? {};
      if (method !== 'tools/list') {
        const result = { tools: [{ ...annotated('no header'), name: 'bad' }] };
        return jsonOf({ jsonrpc: '2.0', id, result });
      }
      const body = new Poured();
      body.event({ jsonrpc: '2.0', method: 'notifications/message', params: {} });
      body.event({ jsonrpc: '2.0', id, result: { tools: odd } });
      return body.answer();
    });
    const host = new HttpHost(anywhere, { fetch });
    expect(await host.ask('tools/list')).toEqual({ kind: 'result', result: { tools: odd } });
    const params = { name: 'run', arguments: { region: 'eu' } };
    expect(await host.ask('prompts/get', params)).toMatchObject({ result: { tools: [{}] } });
    expect(await host.ask('tools/call', params)).toMatchObject({ result: { tools: [{}] } });
    const regions = asked.map(({ headers }) => headers.get('mcp-param-region'));
    expect(regions).toEqual([null, null, 'eu']);
    expect(host.facts.all).toEqual([]);
  });

  test('hears of a cancellation by the end of the stream, and by nothing else', async () => {
    const server = await scriptedServer((asked) => asked.stream());
    const host = new HttpHost({ url: server.url.href });
    void host.ask('tools/call', { name: 'slow' }, 5);
    const { response } = await server.next(isCall);
    const gone = new Promise((resolve) => response.on('close', resolve));
    host.cancel(5);
    await gone;
    void host.ask('ping');
    await server.next(({ message }) => message?.method === 'ping');
    expect(server.asked.map(({ message }) => message?.method)).toEqual(['tools/call', 'ping']);
  });

  test('is sent no response, and what it asks on a stream is told as a fault [HOST-17]', async () => {
    const server = await scriptedServer((asked) => {
      asked.stream();
      asked.event({ jsonrpc: '2.0', id: 1, method: 'roots/list' });
      asked.event({ jsonrpc: '2.0', id: asked.message?.id, result: {} });
    });
    const host = new HttpHost({ url: server.url.href });
    expect(await host.ask('tools/call', { name: 'x' })).toEqual({ kind: 'result', result: {} });
    expect(host.heard.all).toEqual([]);
    expect(host.facts.all).toMatchObject([{ name: 'request.unexpected' }]);
  });

  test('has streams that are not resumed, whatever ids their events have [HOST-24]', async () => {
    const server = await scriptedServer((asked) => {
      asked.stream();
      asked.response.end('id: 1\ndata:\n\n');
    });
    const host = new HttpHost({ url: server.url.href });
    expect(errorOf(await host.ask('tools/call', { name: 'x' })).code).toBe('CLOSED');
    expect(server.asked).toHaveLength(1);
  });

  test('listens for as long as its stream is open, beside every other request', async () => {
    const host = new HttpHost({ url: (await serveHttp(laboratory)).href }, { maxOpenRequests: 2 });
    const listening = host.ask(
      'subscriptions/listen',
      {
        notifications: { toolsListChanged: true },
      },
      'l',
    );
    await host.heard.first(
      (frame) =>
        frame.kind === 'notification' &&
        frame.method === 'notifications/subscriptions/acknowledged',
    );
    const call = { name: 'echo', arguments: { message: 'hi' } };
    const calls = Array.from({ length: 10 }, () => host.ask('tools/call', call));
    for (const outcome of await Promise.all(calls)) {
      expect(outcome).toMatchObject({ result: { content: [{ text: 'hi' }] } });
    }
    host.cancel('l');
    void listening;
  });
});

describe('what shows the era of a server', () => {
  test('a refusal without an error of the modern era fails the probe, and nothing else', async () => {
    const server = await scriptedServer((asked) => asked.text('<h1>No</h1>', 'text/html', 404));
    const host = new HttpHost({ url: server.url.href });
    const error = errorOf(await host.ask('server/discover'));
    expect([error.code, error.status]).toEqual(['HTTP_STATUS', 404]);
    expect(host.reports.all.map(({ type }) => type)).toEqual(['channel.opened']);
  });

  test('an error of the modern era is the answer, whatever id it names', async () => {
    const error = { code: -32_022, message: 'no', data: { supported: ['2027-01-01'] } };
    const server = await scriptedServer((asked) =>
      asked.json({ jsonrpc: '2.0', id: null, error }, 400),
    );
    const host = new HttpHost({ url: server.url.href });
    expect(await host.ask('server/discover')).toEqual({ kind: 'error', error });
  });

  test.each([403, 408, 429, 500, 502, 503])(
    'status %i says nothing of it: the channel is lost',
    async (status) => {
      const server = await scriptedServer((asked) => {
        const body = { jsonrpc: '2.0', id: asked.message?.id, error: { code: -1, message: 'no' } };
        asked.json(body, status, { 'retry-after': '7' });
      });
      const host = new HttpHost({ url: server.url.href });
      void host.ask('server/discover');
      expect(await host.told('channel.lost')).toMatchObject({
        loss: {
          ...{ kind: 'http', status, retryAfterMs: 7000 },
          message: expect.stringContaining(`answered with status ${status}: {`) as string,
        },
      });
    },
  );
});
