/** What somebody may have meant by a mistyped name. */

/** How alike two names must be, from 0 to 1: more than half of their letter pairs. */
const least = 0.5;

/** The known name most like the written one; undefined if none is. Leading dashes do not count. */
export function nearest(written: string, known: readonly string[]): string | undefined {
  const word = written.replace(/^-+/, '');
  if (word.length < 3) return undefined;
  const [best] = known
    .map((name) => ({ name, score: likeness(name.replace(/^-+/, ''), word) }))
    .toSorted((a, b) => b.score - a.score);
  return best !== undefined && best.score > least ? best.name : undefined;
}

/** From 0 to 1; names that begin alike or have the same letters are as good as the same. */
function likeness(known: string, written: string): number {
  if (known.startsWith(written) || written.startsWith(known)) return 1;
  const letters = (word: string) => [...word].toSorted().join('');
  if (letters(known) === letters(written)) return 1;
  const [a, b] = [pairsOf(known), pairsOf(written)];
  return (2 * a.filter((pair) => b.includes(pair)).length) / (a.length + b.length);
}

function pairsOf(word: string): readonly string[] {
  return Array.from({ length: word.length - 1 }, (_, at) => word.slice(at, at + 2));
}
