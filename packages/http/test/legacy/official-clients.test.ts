/** HTTP sessions with the official clients. */
import {
  Client as NewClient,
  StreamableHTTPClientTransport as NewTransport,
} from '@modelcontextprotocol/client';
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as OldTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport as OldTransportType } from '@modelcontextprotocol/sdk/shared/transport.js';
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
  ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { describe, expect, onTestFinished, test } from 'vitest';
import { defineTool } from '../../../../src/index.ts';
import { gate } from '../../../testing/src/index.ts';
import { pollTool } from '../poll-tool.ts';
import { serveTools } from '../serving.ts';

const capabilities = { roots: {}, sampling: {}, elicitation: {} };
const info = { name: 'official', version: '1' };
const roots = { roots: [{ uri: 'file:///work' }] };
const sample = { role: 'assistant', content: { type: 'text', text: 'four' }, model: 'm' } as const;
const form = { action: 'accept', content: { name: 'Ada' } } as const;

/** The common interface of both clients. */
interface Official {
  call(name: string, onprogress?: (progress: { progress: number }) => void): Promise<unknown>;
  onToolsChanged(listener: () => void): void;
  readonly sessionId: string | undefined;
}

async function oldClient(url: URL): Promise<Official> {
  const client = new OldClient(info, { capabilities });
  client.setRequestHandler(ListRootsRequestSchema, () => roots);
  client.setRequestHandler(CreateMessageRequestSchema, () => sample);
  client.setRequestHandler(ElicitRequestSchema, () => ({ ...form }));
  const transport = new OldTransport(url);
  // The SDK's types conflict under exactOptionalPropertyTypes.
  await client.connect(transport as OldTransportType);
  onTestFinished(() => client.close());
  return {
    call: (name, onprogress) =>
      client.callTool({ name, arguments: {} }, undefined, onprogress ? { onprogress } : {}),
    onToolsChanged: (listener) =>
      client.setNotificationHandler(ToolListChangedNotificationSchema, listener),
    get sessionId() {
      return transport.sessionId;
    },
  };
}

async function newClient(url: URL): Promise<Official> {
  const client = new NewClient(info, { capabilities, versionNegotiation: { mode: 'legacy' } });
  client.setRequestHandler('roots/list', () => roots);
  client.setRequestHandler('sampling/createMessage', () => sample);
  client.setRequestHandler('elicitation/create', () => ({ ...form }));
  const transport = new NewTransport(url);
  await client.connect(transport);
  onTestFinished(() => client.close());
  return {
    call: (name, onprogress) =>
      client.callTool({ name, arguments: {} }, onprogress ? { onprogress } : {}),
    onToolsChanged: (listener) =>
      client.setNotificationHandler('notifications/tools/list_changed', listener),
    get sessionId() {
      return transport.sessionId;
    },
  };
}

const ask = defineTool({
  name: 'ask',
  description: 'Asks the client for everything',
  handler: async (_, context) => {
    const report = await context.roots();
    const { content } = await context.sample({
      messages: [{ role: 'user', content: 'What is 2 + 2?' }],
      maxTokens: 9,
    });
    const answer = await context.elicit({
      message: 'Who?',
      schema: { type: 'object', properties: { name: { type: 'string' } } },
    });
    return JSON.stringify([report.roots.map(({ uri }) => uri), content, answer]);
  },
});

const count = defineTool({
  name: 'count',
  description: 'Reports progress',
  handler: (_, { progress }) => {
    progress(1, { total: 1 });
    return 'done';
  },
});

const textOf = (result: unknown) =>
  (result as { readonly content: readonly { readonly text: string }[] }).content[0]?.text;

describe.each([
  ['1.32.2', oldClient],
  ['2.4.0', newClient],
])('the official client %s', (_, connect) => {
  test('answers requests for roots, sampling and a form within a call [HTTP-16]', async () => {
    const { url } = await serveTools([ask]);
    const client = await connect(url);
    expect(client.sessionId).toMatch(/^[\x21-\x7e]+$/);
    expect(JSON.parse(textOf(await client.call('ask')) ?? '')).toEqual([
      ['file:///work'],
      [{ type: 'text', text: 'four' }],
      { action: 'accept', content: { name: 'Ada' } },
    ]);
  });

  test("receives progress on the call's stream and changes on its standalone stream [HTTP-09]", async () => {
    const { url, server } = await serveTools([count]);
    const client = await connect(url);
    const changed = new Promise<void>((resolve) => client.onToolsChanged(resolve));
    const steps: number[] = [];
    await client.call('count', ({ progress }) => steps.push(progress));
    expect(steps).toEqual([1]);
    server.tools.add(ask);
    await changed;
  });

  test('polls for a call whose connection was closed, and gets the result [HTTP-06]', async () => {
    const away = gate();
    const { url, told } = await serveTools([pollTool(away)], { limits: { retryMs: 1 } });
    const client = await connect(url);
    const result = client.call('poll');
    await told('stream.resumed');
    away.release();
    expect(textOf(await result)).toBe('done');
  });

  test('resumes a cut stream without loss [HTTP-12]', async () => {
    const over = gate();
    const flood = defineTool({
      name: 'flood',
      description: 'Says more than may be unread, in one go',
      handler: async (_, context) => {
        for (let n = 0; n < 8; n++) context.notify('test/step', { text: 'x'.repeat(2 ** 20) });
        await over.pass();
        return 'done';
      },
    });
    const limits = { retryMs: 1, maxUnreadBytes: 2 ** 20, maxEventBytes: 2 ** 25 };
    const { url, told } = await serveTools([flood], { limits });
    const client = await connect(url);
    const result = client.call('flood');
    await told('stream.cut');
    await told('stream.resumed');
    over.release();
    expect(textOf(await result)).toBe('done');
  });
});
