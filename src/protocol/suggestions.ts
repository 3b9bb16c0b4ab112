/** What someone may have meant by a mistyped name. */

/** How alike two names must be, from 0 to 1: more than half of their letter pairs. */
const minSimilarity = 0.5;

/** The known name most like the written one; undefined if none is. Leading dashes do not count. */
export function closestMatch(written: string, known: readonly string[]): string | undefined {
  const word = written.replace(/^-+/, '');
  const [best] = known
    .map((name) => ({ name, score: similarity(name.replace(/^-+/, ''), word) }))
    .toSorted((a, b) => b.score - a.score);
  return best !== undefined && best.score > 0 ? best.name : undefined;
}

/**
 * How alike two names are, from 0 to 1; 0 if one was not meant by the other. Case does not count;
 * names that begin alike or have the same letters are as good as the same, and less than three letters
 * are like nothing.
 */
export function similarity(known: string, written: string): number {
  const [name, word] = [known.toLowerCase(), written.toLowerCase()];
  if (word.length < 3) return 0;
  if (name.startsWith(word) || word.startsWith(name)) return 1;
  const letters = (text: string) => [...text].toSorted().join('');
  if (letters(name) === letters(word)) return 1;
  const [a, b] = [pairsOf(name), pairsOf(word)];
  const score = (2 * a.filter((pair) => b.includes(pair)).length) / (a.length + b.length);
  return score > minSimilarity ? score : 0;
}

function pairsOf(word: string): readonly string[] {
  return Array.from({ length: word.length - 1 }, (_, at) => word.slice(at, at + 2));
}
