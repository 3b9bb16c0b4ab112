/** The handler's context as handlers use it. */
import { expect, test } from 'vitest';
import { operate, textOf, tool } from '../contract/serving.ts';

test('a handler may take its context apart', async () => {
  const apart = tool('apart', async (_, { roots, progress, request, sample, client }) => {
    progress(1);
    const { status } = await roots();
    const failures = await Promise.allSettled([
      request('roots/list'),
      sample({ messages: [], maxTokens: 1 }),
    ]);
    return JSON.stringify([client.info.name, status, failures.map((each) => each.status)]);
  });
  const { peer } = await operate({ tools: [apart] });
  const [, status, failures] = JSON.parse(textOf(await peer.call('apart')));
  expect(status).toBe('undeclared');
  expect(failures).toEqual(['rejected', 'rejected']);
});
