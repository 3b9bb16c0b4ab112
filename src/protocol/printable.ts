/** Makes foreign text (names, paths, lines of a file) safe to print in a line. */

import { jsonText } from './number-text.ts';

/** Longer lines are cut. */
const maxLineCharacters = 8000;

/**
 * Characters that move the cursor, end a line, turn the writing direction or are invisible:
 * control, format and separator characters, lone surrogates. A tab is harmless; the joiners
 * (U+200C, U+200D) are part of words and emoji.
 */
const unprintable = /(?![\t\u200c\u200d])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

/**
 * Turns any text into one line: it writes each such character as its number (`\u001b`), and marks a
 * cut after `maxCharacters`.
 */
export function printable(text: string, maxCharacters: number = maxLineCharacters): string {
  const escaped = text.slice(0, maxCharacters).replaceAll(unprintable, asNumber);
  const omitted = text.length - maxCharacters;
  return omitted > 0 ? `${escaped}… (${omitted} more characters)` : escaped;
}

/** Joins lines to a text. Each stays one line, whatever it contains. */
export function printableLines(lines: readonly string[]): string {
  return lines.map((line) => printable(line)).join('\n');
}

/**
 * A text of several lines for a terminal: its line feeds and tabs stay (`\r\n` becomes `\n`), every
 * other such character is written as its number.
 */
export function printableText(text: string): string {
  return text
    .replaceAll('\r\n', '\n')
    .replaceAll(unprintable, (character) => (character === '\n' ? character : asNumber(character)));
}

/**
 * JSON for people and programs: the same value as `JSON.stringify` gives, whose strings hold none of
 * these characters. `JSON.stringify` alone leaves DEL, C1 and what turns the writing direction.
 */
export function printableJson(value: unknown, space?: number): string {
  return jsonText(value, space).replaceAll(unprintable, (character) =>
    character === '\n' ? character : asCodeUnits(character),
  );
}

/** A name that someone else chose: one line of bounded length. */
export function printableName(name: string, maxCharacters = 120): string {
  return printable(cutName(name, maxCharacters), Infinity);
}

/** A foreign text in a sentence, such as a path: the same in quotation marks. */
export function quoted(text: string, maxCharacters = 300): string {
  return printable(JSON.stringify(cutName(text, maxCharacters)), Infinity);
}

function cutName(text: string, maxCharacters: number): string {
  return text.length > maxCharacters ? `${text.slice(0, maxCharacters)}…` : text;
}

/** As JSON writes them: a character beyond U+FFFF is two. */
function asCodeUnits(character: string): string {
  return Array.from(
    { length: character.length },
    (_, at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, '0')}`,
  ).join('');
}

function asNumber(character: string): string {
  const hex = (character.codePointAt(0) ?? 0).toString(16);
  return hex.length > 4 ? `\\u{${hex}}` : `\\u${hex.padStart(4, '0')}`;
}
