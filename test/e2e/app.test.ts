/** The app example, with the official clients of both eras over a real subprocess. */
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { afterEach, describe, expect, onTestFinished, test } from 'vitest';
import { program } from '../tooling/programs.ts';
import { closeClients, connect } from './sdk-client.ts';
import { gone, repository } from './server-process.ts';

const server = program('examples/app/server.ts');
const mimeType = 'text/html;profile=mcp-app';
const uri = 'ui://dice/view.html';
const extensions = { 'io.modelcontextprotocol/ui': { mimeTypes: [mimeType] } };
const call = { name: 'roll_dice', arguments: { dice: 3 } };

afterEach(closeClients);

async function connectModern(capabilities: object) {
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [...server],
    cwd: repository,
    stderr: 'ignore',
  });
  const client = new Client(
    { name: 'e2e', version: '1' },
    { capabilities, versionNegotiation: { mode: { pin: '2026-07-28' } } },
  );
  await client.connect(transport);
  const pid = transport.pid as number;
  onTestFinished(async () => {
    await client.close();
    await gone(pid);
  });
  return client;
}

const connectLegacy = async (capabilities: object) =>
  (await connect(server, { capabilities })).client;

describe.each([
  ['2025-11-25', connectLegacy],
  ['2026-07-28', connectModern],
] as const)('the dice app in %s', (_, connectTo) => {
  test('is found, read and given the result by a host that supports apps', async () => {
    const client = await connectTo({ extensions });
    expect(client.getServerCapabilities()?.extensions).toEqual({
      'io.modelcontextprotocol/ui': {},
    });
    const { tools } = await client.listTools();
    expect(tools.map(({ _meta }) => _meta?.['ui'])).toEqual([{ resourceUri: uri }]);
    const { contents } = await client.readResource({ uri });
    expect(contents).toMatchObject([{ uri, mimeType, _meta: { ui: { prefersBorder: true } } }]);
    expect(JSON.stringify(contents)).toContain('ui/notifications/tool-result');
    const result = await client.callTool(call);
    expect(result.content).toEqual([{ type: 'text', text: 'The user sees the dice.' }]);
    expect((result.structuredContent as { rolled: unknown[] }).rolled).toHaveLength(3);
  });

  test('is text for a host without apps', async () => {
    const client = await connectTo({});
    const { content } = await client.callTool(call);
    expect(content).toMatchObject([
      { text: expect.stringMatching(/^The dice show \d, \d, \d\.$/) as string },
    ]);
  });
});
