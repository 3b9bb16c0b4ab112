/**
 * Globs over paths relative to a root, in the language of `.gitignore`: `*` and `?` within a
 * segment, `**` across segments, `[a-z]`, `[!a]`, `{a,b}`, and `\` as escape. A glob without a
 * slash matches at any depth; a name without wildcards also matches everything below it.
 *
 * Matching costs at most the path's length times the length of the globs
 * (docs/maintaining/decisions/26-bounded-matching.md).
 */
import { quoted } from 'mcp-actors/internal';
import { ToolError } from 'mcp-actors';
import { matchAny } from './path-automaton.ts';
import type { CharacterClass, NameToken, PathMatcher, PathPattern } from './path-automaton.ts';

const maxGlobs = 64;
const maxGlobCharacters = 1000;
/** Limit on the brace-free globs that one glob expands to. */
const maxAlternatives = 256;
/**
 * Limit on the total length of a call's globs after brace expansion, one per line, characters.
 * Bounds the cost of matching.
 */
const maxExpandedCharacters = 8192;

/** A concatenation of literal text and brace groups. */
type Sequence = readonly (string | readonly Sequence[])[];

/** A parsed glob, before brace expansion. */
export interface Glob {
  readonly text: string;
  /** Undefined for a glob that is only a literal path. */
  readonly sequence: Sequence | undefined;
  readonly path: string | undefined;
}

/** A glob as passed by the caller. */
export interface GlobInput {
  readonly text: string;
  /** Existing path that equals the glob taken literally, if any. */
  readonly path?: string | undefined;
}

/**
 * Parses the globs of one call and rejects those too expensive to expand.
 *
 * @throws {ToolError} INVALID_GLOB with the reason
 */
export function parseGlobs(written: readonly GlobInput[]): readonly Glob[] {
  if (written.length > maxGlobs) {
    throw new ToolError(`At most ${maxGlobs} globs are allowed, got ${written.length}`, {
      code: 'INVALID_GLOB',
    });
  }
  const globs = written.map(parseInput);
  let total = 0;
  for (const { text, sequence, path } of globs) {
    const { alternatives, characters } = sizeOf(sequence ?? []);
    if (alternatives > maxAlternatives) {
      throw invalid(
        text,
        `its braces expand to ${alternatives} alternatives; at most ${maxAlternatives} are allowed`,
      );
    }
    // One line per alternative.
    total += characters + alternatives + (path?.length ?? 0);
  }
  if (total <= maxExpandedCharacters) return globs;
  throw new ToolError(
    `Globs must have at most ${maxExpandedCharacters} characters in total after expanding braces, one per line, got ${total}. Use fewer or simpler globs.`,
    { code: 'INVALID_GLOB' },
  );
}

/**
 * Meaning of a glob with a wildcard and a trailing slash (`packages/*\/`): the files below such
 * directories, the directories themselves, or no files.
 */
export type GlobUse = 'below' | 'directories' | 'files';

/**
 * Compiles parsed globs. A path matches if it matches any of them.
 *
 * @throws {ToolError} INVALID_GLOB with the reason
 */
export function compileGlobs(globs: readonly Glob[], use: GlobUse = 'below'): PathMatcher {
  const patterns = alternativesOf(globs)
    .filter(({ names, isDirectory }) => use !== 'files' || !isDirectory || isPlain(names.at(-1)))
    .map((alternative) => patternOf(alternative, use));
  return matchAny(patterns);
}

/**
 * Compiles gitignore rules: braces are literal, a rule matches a path itself but nothing below it,
 * and invalid rules match nothing.
 */
export function compileRules(rules: readonly string[]): PathMatcher {
  return matchAny(
    rules.flatMap((rule): PathPattern[] => {
      try {
        const alternative = readAlternative(rule.normalize(), rule);
        return alternative.names.length === 0 ? [] : [patternOf(alternative, 'rule')];
      } catch (error) {
        if (error instanceof ToolError) return [];
        throw error;
      }
    }),
  );
}

/**
 * Returns the literal directory prefixes of globs; '' for the root. A name without a slash may
 * match anywhere, most likely in the root, so it yields both the root and itself.
 *
 * @throws {ToolError} INVALID_GLOB
 */
export function startsOf(globs: readonly Glob[]): readonly string[] {
  const starts = alternativesOf(globs).flatMap(({ names, anchored }) => {
    const wild = names.findIndex((name) => !isPlain(name));
    const start = (wild === -1 ? names : names.slice(0, wild)).map(plainText).join('/');
    return anchored ? [start] : ['', start];
  });
  return [...new Set(starts)];
}

/**
 * True if the last segment of a path alone decides whether any glob matches, as with `*.ts` and
 * `**\/*.ts`.
 */
export function matchByName(globs: readonly Glob[], use: GlobUse): boolean {
  return alternativesOf(globs).every(
    ({ names, anchored, isDirectory }) =>
      !isPlain(names.at(-1)) &&
      !(isDirectory && use === 'below') &&
      (!anchored || (names.length === 2 && names[0] === 'globstar')),
  );
}

/**
 * Text that is not a valid glob, or contains the escapes of a printed name, is only a literal path.
 */
function parseInput({ text, path }: GlobInput): Glob {
  if (path === undefined) return { text, sequence: parseGlob(text), path };
  if (text.includes('\\')) return { text, sequence: undefined, path };
  try {
    return { text, sequence: parseGlob(text), path };
  } catch (error) {
    if (!(error instanceof ToolError)) throw error;
    return { text, sequence: undefined, path };
  }
}

function invalid(glob: string, why: string): ToolError {
  return new ToolError(`${quoted(glob)} is not a valid glob: ${why}`, { code: 'INVALID_GLOB' });
}

function parseGlob(given: string): Sequence {
  // Some systems return decomposed names. Paths are composed before matching, so patterns must be
  // as well.
  const text = given.normalize();
  if (text === '' || text.includes('\0') || text.length > maxGlobCharacters) {
    throw invalid(text, `it must have 1 to ${maxGlobCharacters} characters and no NUL`);
  }
  let at = 0;
  const readSequence = (isNested: boolean): Sequence => {
    const sequence: (string | readonly Sequence[])[] = [];
    let start = at;
    const endText = () => {
      if (at > start) sequence.push(text.slice(start, at));
    };
    for (; at < text.length; at += 1) {
      const character = text[at];
      if (character === '\\') at += 1;
      else if (isNested && (character === ',' || character === '}')) break;
      else if (character === '{') {
        endText();
        sequence.push(readAlternatives());
        start = at + 1;
      }
    }
    at = Math.min(at, text.length);
    endText();
    return sequence;
  };
  /** Parses the alternatives from `{` to `}`. */
  const readAlternatives = (): readonly Sequence[] => {
    const alternatives: Sequence[] = [];
    do {
      at += 1;
      alternatives.push(readSequence(true));
    } while (text[at] === ',');
    if (text[at] === '}') return alternatives;
    throw invalid(text, 'unclosed "{"; escape a literal one as "\\{"');
  };
  return readSequence(false);
}

/** Counts the expansions of a sequence and their total length. */
function sizeOf(sequence: Sequence): { alternatives: number; characters: number } {
  let [alternatives, characters] = [1, 0];
  for (const part of sequence) {
    const sizes =
      typeof part === 'string' ? [{ alternatives: 1, characters: part.length }] : part.map(sizeOf);
    const choices = sizes.reduce((sum, size) => sum + size.alternatives, 0);
    const chosen = sizes.reduce((sum, size) => sum + size.characters, 0);
    characters = characters * choices + chosen * alternatives;
    alternatives *= choices;
  }
  return { alternatives, characters };
}

/** Expands braces, without duplicates: `a{b,c}` becomes `ab` and `ac`. */
function expandBraces(sequence: Sequence): readonly string[] {
  let texts = [''];
  for (const part of sequence) {
    const choices = typeof part === 'string' ? [part] : part.flatMap(expandBraces);
    texts = texts.flatMap((text) => choices.map((choice) => text + choice));
  }
  return [...new Set(texts)];
}

type Name = readonly NameToken[] | 'globstar';

/** A glob without braces. */
interface Alternative {
  readonly names: readonly Name[];
  /** True if the first segment must match at the root. */
  readonly anchored: boolean;
  /** True if the glob ends with a slash. */
  readonly isDirectory: boolean;
}

function alternativesOf(globs: readonly Glob[]): readonly Alternative[] {
  return globs.flatMap(({ text, sequence, path }) => {
    const named = path === undefined ? [] : [alternativeOfPath(path)];
    if (sequence === undefined) return named;
    try {
      return [
        ...named,
        ...expandBraces(sequence).map((alternative) => readAlternative(alternative, text)),
      ];
    } catch (error) {
      // Not a valid glob, but an existing path.
      if (error instanceof ToolError && path !== undefined) return named;
      throw error;
    }
  });
}

function alternativeOfPath(path: string): Alternative {
  const names = path.normalize().split('/').filter(Boolean);
  return {
    names: names.map((name) =>
      Array.from(name, (character) => ({ kind: 'literal', code: codeOf(character) })),
    ),
    anchored: true,
    isDirectory: path.endsWith('/'),
  };
}

function readAlternative(alternative: string, glob: string): Alternative {
  const relative = alternative.replace(/^(?:\.?\/)+/, '');
  const names = relative.split('/').filter((name) => name !== '');
  if (names.includes('..'))
    throw invalid(glob, 'globs are relative to the root and must not contain ".."');
  return {
    names: names.map((name) => (name === '**' ? 'globstar' : readName(name, glob))),
    anchored: /^\.?\//.test(alternative) || /\/./.test(relative),
    isDirectory: relative.endsWith('/'),
  };
}

function patternOf(
  { names, anchored, isDirectory }: Alternative,
  use: GlobUse | 'rule',
): PathPattern {
  if (names.length === 0) return ['globstar'];
  const isExact = use === 'directories' || use === 'rule';
  // "src/**" selects the directories below "src", not "src" itself.
  if (isExact && names.at(-1) === 'globstar') return [...names, [{ kind: 'star' }]];
  const takesBelow = use !== 'rule' && (isPlain(names.at(-1)) || (isDirectory && use === 'below'));
  return [
    ...(anchored ? [] : (['globstar'] as const)),
    ...names,
    ...(takesBelow ? (['globstar'] as const) : []),
  ];
}

function isPlain(name: Name | undefined): boolean {
  return name !== 'globstar' && (name ?? []).every(({ kind }) => kind === 'literal');
}

function plainText(name: Name): string {
  const tokens = name === 'globstar' ? [] : name;
  return tokens
    .map((token) => (token.kind === 'literal' ? String.fromCodePoint(token.code) : ''))
    .join('');
}

function readName(name: string, glob: string): readonly NameToken[] {
  const tokens: NameToken[] = [];
  const characters = [...name];
  for (let index = 0; index < characters.length; index += 1) {
    const character = characters[index] ?? '';
    if (character === '*') {
      tokens.push({ kind: 'star' });
    } else if (character === '?') {
      tokens.push({ kind: 'any' });
    } else if (character === '[') {
      const first = index + (/[!^]/.test(characters[index + 1] ?? '') ? 3 : 2);
      const close = characters.indexOf(']', first);
      if (close === -1) throw invalid(glob, 'unclosed "["; escape a literal one as "\\["');
      tokens.push(readClass(characters.slice(index + 1, close)));
      index = close;
    } else {
      if (character === '\\') index += 1;
      tokens.push({ kind: 'literal', code: codeOf(characters[index] ?? '\\') });
    }
  }
  return tokens;
}

function readClass(members: readonly string[]): CharacterClass {
  const negated = members[0] === '!' || members[0] === '^';
  const rest = negated ? members.slice(1) : members;
  const ranges: [number, number][] = [];
  for (let index = 0; index < rest.length; index += 1) {
    const from = rest[index] ?? '';
    const isRange = rest[index + 1] === '-' && index + 2 < rest.length;
    ranges.push([codeOf(from), codeOf(isRange ? (rest[index + 2] ?? from) : from)]);
    if (isRange) index += 2;
  }
  return { kind: 'class', ranges, negated };
}

function codeOf(character: string): number {
  return character.codePointAt(0) ?? 0;
}
