/**
 * Both eras of one command: the official client of both, and lines as sent by real hosts, over a
 * real subprocess.
 */
import { afterEach, describe, expect, test } from 'vitest';
import { enveloped } from 'mcp-actors/testing';
import { connect, textOf } from './both-eras-client.ts';
import type { Negotiation } from './both-eras-client.ts';
import { lab, launch, reapServers, workspaceCommand } from './server-process.ts';
import type { Line, ServerProcess } from './server-process.ts';

afterEach(reapServers);

const probe = enveloped('probe', 'server/discover');

describe('the official client of both eras', () => {
  test.each([
    ['the laboratory server', lab, 'lab'],
    ['the workspace server', workspaceCommand, 'mcp-actors-workspace'],
  ])('discovers %s, and continues in the modern era', async (_, args, name) => {
    const client = await connect(args);
    expect(client.getProtocolEra()).toBe('modern');
    expect(client.getServerVersion()?.name).toBe(name);
    expect(client.getDiscoverResult()).toMatchObject({
      supportedVersions: ['2026-07-28'],
      ttlMs: 0,
      cacheScope: 'private',
      instructions: expect.any(String) as string,
    });
    const { tools } = await client.listTools();
    expect(tools.length).toBeGreaterThan(2);
  });

  test.each<[Negotiation, string]>([
    ['auto', '2026-07-28'],
    [{ pin: '2026-07-28' }, '2026-07-28'],
    ['legacy', '2025-11-25'],
  ])('with negotiation %j calls a tool in %s', async (mode, version) => {
    const client = await connect(lab, { mode });
    expect(client.getNegotiatedProtocolVersion()).toBe(version);
    const result = await client.callTool({ name: 'echo', arguments: { message: 'hi' } });
    expect(result).toMatchObject({
      content: [{ type: 'text', text: 'hi' }],
      structuredContent: { message: 'hi' },
    });
  });

  test('works in the project in which the workspace server was started', async () => {
    const client = await connect(workspaceCommand);
    const found = await client.callTool({
      name: 'find_files',
      arguments: { globs: ['package.json'] },
    });
    expect(found.isError ?? false).toBe(false);
    expect(textOf(found)).toContain('package.json');
  });

  test('gets an error with its code, and a result for the model', async () => {
    const client = await connect(lab);
    await expect(client.callTool({ name: 'nothing' })).rejects.toMatchObject({ code: -32602 });
    const result = await client.callTool({ name: 'slow', arguments: { ms: 'long' } });
    expect(result.isError).toBe(true);
  });

  test('cancels a call, and continues', async () => {
    const client = await connect(lab);
    const controller = new AbortController();
    const slow = client.callTool(
      { name: 'slow', arguments: { ms: 600_000 } },
      { signal: controller.signal },
    );
    await client.callTool({ name: 'echo', arguments: { message: 'meanwhile' } });
    controller.abort('enough');
    await expect(slow).rejects.toThrow('enough');
    await client.callTool({ name: 'echo', arguments: { message: 'after' } });
  });
});

describe('discovery', () => {
  const discovered = (server: ServerProcess) => {
    server.send(probe);
    return server.answer('probe');
  };
  const order = (lines: readonly Line[]) =>
    lines.flatMap(({ id }) => (id === undefined ? [] : [id]));

  test('does not wait for slow roots', async () => {
    const server = launch(workspaceCommand);
    await server.initialize({ roots: { listChanged: true } });
    await server.heard('roots/list');
    server.send({ id: 1, method: 'tools/call', params: { name: 'workspace_info', arguments: {} } });
    const { result } = await discovered(server);
    expect(result).toMatchObject({ supportedVersions: ['2026-07-28'] });
    expect(order(server.messages.all)).not.toContain(1);
    expect(server.violations).toEqual([]);
  });

  test('does not wait for a running call', async () => {
    const server = launch(lab);
    const call = { name: 'slow', arguments: { ms: 100 } };
    server.send(enveloped(1, 'tools/call', call), probe);
    await Promise.all([1, 'probe'].map((id) => server.answer(id)));
    expect(order(server.messages.all).at(0)).toBe('probe');
    expect(server.violations).toEqual([]);
  });

  test('sent first lets a client of either era continue', async () => {
    const server = launch(workspaceCommand);
    await discovered(server);
    const { result } = await server.initialize();
    expect(result).toMatchObject({ protocolVersion: '2025-11-25' });
    expect(server.violations).toEqual([]);
  });
});
