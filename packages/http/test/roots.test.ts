/** Roots requests over HTTP, with and without a standalone stream. */
import { Client as NewClient, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as OldTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport as OldClientTransport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { ListRootsRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { createMcpServer, defineTool } from 'mcp-actors';
import type { JsonObject, RootsReport, WatchedSession } from 'mcp-actors';
import { gate } from 'mcp-actors/testing';
import { waitFor } from 'xstate';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { HttpOptions } from '../src/index.ts';
import { EventReader, begin } from './raw-client.ts';
import type { Message, RawSession } from './raw-client.ts';
import { serveHttp } from './serving.ts';

const revision = '2025-11-25';
const roots = { listChanged: true };
const list = (...names: readonly string[]) => ({
  roots: names.map((name) => ({ uri: `file:///${name}` })),
});
const urisOf = (report: RootsReport) => report.roots.map(({ uri }) => uri.slice('file:///'.length));
const changed = 'notifications/roots/list_changed';

/** An endpoint with one watchable session, whose roots requests do not time out. */
async function endpoint(options: HttpOptions = {}) {
  const sessions: WatchedSession[] = [];
  const waiting = gate();
  const wait = defineTool({
    name: 'wait',
    description: 'Gives the report that context.roots() gives, as JSON',
    inputSchema: { type: 'object' },
    handler: async (_, context) => {
      const report = context.roots();
      waiting.pass(context.signal).catch(() => {});
      return JSON.stringify(await report);
    },
  });
  const server = createMcpServer({ name: 'rooted', version: '1.0.0', tools: [wait] });
  const session = {
    limits: { rootsTimeoutMs: 3_600_000 },
    watchers: [(watched: WatchedSession) => void sessions.push(watched)],
  };
  const url = await serveHttp(server, { ...options, session });
  const until = async (isMeant: Parameters<typeof waitFor<WatchedSession['actor']>>[1]) => {
    const [watched] = sessions;
    if (!watched) throw new Error('There is no session');
    await waitFor(watched.actor, isMeant);
  };
  return { url, until, arrived: waiting.arrived };
}

const reportOf = (message: Message | undefined) => {
  const [block] = (message?.result?.['content'] ?? []) as readonly { readonly text: string }[];
  return JSON.parse(block?.text ?? '') as RootsReport;
};

/** The next request; cancellations of earlier ones are skipped. */
async function question(answer: EventReader): Promise<Message> {
  for (;;) {
    const { data: message } = await answer.message();
    if (message.method === 'roots/list') return message;
    expect(message.method).toBe('notifications/cancelled');
  }
}

/** The final report, which must be the only message. */
async function reportIn(answer: EventReader): Promise<RootsReport> {
  const messages = await answer.messages();
  expect(messages).toHaveLength(1);
  return reportOf(messages[0]);
}

const wait = async (client: RawSession, id: number) =>
  new EventReader(await client.call('wait', {}, id));

describe('a client that only posts', () => {
  test('is asked for roots on the stream of the first call that needs them', async () => {
    const { url } = await endpoint();
    const client = await begin(url, revision, { roots });
    const first = await wait(client, 1);
    expect(await client.reply(await question(first), list('a'))).toBe(202);
    expect(urisOf(await reportIn(first))).toEqual(['a']);
    const second = await wait(client, 2);
    expect(second.response.headers.get('content-type')).toBe('application/json');
    expect(urisOf(await reportIn(second))).toEqual(['a']);
  });

  test('is asked again with the next call after its roots changed', async () => {
    const { url } = await endpoint();
    const client = await begin(url, revision, { roots });
    const first = await wait(client, 1);
    await client.reply(await question(first), list('old'));
    expect(urisOf(await reportIn(first))).toEqual(['old']);
    expect(await client.notify(changed)).toBe(202);
    const second = await wait(client, 2);
    await client.reply(await question(second), list('new'));
    expect(urisOf(await reportIn(second))).toEqual(['new']);
  });

  test("is asked on another call's stream if it cancels the first call", async () => {
    const { url, arrived } = await endpoint();
    const client = await begin(url, revision, { roots });
    const first = await wait(client, 1);
    const asked = await question(first);
    const second = wait(client, 2);
    await arrived(2);
    expect(await client.notify('notifications/cancelled', { requestId: 1 })).toBe(202);
    const answer = await second;
    const again = await question(answer);
    expect(again.id).not.toBe(asked.id);
    // A late response to the first request is ignored.
    await client.reply(asked, list('late'));
    await client.reply(again, list('a'));
    expect(urisOf(await reportIn(answer))).toEqual(['a']);
    const rest = await first.messages();
    expect(rest.filter((message) => 'result' in message || 'error' in message)).toEqual([]);
  });
});

describe('a client with a standalone stream', () => {
  test('is asked for roots once it opens the stream, and after each change', async () => {
    const { url, until } = await endpoint();
    const client = await begin(url, revision, { roots });
    const stream = await client.get();
    await client.reply(await question(stream), list('a'));
    await until(({ context }) => context.report?.generation === 1);
    await client.notify(changed);
    await client.reply(await question(stream), list('b'));
    await until(({ context }) => context.report?.generation === 2);
    const answer = await wait(client, 1);
    expect(urisOf(await reportIn(answer))).toEqual(['b']);
  });

  test('is asked with the next call after closing its stream', async () => {
    const { url, until } = await endpoint();
    const client = await begin(url, revision, { roots });
    const stream = await client.get();
    await client.reply(await question(stream), list('a'));
    await until(({ context }) => context.report?.generation === 1);
    await stream.leave();
    await until(({ value }) => JSON.stringify(value).includes('"standaloneStream":"none"'));
    await client.notify(changed);
    const answer = await wait(client, 1);
    await client.reply(await question(answer), list('b'));
    expect(urisOf(await reportIn(answer))).toEqual(['b']);
  });

  test('is asked on the other stream after closing one', async () => {
    const { url, until } = await endpoint();
    const client = await begin(url, revision, { roots });
    const older = await client.get();
    await client.reply(await question(older), list('a'));
    await until(({ context }) => context.report?.generation === 1);
    const newer = await client.get();
    await client.notify(changed);
    await client.reply(await question(newer), list('b'));
    await until(({ context }) => context.report?.generation === 2);
    await newer.leave();
    await client.notify(changed);
    await client.reply(await question(older), list('c'));
    await until(({ context }) => context.report?.generation === 3);
  });
});

test('fails requests for roots at once at a JSON-only endpoint', async () => {
  const { url } = await endpoint({ jsonResponses: true });
  const client = await begin(url, revision, { roots });
  const report = await reportIn(await wait(client, 1));
  expect(report).toMatchObject({
    status: 'failed',
    settled: false,
    roots: [],
    failure: { code: 'CAPABILITY_MISSING' },
  });
  expect(report.problem).toContain('jsonResponses');
});

type Fetch = typeof fetch;

/** Simulates a network that blocks GET streams. */
const withoutGet: Fetch = (input, init) =>
  init?.method === 'GET'
    ? Promise.resolve(new Response(null, { status: 405 }))
    : fetch(input, init);

describe.each([
  ['1.x', connectOld],
  ['2.x', connectNew],
] as const)('the official client %s', (_, connect) => {
  test.each([
    ['with a standalone stream', fetch],
    ['without a standalone stream', withoutGet],
  ] as const)(
    'returns its roots to a call, and again after a change: %s',
    async (_how, fetching) => {
      const { url, until } = await endpoint();
      let names = ['old'];
      let asked = 0;
      const client = await connect(url, fetching, () => {
        asked++;
        return list(...names);
      });
      expect(urisOf(await client.wait())).toEqual(['old']);
      names = ['new'];
      await client.changed();
      // The notification and the next call use separate connections.
      await until(({ context: { roots: machine } }) => machine?.getSnapshot().value !== 'known');
      expect(urisOf(await client.wait())).toEqual(['new']);
      expect(asked).toBe(2);
    },
  );
});

interface OfficialClient {
  wait(): Promise<RootsReport>;
  changed(): Promise<void>;
}

async function connectOld(
  url: URL,
  fetching: Fetch,
  answer: () => ReturnType<typeof list>,
): Promise<OfficialClient> {
  const client = new Client({ name: 'old', version: '1' }, { capabilities: { roots } });
  client.setRequestHandler(ListRootsRequestSchema, answer);
  const transport = new OldTransport(url, { fetch: fetching });
  await client.connect(transport as OldClientTransport);
  onTestFinished(() => client.close());
  return {
    wait: async () => reportOf({ result: (await client.callTool({ name: 'wait' })) as JsonObject }),
    changed: () => client.sendRootsListChanged(),
  };
}

async function connectNew(
  url: URL,
  fetching: Fetch,
  answer: () => ReturnType<typeof list>,
): Promise<OfficialClient> {
  const client = new NewClient(
    { name: 'new', version: '1' },
    { capabilities: { roots }, versionNegotiation: { mode: 'legacy' } },
  );
  client.setRequestHandler('roots/list', answer);
  await client.connect(new StreamableHTTPClientTransport(url, { fetch: fetching }));
  onTestFinished(() => client.close());
  return {
    wait: async () =>
      reportOf({ result: (await client.callTool({ name: 'wait' })) as unknown as JsonObject }),
    changed: () => client.sendRootsListChanged(),
  };
}
