/** Conversion of document patterns from ECMA-262 5.1 to the stricter syntax of the flag `u`. */

/**
 * Rewrites a pattern for the flag `u`, which JSON Schema 2020-12 requires and hosts use.
 *
 * @returns undefined if the pattern is not an ECMA-262 regular expression, such as `\A…\Z`
 */
export function unicodePattern(source: string): string | undefined {
  if (isValidPattern(source, 'u')) return source;
  if (!isValidPattern(source, '')) return undefined;
  let written = '';
  let isInClass = false;
  let before = '';
  for (let at = 0; at < source.length;) {
    const rest = source.slice(at, at + 40);
    const [token = ''] = (isInClass ? classToken : outerToken).exec(rest) ?? [];
    at += token.length;
    const isRange = /^\\[dDsSwW]/;
    const isByClass = isRange.test(before) || isRange.test(source.slice(at, at + 2));
    if (token === '-' && isInClass && isByClass) written += '\\-';
    else if (token.startsWith('\\')) written += dropNeedlessEscape(token, isInClass);
    else if (/^[{}\]]$/.test(token) && !isInClass) written += `\\${token}`;
    else written += token;
    if (token === ']') isInClass = false;
    else if (token.startsWith('[')) isInClass = true;
    before = token;
  }
  return isValidPattern(written, 'u') ? written : undefined;
}

/** Drops a backslash that the flag `u` rejects. */
function dropNeedlessEscape(escape: string, isInClass: boolean): string {
  const character = escape.slice(1);
  if (character === '-' && isInClass) return escape;
  // Escaped letters and digits have a meaning, or are invalid in ECMA-262 anyway.
  return /[a-z0-9^$\\.*+?()[\]{}|/]/i.test(character) ? escape : character;
}

const outerToken = /^(?:\\[^]|\[\^?|\{\d+(?:,\d*)?\}|[^])/;

const classToken = /^(?:\\[^]|[^])/;

function isValidPattern(source: string, flags: string): boolean {
  try {
    return new RegExp(source, flags) instanceof RegExp;
  } catch {
    return false;
  }
}
