/** Tests with the kit for node:test, which ends when its event loop has nothing to do. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { createMcpServer, defineTool } from 'mcp-actors';
import {
  TestClock,
  testClient,
  scriptedConversation,
  gate,
  serverContract,
} from 'mcp-actors/testing';

const door = gate();
const server = createMcpServer({
  name: 'tested',
  version: '1',
  tools: [
    defineTool({
      name: 'roots',
      description: 'Waits for roots',
      handler: async (_, context) => (await context.roots({ timeoutMs: 50 })).status,
    }),
    defineTool({
      name: 'wait',
      description: 'Waits',
      handler: async () => {
        await door.pass();
        return 'passed';
      },
    }),
  ],
});

await test('handles a client that never lists its roots', async () => {
  const client = await testClient(server, {
    capabilities: { roots: {} },
    answers: { 'roots/list': () => new Promise(() => {}) },
  });
  assert.equal((await client.callTool('roots')).text, 'failed');
  await client.close();
});

await test('tests keepalive', async () => {
  const { peer, session } = scriptedConversation(server, { limits: { keepaliveIntervalMs: 50 } });
  await peer.handshake();
  await peer.request('ping');
  peer.end();
  await session.closed;
});

await test('holds a handler open', async () => {
  const client = await testClient(server);
  const call = client.callTool('wait');
  await door.arrived();
  door.release();
  assert.equal((await call).text, 'passed');
  await client.close();
});

await test('stops the clock', async () => {
  const clock = new TestClock();
  const client = await testClient(server, { clock });
  await client.peer.quiet();
  await client.close();
  assert.equal(clock.liveTimers, 0);
});

for (const { name, check } of serverContract) await test(name, () => check(server));
