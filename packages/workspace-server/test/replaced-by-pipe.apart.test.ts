/** A file replaced by a pipe between check and open, an order that random flipping rarely hits. */
import { closeSync, constants, openSync, rmSync } from 'node:fs';
import type * as fs from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { readProjectFacts } from '../src/project/project-facts.ts';
import { makeNamedPipe } from '../../roots/test/named-pipe.ts';
import { boundaryAt } from '../../roots/test/root-at.ts';
import { temporaryDirectory } from '../../roots/test/temporary-directory.ts';

const opening = vi.hoisted(() => ({ before: (_path: unknown): void => {} }));

vi.mock('node:fs/promises', async (importOriginal) => {
  const original = await importOriginal<typeof fs>();
  return {
    ...original,
    open: (...args: Parameters<typeof fs.open>) => {
      opening.before(args[0]);
      return original.open(...args);
    },
    readFile: (...args: Parameters<typeof fs.readFile>) => {
      opening.before(args[0]);
      return original.readFile(...args);
    },
  };
});

test.each(['.git/HEAD', '.git', 'package.json'])(
  '%s replaced by a pipe before opening does not block',
  async (name) => {
    const base = await temporaryDirectory({
      ...(name === '.git' ? {} : { '.git/HEAD': 'ref: refs/heads/main\n' }),
      [name]: name === 'package.json' ? '{"scripts":{"a":"b"}}' : 'gitdir: here\n',
    });
    const path = join(base, name);
    let replaced = 0;
    opening.before = (opened) => {
      if (opened !== path || replaced > 0) return;
      replaced += 1;
      rmSync(path);
      makeNamedPipe(path);
    };
    onTestFinished(() => {
      opening.before = () => {};
      // Releases a thread that waits for a writer, which would otherwise stay blocked forever.
      closeSync(openSync(path, constants.O_RDWR | constants.O_NONBLOCK));
    });
    const facts = await readProjectFacts(boundaryAt(base));
    expect(replaced).toBe(1);
    if (name === 'package.json') expect(facts.scripts).toEqual([]);
    else expect(facts.git).toMatchObject({ kind: 'unreadable' });
  },
);
