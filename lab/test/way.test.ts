import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const repository = join(import.meta.dirname, '../..');

test(
  'no message exceeds its ceiling of files and file changes in lab/way/ways.ts',
  { timeout: 240_000 },
  async () => {
    const child = spawn(
      process.execPath,
      ['--import', './lab/way/marks.mjs', 'lab/way/main.ts', '--figures'],
      { cwd: repository, stdio: ['ignore', 'pipe', 'pipe'] },
    );
    const [figures, faults, [status]] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      once(child, 'exit'),
    ]);
    // Every way must have its line: one that is not measured proves nothing.
    expect(figures.match(/^ *\d+ \/ \d+ {2}.+$/gm), faults).toHaveLength(6);
    expect(figures).not.toContain('LONGER');
    expect(status, faults).toBe(0);
  },
);
