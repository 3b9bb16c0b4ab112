/** The test kit's client of 2026-07-28: the same calls and the same answers as in the other revisions. */
import { ProtocolError, createMcpServer, defineResource, defineTool } from 'mcp-actors';
import { ErrorAnswer, testClient, gate } from 'mcp-actors/testing';
import type { TestClientOptions } from 'mcp-actors/testing';
import { describe, expect, onTestFinished, test } from 'vitest';
import { officialSchemas } from '../../../test/contract/official-schemas.ts';

const person = {
  type: 'object',
  properties: { name: { type: 'string' } },
  required: ['name'],
} as const;

const door = gate();

function makeServer() {
  return createMcpServer({
    name: 'kit',
    version: '1.0.0',
    instructions: 'Be kind',
    logging: {},
    tools: [
      defineTool({
        name: 'add',
        description: 'Adds',
        inputSchema: {
          type: 'object',
          properties: { a: { type: 'number' }, b: { type: 'number' } },
          required: ['a', 'b'],
        },
        outputSchema: {
          type: 'object',
          properties: { sum: { type: 'number' } },
          required: ['sum'],
        },
        handler: ({ a, b }) => ({ structured: { sum: a + b } }),
      }),
      defineTool({
        name: 'interview',
        description: 'Asks for all that a client can be asked for, in three rounds',
        handler: async (_, context) => {
          context.progress(1);
          const answer = await context.elicit({ message: 'Who?', schema: person });
          context.progress(2);
          const { text } = await context.sample({
            messages: [{ role: 'user', content: 'Greet them' }],
            maxTokens: 9,
          });
          const { roots } = await context.roots();
          const who = answer.action === 'accept' ? answer.content.name : answer.action;
          return `${text}, ${who}, of ${roots.map(({ uri }) => uri).join()}`;
        },
      }),
      defineTool({
        name: 'insist',
        description: 'Asks until somebody accepts',
        handler: async (_, context) => {
          for (;;) {
            const { action } = await context.elicit({ message: 'Now?', schema: person });
            if (action === 'accept') return 'at last';
          }
        },
      }),
      defineTool({
        name: 'work',
        description: 'Reports progress, logs, then waits',
        handler: async (_, context) => {
          context.progress(1, { total: 2 });
          context.log.warning('it takes long');
          await door.pass(context.signal);
          return 'done';
        },
      }),
    ],
    resources: [defineResource({ uri: 'a:b', name: 'ab', read: () => 'the text' })],
  });
}

async function open(options: TestClientOptions = {}) {
  const server = makeServer();
  const client = await testClient(server, {
    revision: '2026-07-28',
    check: officialSchemas,
    ...options,
  });
  onTestFinished(async () => {
    await client.close();
    expect(client.peer.violations).toEqual([]);
  });
  return { client, server };
}

const answers: TestClientOptions = {
  elicit: () => ({ action: 'accept', content: { name: 'Ada' } }),
  sample: () => ({ role: 'assistant', model: 'm', content: { type: 'text', text: 'Good day' } }),
  roots: ['file:///home/ada'],
};

describe('a test client of 2026-07-28', () => {
  test("exposes the server's description, and calls its tools", async () => {
    const { client } = await open();
    expect(client.hello).toMatchObject({
      supportedVersions: ['2026-07-28'],
      instructions: 'Be kind',
    });
    expect(client.session.state).toBe('uninitialized');
    expect((await client.listTools()).map(({ name }) => name)).toContain('add');
    expect((await client.callTool('add', { a: 1, b: 2 })).structured).toEqual({ sum: 3 });
    expect((await client.readResource('a:b')).text).toBe('the text');
    expect(client.session.state).toBe('modern');
  });

  test.each(['keep', 'replay'] as const)(
    "answers a call's questions as in other revisions (resume: %s)",
    async (resume) => {
      const { client } = await open({ ...answers, resume });
      const progress: unknown[] = [];
      const { text } = await client.callTool(
        'interview',
        {},
        { onProgress: (report) => progress.push(report.progress) },
      );
      expect(text).toBe('Good day, Ada, of file:///home/ada');
      expect(progress[0]).toBe(1);
      expect(client.peer.received.filter((frame) => 'method' in (frame as object))).toHaveLength(
        progress.length,
      );
      await using before = await testClient(makeServer(), answers);
      expect((await before.callTool('interview')).text).toBe(text);
    },
  );

  test('rejects a call if its question has no answer or the answer throws', async () => {
    const { client } = await open({ capabilities: { elicitation: {} } });
    await expect(client.callTool('interview')).rejects.toThrow('no answer to elicitation/create');
    const { client: unkind } = await open({
      elicit: () => {
        throw new ProtocolError(-1, 'The user said no');
      },
    });
    await expect(unkind.callTool('interview')).rejects.toThrow('The user said no');
    const { client: incapable } = await open();
    await expect(incapable.callTool('interview')).rejects.toMatchObject({
      error: { code: -32021 },
    });
  });

  test('rejects a call that asks endlessly', async () => {
    const { client } = await open({
      elicit: () => ({ action: 'decline' }),
      limits: { maxRounds: 1000, maxRequestStateBytes: 10_000_000 },
    });
    await expect(client.callTool('insist')).rejects.toThrow('has asked 200 times');
  });

  test('cancels a call while it runs and while it asks', async () => {
    const { client } = await open({ elicit: () => ({ action: 'accept', content: {} }) });
    const abort = new AbortController();
    const call = client.callTool('work', {}, { signal: abort.signal });
    await door.arrived();
    abort.abort(new Error('enough'));
    await expect(call).rejects.toThrow('enough');

    const asked = new AbortController();
    const { client: slow } = await open({
      elicit: (_, signal) => {
        asked.abort(new Error('no more'));
        expect(signal.aborted).toBe(true);
        return { action: 'decline' };
      },
    });
    const insisting = slow.callTool('insist', {}, { signal: asked.signal });
    await expect(insisting).rejects.toThrow('no more');
  });

  test('receives log messages after setting a level', async () => {
    const { client } = await open();
    door.release();
    await client.callTool('work');
    expect(client.peer.count('notifications/message')).toBe(0);
    await client.setLogLevel('warning');
    await client.callTool('work');
    expect(await client.nextNotification('notifications/message')).toMatchObject({
      data: 'it takes long',
    });
  });

  test('listens for changes until it closes', async () => {
    const { client, server } = await open();
    const listening = await client.listen({ toolsListChanged: true, promptsListChanged: true });
    expect(listening.filter).toEqual({ toolsListChanged: true });
    server.tools.disable('add');
    await client.nextNotification('notifications/tools/list_changed');
    listening.close();
    await expect(listening.ended).resolves.toBeUndefined();

    await client.subscribe('a:b');
    server.resourceUpdated('a:b');
    expect(await client.nextNotification('notifications/resources/updated')).toMatchObject({
      uri: 'a:b',
    });
    await client.unsubscribe('a:b');
    server.resourceUpdated('a:b');
    await client.listTools();
    expect(client.peer.count('notifications/resources/updated')).toBe(1);

    const refused = client.listen({ resourceSubscriptions: ['no uri'] });
    await expect(refused).rejects.toBeInstanceOf(ErrorAnswer);
    const last = await client.listen({ toolsListChanged: true });
    await client.close();
    await expect(last.ended).resolves.toMatchObject({ resultType: 'complete' });
  });
});

test('names a feature that the revision lacks', async () => {
  const { client } = await open(answers);
  expect(() => client.changeRoots([])).toThrow(
    '2026-07-28 has no notifications/roots/list_changed',
  );
  await using old = await testClient(makeServer());
  await expect(old.listen({ toolsListChanged: true })).rejects.toThrow(
    '2025-11-25 has no subscriptions/listen',
  );
});
