import type { Schema } from 'mcp-actors';
import { createMcpServer, defineTool, memory } from 'mcp-actors';
import { endOfInputContract, serverContract, transportContract } from 'mcp-actors/testing';
import type { Connect } from '../src/contract.ts';
import { describe, expect, test } from 'vitest';
import { everything } from '../../../examples/everything/server.ts';
import { server as quickstart } from '../../../examples/quickstart/server.ts';
import { sdkMemory } from '../../../test/contract/sdk-memory-wire.ts';
import { sdkStreams, streams } from '../../../test/contract/stream-wire.ts';
import { echo, tool } from '../../../test/contract/serving.ts';

const servers = {
  quickstart: () => quickstart,
  everything: () => everything,
  'a server without anything': () => createMcpServer({ name: 'empty', version: '1' }),
  'a server with pages': () =>
    createMcpServer({
      name: 'pages',
      version: '1',
      tools: Array.from({ length: 250 }, (_, n) => tool(`t${n}`, () => '')),
      resources: [],
      resourceTemplates: [],
      prompts: [],
    }),
};

describe.each(Object.entries(servers))('the contract of a server holds for %s', (_, make) => {
  test.each(serverContract)('$name', ({ check }) => check(make()));
});

const pipes: { readonly [name: string]: Connect } = { memory, stdio: streams };
const connections: { readonly [name: string]: Connect } = {
  ...pipes,
  'the SDK’s memory': sdkMemory,
  'the SDK’s stdio': sdkStreams,
};

describe.each(Object.entries(connections))(
  'the contract of a transport holds for %s',
  (_, make) => {
    test.each(transportContract)('$name', ({ check }) => check(make));
  },
);

describe.each(Object.entries(pipes))('the contract of the end of input holds for %s', (_, make) => {
  test.each(endOfInputContract)('$name', ({ check }) => check(make));
});

describe('the contracts', () => {
  test('find a tool whose schema cannot be compiled [SCHEMA-06]', async () => {
    // A library's conversion is taken as it is: its own checks are what counts.
    const toNowhere = () => ({ type: 'object', properties: { a: { $ref: '#/nowhere' } } });
    const broken = defineTool<Schema>({
      name: 'broken',
      description: 'Broken',
      inputSchema: {
        '~standard': {
          version: 1,
          vendor: 'odd',
          validate: (value) => ({ value }),
          jsonSchema: { input: toNowhere, output: toNowhere },
        },
      },
      handler: () => '',
    });
    const server = createMcpServer({ name: 'broken', version: '1', tools: [echo, broken] });
    const found = serverContract.filter(({ name }) => name.includes('compile'));
    expect(found).toHaveLength(1);
    for (const { check } of found) await expect(check(server)).rejects.toThrow('#/nowhere');
  });

  test('find a transport that loses text', async () => {
    const lossy: Connect = () => {
      const { transport, peer } = memory();
      return {
        transport,
        peer: { ...peer, sendRaw: (chunk) => peer.sendRaw(String(chunk).replaceAll('ä', 'a')) },
      };
    };
    const found = transportContract.filter(({ name }) => name.includes('any text'));
    expect(found).toHaveLength(1);
    for (const { check } of found) await expect(check(lossy)).rejects.toThrow('what came back is');
  });
});
