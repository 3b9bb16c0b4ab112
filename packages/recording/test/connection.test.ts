/** A host's connection, recorded and played again. */
import { createMcpServer, defineTool, memory } from 'mcp-actors';
import { connect, openConnection } from 'mcp-actors/client';
import type { ConnectOptions } from 'mcp-actors/client';
import { readRecording, recordConnection, replay } from 'mcp-actors/recording';
import { serveHttp } from 'mcp-actors/serve';
import { gate } from 'mcp-actors/testing';
import { describe, expect, onTestFinished, test } from 'vitest';
import { toSdkTransport } from '../../../src/transports/to-sdk-transport.ts';

const held = gate();
const server = createMcpServer({
  name: 'recorded',
  version: '1.0.0',
  tools: [
    defineTool({
      name: 'echo',
      description: 'Says it again',
      inputSchema: { type: 'object', properties: { text: { type: 'string' } } },
      handler: ({ text }) => text ?? '',
    }),
    defineTool({
      name: 'order',
      description: 'Asks how many',
      handler: async (_args, context) => {
        const schema = { type: 'object', properties: { count: { type: 'integer' } } } as const;
        return JSON.stringify(await context.elicit({ message: 'How many?', schema }));
      },
    }),
    defineTool({
      name: 'wait',
      description: 'Does not end',
      handler: async (_args, { signal }) => {
        await held.pass(signal);
        return 'done';
      },
    }),
  ],
});

const transport = () => {
  const { transport: ours, peer } = memory();
  server.listen(ours, { report: () => {} });
  return toSdkTransport(peer);
};

/** Records what is done, and gives the recording's text. */
async function recorded(
  options: ConnectOptions,
  act: (connection: Awaited<ReturnType<typeof connect>>) => Promise<void>,
): Promise<string> {
  const lines: string[] = [];
  const record = recordConnection({ write: (text) => lines.push(text) });
  const connection = await connect({ transport }, { ...options, record });
  await act(connection);
  await connection.close();
  record.flush();
  return lines.join('');
}

const played = async (text: string) => {
  const { difference, note, outputs } = await replay(readRecording(text, 'it.jsonl'));
  expect(outputs).toBeGreaterThan(difference ? -1 : 10);
  return { difference, note };
};
const same = { difference: undefined, note: undefined };

describe.each(['legacy', 'modern'] as const)('a recorded connection of the %s era', (era) => {
  test('replays calls, lists, answers of the host and a cancelled call', async () => {
    const text = await recorded(
      { era, elicit: () => ({ action: 'accept', content: { count: 3 } }) },
      async (connection) => {
        connection.tools$.subscribe();
        await connection.listTools();
        await connection.callTool('echo', { text: 'hi' });
        const { content } = await connection.callTool('order');
        expect(content).toMatchObject([{ text: '{"action":"accept","content":{"count":3}}' }]);
        const controller = new AbortController();
        const waits = connection.callTool('wait', {}, { signal: controller.signal });
        await held.arrived();
        controller.abort('enough');
        await expect(waits).rejects.toMatchObject({ code: 'CANCELLED' });
        await expect(connection.callTool('none')).rejects.toThrow();
      },
    );
    expect(JSON.parse(text.split('\n')[0] ?? '')).toMatchObject({ recording: 1, side: 'host' });
    expect(await played(text)).toEqual(same);
  });
});

test('reports the first difference: another frame, another state', async () => {
  const text = await recorded({ era: 'legacy' }, async (connection) => {
    await connection.callTool('echo', { text: 'hi' });
  });
  const other = text.replace(
    '{"name":"echo","arguments":{"text":"hi"}',
    '{"name":"echo","arguments":{"text":"ho"}',
  );
  expect(other).not.toBe(text);
  const { difference } = await played(other);
  expect(difference?.problem).toBe('the replay sends a frame otherwise than the recorded session');
  const state = text.replace('"to":"ready.fresh"', '"to":"ready.stale"');
  expect(await played(state)).toMatchObject({
    difference: { problem: expect.stringContaining('in the connection machine') as string },
  });
});

test('replays an HTTP connection without HTTP: an awaited notification, calls, a lost server', async () => {
  const serving = await serveHttp(server, { port: 0 });
  onTestFinished(() => serving.close(0));
  const lines: string[] = [];
  const record = recordConnection({ write: (text) => lines.push(text) });
  const entry = { url: String(serving.url), headers: { authorization: 'Bearer open-sesame' } };
  const connection = await connect(entry, {
    record,
    era: 'legacy',
    restart: 'none',
    report: () => {},
  });
  await connection.notify('notifications/cancelled', { requestId: 99 });
  await connection.callTool('echo', { text: 'hi' });
  await Promise.all([connection.listTools(), connection.ping()]);
  await serving.close(0);
  await expect(connection.callTool('echo')).rejects.toThrow();
  await connection.close();
  record.flush();
  const text = lines.join('');
  expect(text).toContain('"taken":1');
  expect(text).not.toContain('open-sesame');
  expect(await played(text)).toEqual(same);
});

test('replays a reconnect with its original times, and records no secrets', async () => {
  const lines: string[] = [];
  const record = recordConnection({ write: (text) => lines.push(text) });
  const args = ['-e', 'console.error("API_KEY=hunter2"); process.exitCode = 3'];
  const connection = openConnection(
    { command: process.execPath, args, env: { TOKEN: 'sesame-open' } },
    { record, report: () => {}, restart: { initialMs: 5, maxMs: 5, maxAttempts: 2 } },
  );
  await expect(connection.ready()).rejects.toMatchObject({ code: 'CLOSED' });
  await connection.close();
  record.flush();
  const text = lines.join('');
  expect(text).toContain('"link":"lost"');
  for (const secret of ['hunter2', 'sesame-open']) expect(text).not.toContain(secret);
  expect(await played(text)).toEqual(same);
});
