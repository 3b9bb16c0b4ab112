/**
 * Ten features written with the official SDK, fastmcp and this library behave the same for the
 * official SDK's client.
 */
import { existsSync } from 'node:fs';
import { cp, mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import {
  ElicitRequestSchema,
  ListRootsRequestSchema,
  LoggingMessageNotificationSchema,
  ProgressNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { TestContext } from 'vitest';
import { connect } from '../../packages/client/src/index.ts';
import { repository } from '../e2e/server-process.ts';
import { program } from '../tooling/programs.ts';

const installed = join(repository, 'lab/bench/node_modules');

/** The fastmcp example, next to the packages installed by the benchmark. */
async function fastmcp(context: TestContext): Promise<readonly string[]> {
  context.skip(
    !existsSync(join(installed, 'fastmcp')),
    'fastmcp is not installed: npm ci in lab/bench/',
  );
  const folder = await mkdtemp(join(tmpdir(), 'fastmcp-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  await symlink(installed, join(folder, 'node_modules'), 'junction');
  await cp(join(repository, 'examples/coming-from/fastmcp.mjs'), join(folder, 'fastmcp.mjs'));
  return [join(folder, 'fastmcp.mjs')];
}

const servers = [
  ['mcp-actors', async () => program('examples/coming-from/mcp-actors.ts')],
  ['the official SDK', async () => program('examples/coming-from/sdk.ts')],
  ['fastmcp', fastmcp],
] as const;

describe.for(servers)('ten common features with %s', ([, argsOf]) => {
  test('look the same to a client', async (context) => {
    const args = await argsOf(context);
    const client = new Client(
      { name: 'editor', version: '1.0.0' },
      { capabilities: { roots: { listChanged: true }, elicitation: {} } },
    );
    const logged: unknown[] = [];
    client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => {
      logged.push(params.data);
    });
    client.setRequestHandler(ListRootsRequestSchema, () => ({ roots: [{ uri: 'file:///app' }] }));
    client.setRequestHandler(ElicitRequestSchema, () => ({
      action: 'accept',
      content: { sure: true },
    }));
    await client.connect(
      new StdioClientTransport({ command: process.execPath, args: [...args], stderr: 'ignore' }),
    );
    onTestFinished(() => client.close());
    // Not as an option of the call, because the client drops it with the result, before reading
    // progress in the same chunk.
    const progress: unknown[] = [];
    client.setNotificationHandler(ProgressNotificationSchema, ({ params }) => {
      progress.push(params);
    });
    const call = (name: string, values: Record<string, unknown> = {}) =>
      client.callTool({ name, arguments: values, _meta: { progressToken: name } });

    expect(await call('add_note', { id: 'second', text: 'Call Ada today' })).toMatchObject({
      content: [{ text: 'Added second' }],
    });
    expect(await call('count_words', { id: 'second' })).toMatchObject({
      structuredContent: { words: 3 },
    });
    expect(await call('read_note', { id: 'third' })).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining('There is no note "third"') }],
    });
    expect(await client.readResource({ uri: 'notes://welcome' })).toMatchObject({
      contents: [{ text: 'One thought each.' }],
    });
    expect(await client.readResource({ uri: 'notes://all/second' })).toMatchObject({
      contents: [{ text: 'Call Ada today' }],
    });
    const { completion } = await client.complete({
      ref: { type: 'ref/resource', uri: 'notes://all/{id}' },
      argument: { name: 'id', value: 'sec' },
    });
    expect(completion.values).toEqual(['second']);
    expect(await client.getPrompt({ name: 'summary', arguments: { id: 'first' } })).toMatchObject({
      messages: [{ role: 'user', content: { text: 'Sum up: Buy milk' } }],
    });
    expect(await call('export_notes')).toMatchObject({
      content: [{ text: 'Exported 2' }],
    });
    await client.ping();
    expect(progress.at(-1)).toMatchObject({ progress: 2, total: 2 });
    expect(logged).toHaveLength(2);
    expect(await call('where')).toMatchObject({ content: [{ text: 'file:///app' }] });
    expect(await call('clear_notes')).toMatchObject({ content: [{ text: 'Deleted' }] });
  });
});

test.each(['legacy', 'modern'] as const)(
  'behaves like the official SDK 2, where it differs, for a client of the %s era',

  async (era) => {
    const sure = { action: 'accept' as const, content: { sure: true } };
    const entry = {
      command: process.execPath,
      args: [...program('examples/coming-from/sdk-2.ts')],
    };
    const connection = await connect(entry, { era, elicit: () => sure });
    onTestFinished(() => connection.close());
    expect(connection.server?.era).toBe(era);
    const progress: unknown[] = [];
    const onProgress = (each: unknown) => progress.push(each);
    expect(await connection.callTool('add_note', { id: 'second' })).toMatchObject({
      content: [{ text: 'Added second' }],
    });
    expect(await connection.callTool('export_notes', {}, { onProgress })).toMatchObject({
      content: [{ text: 'Exported 2' }],
    });
    expect(progress.at(-1)).toMatchObject({ progress: 2, total: 2 });
    expect(await connection.callTool('clear_notes')).toMatchObject({
      content: [{ text: 'Deleted' }],
    });
  },
);
