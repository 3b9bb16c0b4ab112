import { describe, expect, test } from 'vitest';
import { scriptFiles } from '../../src/workspace/declared-scripts.ts';
import type { ScriptFile } from '../../src/workspace/declared-scripts.ts';

const totalCharacters = 20_000;

/** What the grammars of these files are made of. */
const alphabet = 'a _\t:=./"\'\\[]{,*@\n'.split('');

/** Each character and each pair of two: the shapes from which a pattern that tries again gets its square. */
const units = alphabet.flatMap((first) => ['', ...alphabet].map((second) => first + second));

/** What stands before them: the beginning of a rule, of a string, of the section that is looked at. */
const openings = ['', 'a ', '"', '{"tasks":{"', '[project.scripts]\n'];

/** One file of this size, in lines of this length that begin so. */
function fileOf(unit: string, opening: string, size: number, lineLength: number): string {
  const line = opening + unit.repeat(lineLength).slice(0, Math.max(0, lineLength - opening.length));
  return Array.from({ length: size / lineLength }, () => line).join('\n');
}

/** Under this, milliseconds, nothing of this size is worth a comparison. */
const negligible = 2;

/** The least time of at most three, milliseconds: whatever else the machine does can only add to it. */
function costOf({ read }: ScriptFile, text: string, times = 1): number {
  let least = Infinity;
  for (let run = 0; run < 3 && least > negligible; run += 1) {
    const start = performance.now();
    for (let count = 0; count < times; count += 1) attempt(read, text);
    least = Math.min(least, performance.now() - start);
  }
  return least;
}

function attempt(read: ScriptFile['read'], text: string): void {
  try {
    read(text);
  } catch (error) {
    expect(error).toBeInstanceOf(SyntaxError);
  }
}

describe('a hostile file costs no more than its size', () => {
  // Makefile, makefile and GNUmakefile are read in one way; so it is with the others.
  const kinds = scriptFiles.filter(
    ({ read }, index) => index === scriptFiles.findIndex((other) => other.read === read),
  );
  test.each(kinds.map((kind) => [kind.file, kind] as const))('%s', (_, kind) => {
    for (const opening of openings) {
      for (const unit of units) {
        for (const lineLength of [totalCharacters, 1000]) {
          const large = costOf(kind, fileOf(unit, opening, totalCharacters, lineLength));
          if (large < negligible) continue;
          const piece = fileOf(unit, opening, 40, 40);
          const small = costOf(kind, piece, totalCharacters / 40);
          // Both hold as many characters: what is read once costs about the same, what is read again and again 25 times as much and more.
          expect(large / small, JSON.stringify({ opening, unit, lineLength })).toBeLessThan(8);
        }
      }
    }
  });
});

test('a string that ends in the middle of an escape, in a file of the largest size, is an error in its terms', () => {
  const [deno] = scriptFiles.filter(({ file }) => file === 'deno.json');
  for (const text of ['"\\'.repeat(2 ** 19), `"${'a'.repeat(2 ** 20)}`, '"a'.repeat(2 ** 19)]) {
    expect(() => deno?.read(text)).toThrow(SyntaxError);
  }
});
