/** A host's connection to servers of ours, in both eras. */
import { createMcpServer, defineTool, memory } from 'mcp-actors';
import { connect } from 'mcp-actors/client';
import type { ConnectOptions, Connection } from 'mcp-actors/client';
import { gate } from 'mcp-actors/testing';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { toSdkTransport } from '../../../src/transports/to-sdk-transport.ts';

const open: Connection[] = [];
afterEach(async () => {
  for (const connection of open.splice(0)) await connection.close();
});

/** Holds the calls of `wait`. */
let held = gate();
beforeEach(() => (held = gate()));

const server = createMcpServer({
  name: 'ours',
  version: '1.0.0',
  tools: [
    defineTool({
      name: 'echo',
      description: 'Says it again',
      inputSchema: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
      handler: ({ text }) => text,
    }),
    defineTool({
      name: 'order',
      description: 'Asks how many',
      handler: async (_args, context) => {
        const schema = {
          type: 'object',
          properties: { count: { type: 'integer' } },
          required: ['count'],
        } as const;
        const answer = await context.elicit({ message: 'How many?', schema: schema as never });
        return JSON.stringify(answer);
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
    defineTool({
      name: 'step',
      description: 'Takes one step, and waits to be cancelled',
      handler: async (_args, context) => {
        context.progress(1);
        await held.pass(context.signal);
        return 'done';
      },
    }),
  ],
});

/** A new session of the server for each channel. */
const transport = () => {
  const { transport: ours, peer } = memory();
  server.listen(ours, { report: () => {} });
  return toSdkTransport(peer);
};

async function connected(options: ConnectOptions = {}): Promise<Connection> {
  const connection = await connect({ transport }, options);
  open.push(connection);
  return connection;
}

describe.each(['legacy', 'modern'] as const)('a connection of the %s era', (era) => {
  test('knows its server, lists its tools and calls them', async () => {
    const connection = await connected({ era });
    expect(connection.state.value).toBe('ready');
    expect(connection.server).toMatchObject({ era, info: { name: 'ours', version: '1.0.0' } });
    const tools = await connection.listTools();
    expect(tools.map(({ name }) => name)).toEqual(['echo', 'order', 'wait', 'step']);
    const { content } = await connection.callTool('echo', { text: 'hello' });
    expect(content).toEqual([{ type: 'text', text: 'hello' }]);
  });

  test('answers what the server asks', async () => {
    const asked: unknown[] = [];
    const connection = await connected({
      era,
      elicit: (form) => {
        asked.push(form.message);
        return { action: 'accept', content: { count: 3 } };
      },
    });
    const { content } = await connection.callTool('order');
    expect(content).toEqual([{ type: 'text', text: '{"action":"accept","content":{"count":3}}' }]);
    expect(asked).toEqual(['How many?']);
  });

  test("gives the server's own error untouched", async () => {
    const connection = await connected({ era });
    await expect(connection.callTool('none')).rejects.toMatchObject({
      name: 'ProtocolError',
      code: -32602,
    });
  });

  test('settles what is pending with CLOSED when it is closed, and refuses what is asked then with NOT_READY', async () => {
    const connection = await connected({ era });
    const waiting = connection.callTool('wait');
    await held.arrived();
    expect(connection.pending).toBe(1);
    const closed = connection.close();
    const closing = connection.ping();
    await expect(waiting).rejects.toMatchObject({ code: 'CLOSED' });
    await expect(closing).rejects.toMatchObject({ code: 'NOT_READY' });
    await closed;
    expect(connection.state.value).toBe('closed');
    const notReady = { code: 'NOT_READY', message: expect.stringContaining('is closed') as string };
    const asked = [
      connection.callTool('echo', { text: 'x' }),
      connection.listTools(),
      connection.request('ping', undefined, { retry: 'reads' }),
      connection.notify('x/told'),
      connection.subscribe('test://a'),
      connection.ready(),
    ];
    for (const each of asked) await expect(each).rejects.toMatchObject(notReady);
  });

  test.each(['never', 'reads'] as const)(
    'ends a call with what its progress callback throws, and no other call (retry: %s)',
    async (retry) => {
      const connection = await connected({ era });
      const thrown = new Error('the callback is broken');
      const onProgress = () => {
        throw thrown;
      };
      const broken = connection.callTool('step', {}, { onProgress, retry });
      const other = connection.callTool('wait');
      await expect(broken).rejects.toBe(thrown);
      held.release();
      expect(await other).toMatchObject({ content: [{ text: 'done' }] });
      expect(connection.pending).toBe(0);
    },
  );

  test('cancels a call on the wire [HOST-18]', async () => {
    const connection = await connected({ era });
    const sent: unknown[] = [];
    connection.traffic$.subscribe(({ direction, method }) => {
      if (direction === 'out') sent.push(method);
    });
    const controller = new AbortController();
    const waiting = connection.callTool('wait', {}, { signal: controller.signal });
    await held.arrived();
    controller.abort(new Error('enough'));
    await expect(waiting).rejects.toMatchObject({ code: 'CANCELLED' });
    expect(sent).toEqual(['tools/call', 'notifications/cancelled']);
  });
});

test('asks a server of both eras for the modern one', async () => {
  const connection = await connected();
  expect(connection.server?.era).toBe('modern');
});
