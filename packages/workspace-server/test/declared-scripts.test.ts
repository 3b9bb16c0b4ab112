import { describe, expect, test } from 'vitest';
import { chunkCharacters, scriptFiles } from '../src/project/declared-scripts.ts';
import type { ScriptFile } from '../src/project/declared-scripts.ts';

const totalCharacters = 20_000;

/** Characters significant in the grammars of these files. */
const alphabet = 'a _\t:=./"\'\\[]{,*@\n'.split('');

/** Single characters and pairs, the repetitions that make backtracking patterns quadratic. */
const units = alphabet.flatMap((first) =>
  ['', ...alphabet].flatMap((second) => (second === first ? [] : first + second)),
);

/** Prefixes: the start of a rule, a string, or a parsed section. */
const openings = ['', 'a ', '"', '{"tasks":{"', '[project.scripts]\n'];

const shapes = openings.flatMap((opening) =>
  units.flatMap((unit) =>
    [totalCharacters, 1000].map((lineLength) => ({ opening, unit, lineLength })),
  ),
);

/** Builds a file of this size from lines of this length with this prefix. */
function fileOf(unit: string, opening: string, size: number, lineLength: number): string {
  const line = opening + unit.repeat(lineLength).slice(0, Math.max(0, lineLength - opening.length));
  return Array.from({ length: size / lineLength }, () => line).join('\n');
}

/** CPU time below which measurements are too noisy to compare, ms. */
const negligible = 2;

function costOf({ read }: ScriptFile, text: string, times = 1): number {
  const start = process.cpuUsage();
  for (let count = 0; count < times; count += 1) attempt(read, text);
  return process.cpuUsage(start).user / 1000;
}

/**
 * Cost of a text as one piece relative to the same number of characters in separate pieces. The
 * minimum is used, because other work in the process only adds to a measurement. Linear reading
 * gives about 1; quadratic reading never does.
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

/** Linear reading gives about 1; quadratic patterns gave 9 to 54 on files of this size. */
const maxRatio = 4;

/**
 * Reads to the end.
 *
 * @returns the number of characters of each chunk
 */
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

describe('linear cost of reading a hostile file', () => {
  // Makefile, makefile and GNUmakefile share a parser, as do others.
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

test('reports a string that ends within an escape as a syntax error, at the largest file size', () => {
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
  'reads a %s of nothing but %j in chunks between which the event loop may turn',
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
    expect(Math.max(...pieces)).toBeLessThan(chunkCharacters + 100);
    expect(pieces.length).toBeGreaterThanOrEqual(least);
  },
);
