/** Regular expressions of documents: ECMA-262 5.1, in the syntax that the flag `u` demands. */

/**
 * Rewrites a pattern for the flag `u`, which JSON Schema 2020-12 wants and hosts set.
 *
 * @returns undefined unless it is a regular expression of ECMA-262, such as `\A…\Z`
 */
export function unicodePattern(source: string): string | undefined {
  if (isExpression(source, 'u')) return source;
  if (!isExpression(source, '')) return undefined;
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
    else if (token.startsWith('\\')) written += unescaped(token, isInClass);
    else if (/^[{}\]]$/.test(token) && !isInClass) written += `\\${token}`;
    else written += token;
    if (token === ']') isInClass = false;
    else if (token.startsWith('[')) isInClass = true;
    before = token;
  }
  return isExpression(written, 'u') ? written : undefined;
}

/** Drops a backslash that the flag `u` refuses. */
function unescaped(escape: string, isInClass: boolean): string {
  const character = escape.slice(1);
  if (character === '-' && isInClass) return escape;
  // Other letters and digits have a meaning, or do not exist in ECMA-262.
  return /[a-z0-9^$\\.*+?()[\]{}|/]/i.test(character) ? escape : character;
}

const outerToken = /^(?:\\[^]|\[\^?|\{\d+(?:,\d*)?\}|[^])/;

const classToken = /^(?:\\[^]|[^])/;

function isExpression(source: string, flags: string): boolean {
  try {
    return new RegExp(source, flags) instanceof RegExp;
  } catch {
    return false;
  }
}
