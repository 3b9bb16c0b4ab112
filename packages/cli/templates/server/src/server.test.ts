import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { testClient, serverContract } from 'mcp-actors/testing';
import { server } from './server.ts';

describe('roll_dice', () => {
  test('rolls as many dice as it is asked for, and adds them up', async () => {
    await using client = await testClient(server);
    const { structured } = await client.callTool('roll_dice', { sides: 2, count: 10 });
    assert.equal(structured?.rolls.length, 10);
    assert.ok(structured.sum >= 10 && structured.sum <= 20);
  });

  test('refuses a die with one side, and says why', async () => {
    await using client = await testClient(server);
    const { isError, text } = await client.callTool('roll_dice', { sides: 1 });
    assert.ok(isError);
    assert.match(text, /sides/);
  });
});

test('adventure names its hero', async () => {
  await using client = await testClient(server);
  const { messages } = await client.getPrompt('adventure', { hero: 'Ada', chapters: '2' });
  assert.match(JSON.stringify(messages), /about Ada in 2 chapters/);
});

describe('the contract of every server', () => {
  for (const { name, check } of serverContract) test(name, () => check(server));
});
