import { expect, test } from 'vitest';
import { selectFiles } from '../src/globs/file-selection.ts';
import { countTurns } from '../../../test/actors/busy-loop.ts';

const never = new AbortController().signal;

test('concurrent calls compile their globs in different event loop turns', async () => {
  const turns = countTurns();
  const globs = Array<string>(8).fill('{a*,b*}'.repeat(6));
  const query = { globs, purpose: 'find', root: '/root', pathOf: async () => undefined } as const;
  const begin = turns.now();
  const selections = await Promise.all(
    Array.from({ length: 32 }, async () => await selectFiles(query, never)),
  );
  expect(selections.filter(({ acceptsFile }) => acceptsFile('abbaab'))).toHaveLength(32);
  expect(turns.now() - begin).toBeGreaterThan(2);
});
