/** Escapes untrusted text (names, paths, lines of files) for terminals and logs. */

import { jsonText } from './number-text.ts';

/** Maximum length of a line. */
const maxLineCharacters = 8000;

/**
 * Characters that move the cursor, end a line, change the writing direction or are invisible:
 * control, format and separator characters, lone surrogates. Excluded are tabs and the joiners
 * (U+200C, U+200D), which are part of words and emoji.
 */
const unprintable = /(?![\t\u200c\u200d])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

/**
 * Converts text into one line: escapes unprintable characters (`\u001b`), truncates after
 * `maxCharacters` and says so.
 */
export function printable(text: string, maxCharacters: number = maxLineCharacters): string {
  const escaped = text.slice(0, maxCharacters).replaceAll(unprintable, asNumber);
  const omitted = text.length - maxCharacters;
  return omitted > 0 ? `${escaped}… (${omitted} more characters)` : escaped;
}

/** Joins lines. Each stays on one line, whatever it contains. */
export function printableLines(lines: readonly string[]): string {
  return lines.map((line) => printable(line)).join('\n');
}

/** Escapes multi-line text for a terminal. Keeps line feeds and tabs; `\r\n` becomes `\n`. */
export function printableText(text: string): string {
  return text
    .replaceAll('\r\n', '\n')
    .replaceAll(unprintable, (character) => (character === '\n' ? character : asNumber(character)));
}

/**
 * JSON for people and programs: like `JSON.stringify`, with unprintable characters in strings
 * escaped. `JSON.stringify` alone leaves DEL, C1 controls and bidi characters.
 */
export function printableJson(value: unknown, space?: number): string {
  return jsonText(value, space).replaceAll(unprintable, (character) =>
    character === '\n' ? character : asCodeUnits(character),
  );
}

/** An untrusted name as one line of bounded length. */
export function printableName(name: string, maxCharacters = 120): string {
  return printable(cutName(name, maxCharacters), Infinity);
}

/** Untrusted text within a sentence, such as a path: escaped and in quotation marks. */
export function quoted(text: string, maxCharacters = 300): string {
  return printable(JSON.stringify(cutName(text, maxCharacters)), Infinity);
}

function cutName(text: string, maxCharacters: number): string {
  return text.length > maxCharacters ? `${text.slice(0, maxCharacters)}…` : text;
}

/** Escapes like JSON: a character beyond U+FFFF becomes two escapes. */
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
