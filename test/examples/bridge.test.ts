import { afterEach, expect, test } from 'vitest';
import { closeClients, connect, textOf } from '../e2e/sdk-client.ts';
import { program } from '../tooling/programs.ts';

afterEach(closeClients);

test("adds the example bridge's own tool to those of the server", async () => {
  const behind = [process.execPath, ...program('examples/lab/server.ts')];
  const { client } = await connect([...program('examples/bridge/server.ts'), ...behind]);
  const { tools } = await client.listTools();
  expect(tools.map(({ name }) => name).slice(0, 2)).toEqual(['calls', 'list_roots']);
  await client.callTool({ name: 'echo', arguments: { text: 'hi' } });
  const said = await client.callTool({ name: 'calls', arguments: {} });
  expect(textOf(said as never)).toBe('2');
});
