/** A server says the same through a bridge as past it, in both eras. */
import { describe, expect, onTestFinished, test } from 'vitest';
import { ProtocolError, createMcpServer, memory, toSdkTransport } from 'mcp-actors';
import type { JsonObject } from 'mcp-actors';
import { bridge } from 'mcp-actors/bridge';
import { connect } from 'mcp-actors/client';
import type { ConnectOptions, Connection, ServerEntry } from 'mcp-actors/client';
import { gate } from 'mcp-actors/testing';
import { pollTool } from '../../http/test/poll-tool.ts';
import { EventReader, begin } from '../../http/test/raw-client.ts';
import { serveHttp } from '../../http/test/serving.ts';
import { program } from '../../../test/tooling/programs.ts';
import type { Era } from './hosts.ts';

const silent = { report: () => {} };
const everything = 'node_modules/@modelcontextprotocol/server-everything/dist/index.js';

/** What a client is answered, as it came. */
async function outcomeOf(host: Connection, [method, params]: Asked): Promise<string> {
  return host.request(method, params).then(
    (result) => JSON.stringify(result),
    (error: unknown) => {
      if (!(error instanceof ProtocolError)) throw error;
      const { code, message, data } = error;
      return JSON.stringify({ code, message, data });
    },
  );
}

type Asked = readonly [method: string, params?: JsonObject];

async function connected(entry: ServerEntry, options: ConnectOptions): Promise<Connection> {
  const host = await connect(entry, { ...silent, ...options });
  onTestFinished(() => host.close());
  return host;
}

/** A server, and what stands before it. */
function bridged(entry: ServerEntry): ServerEntry {
  const { transport, peer } = memory();
  const session = bridge(entry, silent).listen(transport, silent);
  onTestFinished(async () => {
    await session.closed;
  });
  return { transport: toSdkTransport(peer) };
}

const common: readonly Asked[] = [
  ['tools/list'],
  ['tools/list', { cursor: 'of nobody' }],
  ['resources/list'],
  ['resources/templates/list'],
  ['prompts/list'],
  ['tools/call', { name: 'unknown', arguments: {} }],
  ['tools/call', {}],
  ['resources/read', { uri: 'test://unknown' }],
  ['prompts/get', { name: 'unknown' }],
  ['tasks/get', { taskId: 'unknown' }],
];

const servers: readonly {
  readonly name: string;
  readonly args: readonly string[];
  readonly eras: readonly Era[];
  readonly asked: readonly Asked[];
}[] = [
  {
    name: 'the laboratory',
    args: program('examples/lab/server.ts'),
    eras: ['legacy', 'modern'],
    asked: [
      ['tools/call', { name: 'echo', arguments: { text: 'ü €' }, _meta: { 'a/b': [1] } }],
      ['tools/call', { name: 'echo', arguments: { text: 1 } }],
      ['tools/call', { name: 'ask', arguments: { kind: 'sampling', count: 1 } }],
      ['resources/read', { uri: 'lab://b' }],
    ],
  },
  {
    name: 'server-everything',
    args: [everything, 'stdio'],
    eras: ['legacy'],
    asked: [
      ['tools/call', { name: 'echo', arguments: { message: 'ü €' } }],
      ['tools/call', { name: 'get-structured-content', arguments: { location: 'Chicago' } }],
      ['tools/call', { name: 'get-tiny-image', arguments: {} }],
      ['prompts/get', { name: 'args-prompt', arguments: { city: 'Bern' } }],
      ['logging/setLevel', { level: 'error' }],
      ['logging/setLevel', { level: 'loud' }],
    ],
  },
];

describe.each(servers.flatMap((server) => server.eras.map((era) => ({ ...server, era }))))(
  '$name, in the $era era',
  ({ args, era, asked }) => {
    const entry = { command: process.execPath, args };

    test('gives the same description and answers as the server itself', async () => {
      const past = await connected(entry, { era });
      const through = await connected(bridged(entry), { era });
      expect(through.server).toEqual(past.server);
      for (const request of [...common, ...asked]) {
        const which = JSON.stringify(request);
        expect([which, await outcomeOf(through, request)]).toEqual([
          which,
          await outcomeOf(past, request),
        ]);
      }
    });
  },
);

test('makes the host poll if an HTTP server closes its connection during a call', async () => {
  const away = gate();
  const behind = createMcpServer({ name: 'polled', version: '1', tools: [pollTool(away)] });
  const soon = { limits: { retryMs: 50 } };
  const past = await serveHttp(behind, soon);
  const through = await serveHttp(bridge({ url: String(past) }, silent), soon);
  const session = await begin(through);
  // It ends while the call goes on.
  const first = await new EventReader(await session.call('poll')).rest();
  expect(first).toEqual([{ id: '1.1-0', retry: '50' }, { retry: '50' }]);
  const again = await session.get('1.1-0');
  away.release();
  await expect(again.message()).resolves.toMatchObject({
    data: { result: { content: [{ text: 'done' }] } },
  });
});
