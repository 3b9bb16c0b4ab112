import { expect, onTestFinished, test } from 'vitest';
import { command, launch, reapServers } from '../e2e/server-process.ts';

test("serves the README's server with dev", async () => {
  onTestFinished(reapServers);
  const server = launch([...command, 'dev', 'examples/readme/server.ts']);
  await server.initialize();
  const params = { name: 'greet', arguments: { who: 'Ada' } };
  const { result } = await server.request(1, 'tools/call', params);
  expect(result).toMatchObject({ content: [{ type: 'text', text: 'Hello Ada' }] });
});
