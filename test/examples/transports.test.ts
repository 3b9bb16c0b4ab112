import { once } from 'node:events';
import { createConnection } from 'node:net';
import type { AddressInfo } from 'node:net';
import { MessageChannel } from 'node:worker_threads';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { fromSdkTransport, toSdkTransport } from 'mcp-actors';
import { expect, test } from 'vitest';
import { everything } from '../../examples/everything/server.ts';
import { connectInProcess } from '../../examples/transports/in-process.ts';
import { MessagePortTransport } from '../../examples/transports/message-port.ts';
import { tcpServer } from '../../examples/transports/tcp.ts';

const introduction = { name: 'host', version: '1' };
const greeting = {
  content: [{ type: 'text', text: 'This is a simple text response for testing.' }],
};

test('connects a client in the same process', async () => {
  const client = await connectInProcess(everything);
  expect(await client.callTool({ name: 'test_simple_text' })).toEqual(greeting);
  await client.close();
});

test('serves a session over a message port, and ends it from either side', async () => {
  const { port1, port2 } = new MessageChannel();
  const session = everything.listen(fromSdkTransport(new MessagePortTransport(port1)));
  const client = new Client(introduction);
  await client.connect(new MessagePortTransport(port2));
  expect(await client.callTool({ name: 'test_simple_text' })).toEqual(greeting);
  await client.close();
  expect(await session.closed).toEqual({ kind: 'input-ended' });
});

test('serves a session for each socket connection', async () => {
  const server = tcpServer(everything).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const socket = createConnection((server.address() as AddressInfo).port, '127.0.0.1');
  const client = new Client(introduction);
  await client.connect(toSdkTransport({ input: socket, output: socket }));
  expect(await client.callTool({ name: 'test_simple_text' })).toEqual(greeting);
  await client.close();
  server.close();
  await once(server, 'close');
});
