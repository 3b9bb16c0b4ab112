/** Suggestions for mistyped names. */

/** Minimum similarity, from 0 to 1: more than half of the letter pairs. */
const minSimilarity = 0.5;

/** The most similar known name; undefined if none is similar. Ignores leading dashes. */
export function closestMatch(written: string, known: readonly string[]): string | undefined {
  const word = written.replace(/^-+/, '');
  const [best] = known
    .map((name) => ({ name, score: similarity(name.replace(/^-+/, ''), word) }))
    .toSorted((a, b) => b.score - a.score);
  return best !== undefined && best.score > 0 ? best.name : undefined;
}

/**
 * Similarity of two names, from 0 to 1; 0 if they are unrelated. Ignores case. Prefixes and
 * permutations count as equal, and words of less than three letters match nothing.
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
