import { tmpdir } from 'node:os';
import { afterEach, describe, expect, test } from 'vitest';
import { launch, reapServers, workspaceCommand } from './server-process.ts';

afterEach(reapServers);

const project = { cwd: tmpdir() };
const initialize = (protocolVersion: string) => ({
  jsonrpc: '2.0',
  id: 0,
  method: 'initialize',
  params: { protocolVersion, capabilities: {}, clientInfo: { name: 'script', version: '1' } },
});
const initialized = { jsonrpc: '2.0', method: 'notifications/initialized' };
const listTools = { jsonrpc: '2.0', id: 1, method: 'tools/list' };

describe('a script with raw JSON lines', () => {
  test('may write everything at once and close its input', async () => {
    const server = launch(workspaceCommand, project);
    const lines = [initialize('2025-11-25'), initialized, listTools].map((m) => JSON.stringify(m));
    server.end(`${lines.join('\n')}\n`);
    expect(await server.exit).toEqual({ code: 0, signal: null });
    expect(server.messages.all.map(({ id }) => id)).toEqual([0, 1]);
    const { result } = await server.answer(1);
    const { tools } = result as { readonly tools: readonly { readonly name: string }[] };
    expect(tools.map(({ name }) => name)).toContain('workspace_info');
  });

  test('may use CR LF, a BOM, blank lines, and no final line feed', async () => {
    const server = launch(workspaceCommand, project);
    const lines = [initialize('2025-11-25'), initialized, listTools].map((m) => JSON.stringify(m));
    server.end(`\ufeff${lines.join('\r\n\r\n')}`);
    await server.exit;
    expect(server.messages.all.map(({ id }) => id)).toEqual([0, 1]);
  });

  test('may be received byte by byte', async () => {
    const server = launch(workspaceCommand, project);
    const text = `${JSON.stringify(initialize('2025-11-25'))}\n${JSON.stringify({ ...listTools, id: 'ü\ud83e\udd4a' })}\n`;
    for (const byte of Buffer.from(text)) {
      await server.write(Buffer.of(byte));
    }
    await server.answer('ü\ud83e\udd4a');
  });

  test.each([
    ['2024-11-05', '2024-11-05'],
    ['2025-03-26', '2025-03-26'],
    ['2025-06-18', '2025-06-18'],
    ['2025-11-25', '2025-11-25'],
    ['1999-01-01', '2025-11-25'],
  ])('that requests %s gets %s', async (asked, given) => {
    const server = launch(workspaceCommand, project);
    server.send(initialize(asked));
    const { result } = await server.answer(0);
    expect(result).toMatchObject({
      protocolVersion: given,
      serverInfo: { name: 'mcp-actors-workspace' },
    });
  });

  test('gets an error for each invalid line, and continues', async () => {
    const server = launch(workspaceCommand, project);
    await server.initialize();
    void server.write('no JSON\n');
    void server.write(Buffer.from([0x22, 0xff, 0xfe, 0x22, 0x0a]));
    void server.write('{"jsonrpc":"1.0","id":7,"method":"ping"}\n');
    void server.write('[]\n');
    await server.request(8, 'ping');
    const codes = server.messages.all.flatMap(
      ({ error }) => (error as { code: number } | undefined)?.code ?? [],
    );
    expect(codes).toEqual([-32700, -32700, -32600, -32600]);
  });

  test('may send a line up to the limit, but no longer', async () => {
    const server = launch([...workspaceCommand, '--limit', 'maxLineBytes=64KiB'], project);
    await server.initialize();
    server.send({ id: 1, method: 'ping', params: { _meta: { filler: 'x'.repeat(60_000) } } });
    await server.answer(1);
    server.send({ id: 2, method: 'ping', params: { _meta: { filler: 'x'.repeat(70_000) } } });
    await server.request(3, 'ping');
    const refused = server.messages.all.filter(({ error }) => error !== undefined);
    expect(refused).toHaveLength(1);
    expect(JSON.stringify(refused)).toContain('65536');
  });

  test('gets -32600 for requests before initialize, except ping', async () => {
    const server = launch(workspaceCommand, project);
    expect(await server.request(1, 'tools/list')).toMatchObject({ error: { code: -32600 } });
    expect(await server.request(2, 'ping')).toMatchObject({ result: {} });
  });
});
