/**
 * Parsers for the scripts a project's files declare. Pure, linear in the text, and interruptible,
 * because project files may be hostile. Unreadable files throw a `SyntaxError` with the reason;
 * nothing else is thrown.
 */
import { inspectValue, isJsonObject } from 'mcp-actors/internal';

/** A kind of file that declares scripts. */
export interface ScriptFile {
  readonly file: string;
  /** Command that runs a script, without the script's name. */
  readonly runner: string;
  /** Reads the names as written in the file. */
  readonly read: (text: string) => ScriptParse;
}

/**
 * Interruptible parse of names. Yields the number of characters processed after each chunk, so that
 * the caller can let the event loop turn.
 */
export type ScriptParse = Generator<number, string[]>;

/** Characters per chunk; a few milliseconds of work. */
export const chunkCharacters = 64 * 1024;

/** Supported files in the order in which they are reported. */
export const scriptFiles: readonly ScriptFile[] = [
  { file: 'package.json', runner: 'npm run', read: fromManifest },
  { file: 'deno.json', runner: 'deno task', read: fromDeno },
  { file: 'deno.jsonc', runner: 'deno task', read: fromDeno },
  { file: 'composer.json', runner: 'composer run', read: fromManifest },
  { file: 'pyproject.toml', runner: '', read: fromPyproject },
  { file: 'GNUmakefile', runner: 'make', read: fromMakefile },
  { file: 'makefile', runner: 'make', read: fromMakefile },
  { file: 'Makefile', runner: 'make', read: fromMakefile },
  { file: 'justfile', runner: 'just', read: fromJustfile },
  { file: 'Justfile', runner: 'just', read: fromJustfile },
  { file: '.justfile', runner: 'just', read: fromJustfile },
];

// JSON.parse takes only milliseconds for the largest file, so this is a single chunk.
// oxlint-disable-next-line require-yield -- it is one piece
function* fromManifest(text: string): ScriptParse {
  return fromMember(JSON.parse(text), 'scripts');
}

function* fromDeno(text: string): ScriptParse {
  return fromMember(yield* parseJsonc(text), 'tasks');
}

function fromMember(value: unknown, member: string): string[] {
  if (!isJsonObject(value)) throw new SyntaxError(`must be an object, got ${inspectValue(value)}`);
  const scripts = value[member];
  if (scripts === undefined) return [];
  if (!isJsonObject(scripts)) {
    throw new SyntaxError(`"${member}" must be an object, got ${inspectValue(scripts)}`);
  }
  return Object.keys(scripts);
}

/**
 * Parses JSON with comments and trailing commas. The patterns match strings first, so comment
 * markers in strings are ignored. Unclosed strings run to the end even after a trailing backslash;
 * otherwise matching would restart at every quote and become quadratic.
 */
function* parseJsonc(text: string): Generator<number, unknown> {
  const string = String.raw`("(?:[^"\\]|\\[^]?)*"?)`;
  const comments = new RegExp(String.raw`${string}|\/\/[^\n]*|\/\*[^]*?(?:\*\/|$)`, 'g');
  const trailingCommas = new RegExp(String.raw`${string}|,(?=\s*[}\]])`, 'g');
  return JSON.parse(
    yield* omitMatches(trailingCommas, yield* omitMatches(comments, text)),
  ) as unknown;
}

/** Removes the matches of a pattern, except for strings, which its first group captures. */
function* omitMatches(leftOut: RegExp, text: string): Generator<number, string> {
  const kept: string[] = [];
  let [start, paused] = [0, 0];
  for (const { 0: found, 1: string, index } of text.matchAll(leftOut)) {
    const end = index + found.length;
    if (string === undefined) {
      kept.push(text.slice(start, index));
      start = end;
    }
    if (end - paused < chunkCharacters) continue;
    yield end - paused;
    paused = end;
  }
  kept.push(text.slice(start));
  return kept.join('');
}

/** Collects names from files in which each line declares its own. */
function* fromLines(
  text: string,
  namesOf: (line: string) => readonly string[],
): Generator<number, string[]> {
  const names: string[] = [];
  let looked = 0;
  for (let start = 0; start <= text.length;) {
    const newline = text.indexOf('\n', start);
    const end = newline === -1 ? text.length : newline;
    for (const name of namesOf(text.slice(start, end))) names.push(name);
    looked += end + 1 - start;
    start = end + 1;
    if (looked < chunkCharacters) continue;
    yield looked;
    looked = 0;
  }
  return names;
}

function fromPyproject(text: string): ScriptParse {
  let section = '';
  return fromLines(text, (line) => {
    section = /^\s*\[([^[\]]+)\]/.exec(line)?.[1]?.trim() ?? section;
    if (section !== 'project.scripts' && section !== 'tool.poetry.scripts') return [];
    const [, name] = /^\s*"?([\w.-]+)"?\s*=\s*["'][^"']*["']/.exec(line) ?? [];
    return name === undefined ? [] : [name];
  });
}

function fromMakefile(text: string): ScriptParse {
  // Rules start in the first column. "%" marks patterns, ".PHONY" and similar are special targets,
  // ":=" assigns.
  const known = new Set<string>();
  return fromLines(text, (line) => {
    const colon = line.indexOf(':');
    // The character class covers everything allowed before the colon, so the match never
    // backtracks.
    if (colon === -1 || !/^\w[\w./ \t-]*$/.test(line.slice(0, colon))) return [];
    if (/^:+=/.test(line.slice(colon, colon + 4))) return [];
    const names = new Set(line.slice(0, colon).split(/[ \t]+/));
    return [...names].filter((name) => {
      const isNew = name !== '' && !known.has(name);
      if (isNew) known.add(name);
      return isNew;
    });
  });
}

function fromJustfile(text: string): ScriptParse {
  // Matches `name arguments: dependencies`. ":=" assigns, and a leading "_" makes a recipe private.
  return fromLines(text, (line) => {
    const name = /^@?([A-Za-z][\w-]*)(?:[ \t][^:]*)?:(?!=)/.exec(line)?.[1];
    return name === undefined ? [] : [name];
  });
}
