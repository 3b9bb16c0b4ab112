/** The official reference server as users launch it: by npx, which is a wrapper with a grandchild. The process table is looked at afterwards. */
import { fileURLToPath } from 'node:url';
import { connect } from 'mcp-actors/client';
import type { ConnectOptions, Connection } from 'mcp-actors/client';
import { afterEach, describe, expect, test } from 'vitest';
import { emptied, expectEmpty, processTable } from '../../processes/test/process-table.ts';

/** Where npx finds the command without asking a registry. */
const cwd = fileURLToPath(new URL('../../..', import.meta.url));

let launched = 0;
const open: Connection[] = [];
afterEach(async () => {
  for (const connection of open.splice(0)) await connection.close();
});

/** A connection, and the processes that bear its mark: the server ignores it. */
async function throughNpx(options: ConnectOptions = {}) {
  const mark = `mark-${process.pid}-${++launched}`;
  const args = ['--no', '--', 'mcp-server-everything', 'stdio', mark];
  const connection = await connect(
    { command: 'npx', args, cwd },
    { limits: { connectTimeoutMs: 60_000 }, report: () => {}, ...options },
  );
  open.push(connection);
  const marked = processTable().filter(({ command }) => command.includes(mark));
  const server = marked.find(({ command }) => command.includes('.bin/mcp-server-everything'));
  const group = server?.group as number;
  expect(new Set(marked.map((each) => each.group))).toEqual(new Set([group]));
  // The wrapper leads the group, and the server is not its child.
  const wrapper = marked.find(({ pid }) => pid === group);
  expect(wrapper?.command).toMatch(/^npm exec /);
  expect(server?.parent).not.toBe(group);
  return { connection, group, server: server?.pid as number };
}

/** A call that the server has begun and does not end soon. */
async function begun(connection: Connection) {
  const args = { duration: 600, steps: 60_000 };
  let arrive = () => {};
  const arrived = new Promise<void>((resolve) => (arrive = resolve));
  const result = connection.callTool('trigger-long-running-operation', args, {
    onProgress: () => arrive(),
  });
  result.catch(() => {});
  await arrived;
  return { result };
}

describe('a server that npx has started', () => {
  test('serves, asks, and is gone with its wrapper when the connection is closed', async () => {
    const asked: string[] = [];
    const { connection, group } = await throughNpx({
      roots: [{ uri: 'file:///work', name: 'work' }],
      elicit: () => {
        asked.push('elicit');
        return { action: 'decline' };
      },
      sample: () => {
        asked.push('sample');
        const content = { type: 'text', text: 'forty-two' } as const;
        return { role: 'assistant', content, model: 'none' };
      },
    });
    expect(connection.server).toMatchObject({ era: 'legacy', revision: '2025-11-25' });
    expect(connection.launches).toBe(1);
    const tools = (await connection.listTools()).map(({ name }) => name);
    expect(tools).toEqual(expect.arrayContaining(['echo', 'get-sum', 'trigger-sampling-request']));
    expect(await connection.callTool('get-sum', { a: 2, b: 40 })).toMatchObject({
      content: [{ text: expect.stringContaining('42') as string }],
    });
    expect(JSON.stringify(await connection.callTool('get-roots-list'))).toContain('file:///work');
    const sampled = await connection.callTool('trigger-sampling-request', { prompt: 'What?' });
    expect(JSON.stringify(sampled)).toContain('forty-two');
    await connection.callTool('trigger-elicitation-request');
    expect(asked).toEqual(['sample', 'elicit']);
    const [resource] = await connection.listResources();
    const { contents } = await connection.readResource(resource?.uri as string);
    expect(contents).toHaveLength(1);
    expect(await connection.getPrompt('simple-prompt')).toHaveProperty('messages');
    await connection.close();
    expectEmpty(group);
  });

  test('is ended, and its call settled at once, when the wrapper alone is killed', async () => {
    const { connection, group } = await throughNpx({ restart: 'none' });
    const { result } = await begun(connection);
    process.kill(group, 'SIGKILL');
    await expect(result).rejects.toMatchObject({
      code: 'CLOSED',
      exit: { code: null, signal: 'SIGKILL' },
    });
    await emptied(group);
  });

  test('takes its wrapper with it when it is killed, and is started again by another', async () => {
    const { connection, group, server } = await throughNpx({ restart: { initialMs: 1 } });
    const { result } = await begun(connection);
    process.kill(server, 'SIGKILL');
    await expect(result).rejects.toMatchObject({ code: 'CLOSED' });
    expect(await connection.callTool('echo', { message: 'again' })).toMatchObject({
      content: [{ text: expect.stringContaining('again') as string }],
    });
    expect(connection.launches).toBe(2);
    expectEmpty(group);
  });
});
