import { afterEach, expect, test } from 'vitest';
import { program } from '../tooling/programs.ts';
import { launch, reapServers } from './server-process.ts';

afterEach(reapServers);

test('throws errors of session listeners as uncaught exceptions, and the session continues', async () => {
  const server = launch(program('test/e2e/throwing-listeners.ts'));
  await server.initialize();
  server.child.stdin.end();
  const told = await server.log.find(() => true);
  expect(told).toMatchObject({
    kind: 'input-ended',
    states: expect.arrayContaining(['uninitialized', 'rootsKnown', 'closed']) as unknown,
  });
  expect(told['failures']).toBeGreaterThan(10);
  expect(await server.exit).toEqual({ code: 0, signal: null });
});
