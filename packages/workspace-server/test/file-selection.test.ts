import { expect, test } from 'vitest';
import { selectFiles } from '../src/globs/file-selection.ts';
import { countTurns } from '../../../test/actors/busy-loop.ts';
import { boundaryAt } from '../../../test/roots/root-at.ts';
import { temporaryDirectory } from '../../../test/roots/temporary-directory.ts';

const never = new AbortController().signal;

test('calls that come together do not compile all their globs in one turn of the event loop', async () => {
  const boundary = boundaryAt(await temporaryDirectory());
  const turns = countTurns();
  const globs = Array<string>(8).fill('{a*,b*}'.repeat(6));
  const begin = turns.now();
  const selections = await Promise.all(
    Array.from(
      { length: 32 },
      async () => await selectFiles({ globs, purpose: 'find', boundary }, never),
    ),
  );
  expect(selections.filter(({ acceptsFile }) => acceptsFile('abbaab'))).toHaveLength(32);
  expect(turns.now() - begin).toBeGreaterThan(2);
});
