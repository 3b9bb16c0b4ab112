/** Which calls are sent once more after a loss: those alone whose tool says that this does no harm. */
import { connect } from 'mcp-actors/client';
import type { HostRequestOptions } from 'mcp-actors/client';
import { TestClock } from 'mcp-actors/testing';
import { expect, onTestFinished, test } from 'vitest';
import { greeted, scriptedServer } from './http/scripted-server.ts';
import type { Scripted } from './http/scripted-server.ts';

const annotated: { readonly [name: string]: object | undefined } = {
  plain: undefined,
  empty: {},
  denied: { readOnlyHint: false, idempotentHint: false },
  harmful: { destructiveHint: true },
  texts: { readOnlyHint: 'true', idempotentHint: 1 },
  reading: { readOnlyHint: true },
  idempotent: { idempotentHint: true },
};

const discovered = {
  resultType: 'complete',
  ttlMs: 3_600_000,
  cacheScope: 'private',
  supportedVersions: ['2026-07-28'],
  capabilities: { tools: {} },
};

/** A server of such tools, whose calls are the test's. */
const serverWith = (era: 'legacy' | 'modern', called: (asked: Scripted) => unknown) =>
  scriptedServer((asked) => {
    const { method } = asked.message ?? {};
    if (method === 'initialize') {
      const serverInfo = { name: 'scripted', version: '1' };
      const capabilities = { tools: {} };
      return asked.result({ protocolVersion: '2025-11-25', capabilities, serverInfo });
    }
    if (method === 'server/discover')
      return era === 'modern' ? asked.result(discovered) : asked.json({}, 404);
    if (method === 'tools/list') {
      const tools = Object.entries(annotated).map(([tool, annotations]) => ({
        name: tool,
        inputSchema: {},
        annotations,
      }));
      return asked.result({ ...discovered, tools });
    }
    return method === 'tools/call' ? called(asked) : greeted(asked);
  });

/** The ids of the calls that reach a server, which drops each. */
async function idsOfDropped(era: 'legacy' | 'modern', name: string, options: HostRequestOptions) {
  const server = await serverWith(era, (asked) => asked.response.socket?.destroy());
  const connection = await connect({ url: server.url.href }, { report: () => {} });
  onTestFinished(() => connection.close());
  expect(connection.server?.era).toBe(era);
  await connection.listTools();
  await expect(connection.callTool(name, {}, options)).rejects.toMatchObject({ code: 'CLOSED' });
  const calls = server.asked.filter(({ message }) => message?.method === 'tools/call');
  return calls.map(({ message }) => message?.id);
}

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
  expect(await idsOfDropped('legacy', name, { retry: 'reads' })).toHaveLength(times);
});

test.each(['reading', 'idempotent'])(
  'what a tool says of itself (%s) has nothing sent again, unless the host trusts it [HOST-27]',
  async (name) => {
    expect(await idsOfDropped('legacy', name, {})).toHaveLength(1);
  },
);

test('a request that was lost with its stream is sent again as another one [HOST-24]', async () => {
  const [first, second, ...more] = await idsOfDropped('modern', 'reading', { retry: 'reads' });
  expect(more).toEqual([]);
  expect(second).toBeDefined();
  expect(second).not.toBe(first);
});

test('a request that is sent again has no more than what is left of its time', async () => {
  const clock = new TestClock();
  let again: () => void = () => {};
  const arrived = new Promise<void>((resolve) => (again = resolve));
  let calls = 0;
  const server = await serverWith('modern', (asked) => {
    if (++calls > 1) return again();
    clock.increment(6000);
    return asked.response.socket?.destroy();
  });
  const connection = await connect({ url: server.url.href }, { clock, report: () => {} });
  onTestFinished(() => connection.close());
  await connection.listTools();
  clock.increment(5000);
  const times = { timeoutMs: 10_000, maxTotalMs: 10_000 };
  const called = connection.callTool('reading', {}, { retry: 'reads', ...times });
  const outcome = called.catch(({ code }: { readonly code: string }) => code);
  await arrived;
  clock.increment(3999);
  expect(connection.dump().pending).toMatchObject([{ method: 'tools/call', leftMs: 1 }]);
  clock.increment(1);
  expect(await outcome).toBe('REQUEST_TIMEOUT');
});
