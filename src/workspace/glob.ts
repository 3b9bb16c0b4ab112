/**
 * Globs over paths relative to a root. A matcher of our own, because ripgrep's `--glob` overrides `.gitignore`: asked for `*.log`, it
 * gives the ignored ones. Time is bounded by pattern × path, whatever the pattern: no regular expression, no backtracking tree.
 *
 * The language is that of `.gitignore`: `*` and `?` within a segment, `**` over segments, `[a-z]`, `[!a]`, `{a,b}`, `\` escapes.
 * A glob without a slash matches at any depth; a name without wildcards also matches what is below it.
 */
import { ToolError } from '../protocol/errors.ts';
import { shown } from './directory-check.ts';

/** Tells whether a path (relative, with `/`) matches. */
export type PathMatcher = (path: string) => boolean;

type Token =
  | { readonly kind: 'star' }
  | { readonly kind: 'one'; readonly accepts: (character: string) => boolean };

/** A segment's tokens, or `**`. */
type Segment = readonly Token[] | 'globstar';

const maxAlternatives = 256;

/**
 * Compiles a glob.
 *
 * @throws {ToolError} INVALID_GLOB, saying where
 */
export function compileGlob(glob: string): PathMatcher {
  if (glob === '' || glob.includes('\0') || glob.length > 1000) {
    throw invalid(glob, 'it must have 1 to 1000 characters and no NUL');
  }
  const alternatives = expandBraces(glob, glob).map((alternative) =>
    compileSegments(alternative, glob),
  );
  return (path) => {
    const names = path.split('/');
    return alternatives.some((segments) => matchSegments(segments, names));
  };
}

function invalid(glob: string, why: string): ToolError {
  return new ToolError(`${shown(glob)} is no glob: ${why}`, { code: 'INVALID_GLOB' });
}

/** `a{b,c}` → `ab`, `ac`; nested braces too. */
function expandBraces(pattern: string, glob: string): string[] {
  const open = indexOfUnescaped(pattern, '{', 0);
  if (open === -1) return [pattern];
  const parts: string[] = [];
  let depth = 1;
  let start = open + 1;
  let end = start;
  for (; depth > 0; end += 1) {
    const character = pattern[end];
    if (character === undefined)
      throw invalid(glob, 'a "{" is not closed; write "\\{" for the character');
    if (character === '\\') end += 1;
    else if (character === '{') depth += 1;
    else if (character === '}') depth -= 1;
    if (depth === 0 || (depth === 1 && character === ',')) {
      parts.push(pattern.slice(start, end));
      start = end + 1;
    }
  }
  const [before, after] = [pattern.slice(0, open), pattern.slice(end)];
  const expanded: string[] = [];
  for (const part of parts) {
    expanded.push(...expandBraces(before + part + after, glob));
    if (expanded.length > maxAlternatives) {
      throw invalid(glob, `its braces give more than ${maxAlternatives} alternatives`);
    }
  }
  return expanded;
}

function indexOfUnescaped(text: string, wanted: string, from: number): number {
  for (let index = from; index < text.length; index += 1) {
    if (text[index] === '\\') index += 1;
    else if (text[index] === wanted) return index;
  }
  return -1;
}

function compileSegments(pattern: string, glob: string): readonly Segment[] {
  const relative = pattern.replace(/^(?:\.?\/)+/, '');
  const anchored = /^\.?\//.test(pattern) || /\/./.test(relative);
  const names = relative.split('/').filter((name) => name !== '');
  if (names.length === 0) return ['globstar'];
  const segments = names.map((name) => (name === '**' ? 'globstar' : compileName(name, glob)));
  const last = names.at(-1) ?? '';
  const isPlainName = !/[*?[]/.test(last);
  const withBelow: Segment[] =
    isPlainName || relative.endsWith('/') ? [...segments, 'globstar'] : segments;
  return anchored ? withBelow : ['globstar', ...withBelow];
}

function compileName(name: string, glob: string): readonly Token[] {
  const tokens: Token[] = [];
  const characters = [...name];
  for (let index = 0; index < characters.length; index += 1) {
    const character = characters[index] ?? '';
    if (character === '*') {
      if (tokens.at(-1)?.kind !== 'star') tokens.push({ kind: 'star' });
    } else if (character === '?') {
      tokens.push({ kind: 'one', accepts: () => true });
    } else if (character === '[') {
      const close = characters.indexOf(
        ']',
        index + (/[!^]/.test(characters[index + 1] ?? '') ? 3 : 2),
      );
      if (close === -1) throw invalid(glob, 'a "[" is not closed; write "\\[" for the character');
      tokens.push({ kind: 'one', accepts: compileClass(characters.slice(index + 1, close)) });
      index = close;
    } else {
      if (character === '\\') index += 1;
      const literal = characters[index] ?? '\\';
      tokens.push({ kind: 'one', accepts: (candidate) => candidate === literal });
    }
  }
  return tokens;
}

function compileClass(members: readonly string[]): (character: string) => boolean {
  const negated = members[0] === '!' || members[0] === '^';
  const rest = negated ? members.slice(1) : members;
  const ranges: [string, string][] = [];
  for (let index = 0; index < rest.length; index += 1) {
    const from = rest[index] ?? '';
    const isRange = rest[index + 1] === '-' && index + 2 < rest.length;
    ranges.push([from, isRange ? (rest[index + 2] ?? from) : from]);
    if (isRange) index += 2;
  }
  return (character) =>
    ranges.some(([from, to]) => from <= character && character <= to) !== negated;
}

/** Matches a sequence with wildcards that take any number of items: only the last such wildcard is ever reconsidered. */
function matchSequence<TPattern, TItem>(
  pattern: readonly TPattern[],
  items: readonly TItem[],
  isWildcard: (part: TPattern) => boolean,
  accepts: (part: TPattern, item: TItem) => boolean,
): boolean {
  let at = 0;
  let item = 0;
  let wildcard = -1;
  let resumeAt = 0;
  while (item < items.length) {
    const part = pattern[at];
    if (part !== undefined && isWildcard(part)) {
      wildcard = at;
      resumeAt = item;
      at += 1;
    } else if (part !== undefined && accepts(part, items[item] as TItem)) {
      at += 1;
      item += 1;
    } else if (wildcard >= 0) {
      resumeAt += 1;
      item = resumeAt;
      at = wildcard + 1;
    } else {
      return false;
    }
  }
  return pattern.slice(at).every(isWildcard);
}

function matchSegments(segments: readonly Segment[], names: readonly string[]): boolean {
  return matchSequence(
    segments,
    names,
    (segment) => segment === 'globstar',
    (segment, name) =>
      segment !== 'globstar' &&
      matchSequence(
        segment,
        [...name],
        (token) => token.kind === 'star',
        (token, character) => token.kind === 'one' && token.accepts(character),
      ),
  );
}
