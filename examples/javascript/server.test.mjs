import assert from 'node:assert/strict';
import { test } from 'node:test';
import { testClient } from 'mcp-actors/testing';
import { server } from './server.mjs';

test('greets by name', async (t) => {
  const client = await testClient(server);
  t.after(() => client.close());
  const { text } = await client.callTool('greet', { who: 'Ada' });
  assert.equal(text, 'Hello Ada');
});
