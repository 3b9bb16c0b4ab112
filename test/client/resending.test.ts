/** Which calls are sent once more after a loss: those alone whose tool says that this does no harm. */
import { connect } from 'mcp-actors/client';
import { expect, onTestFinished, test } from 'vitest';
import { greeted, scriptedServer } from './http/scripted-server.ts';

const annotated: { readonly [name: string]: object | undefined } = {
  plain: undefined,
  empty: {},
  denied: { readOnlyHint: false, idempotentHint: false },
  harmful: { destructiveHint: true },
  texts: { readOnlyHint: 'true', idempotentHint: 1 },
  reading: { readOnlyHint: true },
  idempotent: { idempotentHint: true },
};

test.each<[tool: string, times: number]>([
  ['plain', 1],
  ['empty', 1],
  ['denied', 1],
  ['harmful', 1],
  ['texts', 1],
  ['unlisted', 1],
  ['reading', 2],
  ['idempotent', 2],
])('a call of a tool that is %s reaches a server that drops it %d times', async (name, times) => {
  const server = await scriptedServer((asked) => {
    const { method } = asked.message ?? {};
    if (method === 'initialize') {
      const serverInfo = { name: 'scripted', version: '1' };
      const capabilities = { tools: {} };
      return asked.result({ protocolVersion: '2025-11-25', capabilities, serverInfo });
    }
    if (method === 'server/discover') return asked.json({}, 404);
    if (method === 'tools/list') {
      const tools = Object.entries(annotated).map(([tool, annotations]) => ({
        name: tool,
        inputSchema: {},
        annotations,
      }));
      return asked.result({ tools });
    }
    if (method === 'tools/call') return asked.response.socket?.destroy();
    return greeted(asked);
  });
  const connection = await connect({ url: server.url.href }, { report: () => {} });
  onTestFinished(() => connection.close());
  await connection.listTools();
  const called = connection.callTool(name, {}, { retry: 'reads' });
  await expect(called).rejects.toMatchObject({ code: 'CLOSED' });
  const calls = server.asked.filter(({ message }) => message?.method === 'tools/call');
  expect(calls).toHaveLength(times);
});
