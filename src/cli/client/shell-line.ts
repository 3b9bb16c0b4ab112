/** A line of the shell, cut into words. */
import { UsageError } from '../command.ts';

/**
 * The words of a line. Quotation marks, single or double, hold words together, within a word too:
 * `key="two words"`. What begins with `{` or `[` goes to the end of the line as it is: JSON has
 * quotation marks of its own.
 *
 * @throws {UsageError} a quotation mark is not closed
 */
export function wordsOf(line: string): readonly string[] {
  const words: string[] = [];
  let rest = line.trim();
  while (rest !== '') {
    if (/^[{[]/.test(rest)) return [...words, rest];
    const [word = ''] = /^(?:[^\s"']|"(?:[^"\\]|\\.)*"|'[^']*')+/.exec(rest) ?? [];
    if (word === '' || !/^(?:\s|$)/.test(rest.slice(word.length))) {
      throw new UsageError(`A quotation mark is not closed: ${rest}`);
    }
    words.push(unquoted(word));
    rest = rest.slice(word.length).trimStart();
  }
  return words;
}

const unquoted = (word: string): string =>
  word.replaceAll(/"((?:[^"\\]|\\.)*)"|'([^']*)'/g, (_, double?: string, single?: string) =>
    double === undefined ? (single ?? '') : double.replaceAll(/\\(["\\])/g, '$1'),
  );
