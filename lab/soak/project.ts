/** A pathological project: many files, a minified one, and misleading files that tools read. */
import { mkdirSync, mkdtempSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** @returns its directory, which contains the roots `a` and `b` */
export function makeProject(): string {
  const directory = mkdtempSync(join(tmpdir(), 'mcp-actors-soak-'));
  for (const root of ['a', 'b']) {
    for (let folder = 0; folder < 20; folder++) {
      const path = join(directory, root, `folder-${folder}`);
      mkdirSync(path, { recursive: true });
      for (let file = 0; file < 50; file++) {
        writeFileSync(join(path, `file-${file}.txt`), `line one\nneedle ${file}\n`.repeat(20));
      }
    }
    const file = (name: string, text: string) => writeFileSync(join(directory, root, name), text);
    file('minified.js', 'x'.repeat(1024 ** 2));
    file('package.json', '{"scripts":{"x":[{"toString":1}]}}');
    file('Makefile', `${'a '.repeat(20_000)}\n`);
    file('\u001b[31mred.txt', 'needle');
    symlinkSync('/', join(directory, root, 'outside'));
  }
  return directory;
}
