import { pathToFileURL } from 'node:url';
import {
  CreateMessageRequestSchema,
  ErrorCode,
  McpError,
} from '@modelcontextprotocol/sdk/types.js';
import { afterEach, describe, expect, test } from 'vitest';
import { closeClients, connect, connectAnswering, textOf } from './sdk-client.ts';
import { lab, launch, reapServers, repository } from './server-process.ts';

afterEach(closeClients);
afterEach(reapServers);

describe('the laboratory server, with the official client', () => {
  test('returns the message of echo as text and structured', async () => {
    const lab1 = await connect(lab);
    const message = 'zwölf Boxkämpfer \u2028 \ud83e\udd4a';
    const result = await lab1.callRaw('echo', { message });
    expect(textOf(result)).toBe(message);
    expect(result.structuredContent).toEqual({ message });
  });

  test('returns the settled roots with list_roots, before and after a change', async () => {
    const sdk = await connect(lab, { roots: [repository] });
    expect(await sdk.call('list_roots')).toMatchObject({
      status: 'known',
      settled: true,
      roots: [{ uri: pathToFileURL(repository).href }],
    });
    await sdk.changeRoots([]);
    expect(await sdk.call('list_roots')).toMatchObject({ status: 'known', roots: [] });
  });

  test('reports a client without roots with list_roots', async () => {
    const sdk = await connect(lab);
    expect(await sdk.call('list_roots')).toMatchObject({ status: 'undeclared', roots: [] });
    expect(sdk.rootsAsked).toBe(0);
  });

  test('returns invalid arguments as a result for the model', async () => {
    const sdk = await connect(lab);
    const result = await sdk.callRaw('slow', { ms: 'long' });
    expect(result.isError).toBe(true);
    expect(textOf(result)).toContain('ms');
  });
});

describe('the tool ask', () => {
  test.each([false, true])('counts successful requests (concurrent: %s)', async (concurrent) => {
    const sdk = await connectAnswering(lab);
    for (const kind of ['roots', 'sampling', 'elicitation']) {
      const counted = await sdk.call('ask', { kind, count: 25, concurrent });
      expect(counted).toEqual({ succeeded: 25, failed: 0, failures: [] });
    }
  });

  test('lists the codes of failed requests', async () => {
    const sdk = await connect(lab, { capabilities: { sampling: {} } });
    let asked = 0;
    sdk.client.setRequestHandler(CreateMessageRequestSchema, () => {
      asked += 1;
      if (asked % 2 === 0) throw new McpError(ErrorCode.InvalidRequest, 'The user said no');
      return { model: 'none', role: 'assistant', content: { type: 'text', text: 'Yes.' } };
    });
    expect(await sdk.call('ask', { kind: 'sampling', count: 10 })).toEqual({
      succeeded: 5,
      failed: 5,
      failures: [{ code: 'REQUEST_FAILED', remoteCode: ErrorCode.InvalidRequest, count: 5 }],
    });
  });

  test('cancels its requests with the call, and answers nothing [CANCEL-05]', async () => {
    const server = launch(lab);
    await server.initialize({ sampling: {} });
    server.send({
      id: 1,
      method: 'tools/call',
      params: { name: 'ask', arguments: { kind: 'sampling', count: 3, concurrent: true } },
    });
    const asked = await server.heard('sampling/createMessage');
    server.send({ method: 'notifications/cancelled', params: { requestId: 1 } });
    const cancelled = await server.heard('notifications/cancelled');
    expect(cancelled['params']).toMatchObject({ requestId: asked['id'] });
    await server.request(2, 'ping');
    expect(server.messages.all.filter(({ id }) => id === 1)).toEqual([]);
    expect(
      server.messages.all.filter(({ method }) => method === 'notifications/cancelled'),
    ).toHaveLength(3);
  });
});

describe('the tool slow', () => {
  test('ends early when the official client cancels, and the session continues', async () => {
    const sdk = await connect(lab);
    const controller = new AbortController();
    const call = sdk.client.callTool({ name: 'slow', arguments: { ms: 3_600_000 } }, undefined, {
      signal: controller.signal,
    });
    controller.abort('enough');
    await expect(call).rejects.toThrow('enough');
    expect(await sdk.call('echo', { message: 'still here' })).toEqual({ message: 'still here' });
  });

  test('does not block other calls, and answers are sent as they become ready', async () => {
    const server = launch(lab);
    await server.initialize();
    const call = (id: number, name: string, args: object) =>
      ({ id, method: 'tools/call', params: { name, arguments: args } }) as const;
    server.send(
      call(1, 'slow', { ms: 60 }),
      call(2, 'slow', { ms: 1 }),
      call(3, 'echo', { message: '' }),
    );
    await server.answer(1);
    const order = server.messages.all.map(({ id }) => id).filter((id) => typeof id === 'number');
    expect(order).toEqual([3, 2, 1]);
  });

  test('ends within the drain time at the end of input', async () => {
    const server = launch(lab);
    await server.initialize();
    server.send(
      { id: 1, method: 'tools/call', params: { name: 'slow', arguments: { ms: 100 } } },
      { id: 2, method: 'tools/call', params: { name: 'slow', arguments: { ms: 3_600_000 } } },
    );
    server.end();
    expect(await server.exit).toEqual({ code: 0, signal: null });
    // Calls that can end within the drain time do, and are answered.
    expect(server.messages.all.map(({ id }) => id)).toContain(1);
  });

  test.each(['SIGINT', 'SIGTERM'] as const)('exits with 0 on %s', async (signal) => {
    const server = launch(lab);
    await server.initialize();
    server.child.kill(signal);
    expect(await server.exit).toEqual({ code: 0, signal: null });
  });
});
