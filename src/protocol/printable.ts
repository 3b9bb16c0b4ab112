/** Text of others (names, paths, lines of a file) made fit for a line that a person or a model reads. */

/** Longer lines are cut. */
const maxLineCharacters = 8000;

/**
 * Whatever moves a cursor, ends a line, turns the direction of writing or is not seen at all: control, format and separator characters,
 * halves of surrogate pairs. A tab does nothing of this; the joiners (U+200C, U+200D) are part of words and of emoji.
 */
const unprintable = /(?![\t\u200c\u200d])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

/**
 * The text with every such character written as its number (`\u001b`), and cut after `maxCharacters`, which is said.
 * It is one line then, whatever it was.
 */
export function printable(text: string, maxCharacters: number = maxLineCharacters): string {
  const escaped = text.slice(0, maxCharacters).replaceAll(unprintable, asNumber);
  const omitted = text.length - maxCharacters;
  return omitted > 0 ? `${escaped}… (${omitted} more characters)` : escaped;
}

/** Joins lines to a text. Each stays one line, whatever it holds. */
export function printableLines(lines: readonly string[]): string {
  return lines.map((line) => printable(line)).join('\n');
}

function asNumber(character: string): string {
  const hex = (character.codePointAt(0) ?? 0).toString(16);
  return hex.length > 4 ? `\\u{${hex}}` : `\\u${hex.padStart(4, '0')}`;
}
