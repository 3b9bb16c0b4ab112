import { describe, expect, test } from 'vitest';
import { pieceCharacters, scriptFiles } from '../src/project/declared-scripts.ts';
import type { ScriptFile } from '../src/project/declared-scripts.ts';

const totalCharacters = 20_000;

/** What the grammars of these files are made of. */
const alphabet = 'a _\t:=./"\'\\[]{,*@\n'.split('');

/** Each character and each pair of two: the shapes from which a pattern that tries again gets its square. */
const units = alphabet.flatMap((first) =>
  ['', ...alphabet].flatMap((second) => (second === first ? [] : first + second)),
);

/** What stands before them: the beginning of a rule, of a string, of the section that is looked at. */
const openings = ['', 'a ', '"', '{"tasks":{"', '[project.scripts]\n'];

const shapes = openings.flatMap((opening) =>
  units.flatMap((unit) =>
    [totalCharacters, 1000].map((lineLength) => ({ opening, unit, lineLength })),
  ),
);

/** One file of this size, in lines of this length that begin so. */
function fileOf(unit: string, opening: string, size: number, lineLength: number): string {
  const line = opening + unit.repeat(lineLength).slice(0, Math.max(0, lineLength - opening.length));
  return Array.from({ length: size / lineLength }, () => line).join('\n');
}

/** Under this, milliseconds of the processor, nothing of this size is worth a comparison. */
const negligible = 2;

function costOf({ read }: ScriptFile, text: string, times = 1): number {
  const start = process.cpuUsage();
  for (let count = 0; count < times; count += 1) attempt(read, text);
  return process.cpuUsage(start).user / 1000;
}

/**
 * How much more a text costs in one piece than as many characters in pieces of their own: the least that is measured, since whatever else
 * the process does can only add to a measurement. What is read again and again never costs the same.
 */
function ratioOf(kind: ScriptFile, whole: string, pieceOf: () => string): number {
  let least = Infinity;
  for (let run = 0; run < 20 && least >= maxRatio; run += 1) {
    const cost = costOf(kind, whole);
    if (cost < negligible) return 1;
    const piece = pieceOf();
    least = Math.min(least, cost / costOf(kind, piece, totalCharacters / piece.length));
  }
  return least;
}

/** What is read once costs about the same either way; quadratic patterns gave 9 to 54 on files of this size. */
const maxRatio = 4;

/** Reads to the end. @returns the characters of each piece */
function wholly(reading: ReturnType<ScriptFile['read']>): readonly number[] {
  return [...reading];
}

function attempt(read: ScriptFile['read'], text: string): void {
  try {
    wholly(read(text));
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
    const dear = shapes.find(({ opening, unit, lineLength }) => {
      const whole = fileOf(unit, opening, totalCharacters, lineLength);
      return ratioOf(kind, whole, () => fileOf(unit, opening, 40, 40)) >= maxRatio;
    });
    expect(dear).toBeUndefined();
  });
});

test('a string that ends in the middle of an escape, in a file of the largest size, is an error in its terms', () => {
  const [deno] = scriptFiles.filter(({ file }) => file === 'deno.json');
  for (const text of ['"\\'.repeat(2 ** 19), `"${'a'.repeat(2 ** 20)}`, '"a'.repeat(2 ** 19)]) {
    expect(() => deno && wholly(deno.read(text))).toThrow(SyntaxError);
  }
});

test.each([
  ['deno.json', '"a":1,/**/', 20],
  ['deno.json', '//\n', 15],
  ['pyproject.toml', 'a = "b"\n', 15],
  ['pyproject.toml', '\n', 15],
  ['Makefile', 'all: a\n', 15],
  ['justfile', 'all:\n', 15],
])(
  'a %s of nothing but %j is read in pieces, between which the event loop may turn',
  (name, unit, least) => {
    const kind = scriptFiles.find(({ file }) => file === name);
    const text = `{${unit.repeat((2 ** 20 / unit.length) | 0)}`;
    const pieces: number[] = [];
    const read = () => {
      for (const piece of kind?.read(text) ?? []) pieces.push(piece);
    };
    try {
      read();
    } catch (error) {
      expect(error).toBeInstanceOf(SyntaxError);
    }
    expect(Math.max(...pieces)).toBeLessThan(pieceCharacters + 100);
    expect(pieces.length).toBeGreaterThanOrEqual(least);
  },
);
