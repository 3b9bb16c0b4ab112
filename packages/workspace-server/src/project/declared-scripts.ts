/**
 * Reading the scripts that a project's files declare. Pure, linear in the text and in pieces: a
 * hostile project's files come here too. A file that cannot be read throws a `SyntaxError` with the
 * reason, and nothing else is thrown.
 */
import { inspectValue, isJsonObject } from 'mcp-actors/internal';

/** A kind of file that declares scripts. */
export interface ScriptFile {
  readonly file: string;
  /** How a person runs one, without the name. */
  readonly runner: string;
  /** Reads the names, as they stand in the file. */
  readonly read: (text: string) => Reading;
}

/**
 * Names that are being read. After each piece it yields how many characters it has looked at: the event
 * loop may turn there.
 */
export type Reading = Generator<number, string[]>;

/** A piece, characters; some milliseconds of work at most. */
export const pieceCharacters = 64 * 1024;

/** What is looked for, in the order in which it is reported. */
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

// JSON.parse takes some milliseconds for the largest file.
// oxlint-disable-next-line require-yield -- it is one piece
function* fromManifest(text: string): Reading {
  return fromMember(JSON.parse(text), 'scripts');
}

function* fromDeno(text: string): Reading {
  return fromMember(yield* parseJsonc(text), 'tasks');
}

function fromMember(value: unknown, member: string): string[] {
  if (!isJsonObject(value)) throw new SyntaxError(`it is ${inspectValue(value)}, not an object`);
  const scripts = value[member];
  if (scripts === undefined) return [];
  if (!isJsonObject(scripts)) {
    throw new SyntaxError(`"${member}" is ${inspectValue(scripts)}, not an object`);
  }
  return Object.keys(scripts);
}

/**
 * JSON with comments and trailing commas. Strings are matched first, so that nothing in them is
 * taken for a comment. What is not closed runs to the end, also if its last character is a
 * backslash: a pattern that fails there would be tried again from every quote.
 */
function* parseJsonc(text: string): Generator<number, unknown> {
  const string = String.raw`("(?:[^"\\]|\\[^]?)*"?)`;
  const comments = new RegExp(String.raw`${string}|\/\/[^\n]*|\/\*[^]*?(?:\*\/|$)`, 'g');
  const trailingCommas = new RegExp(String.raw`${string}|,(?=\s*[}\]])`, 'g');
  return JSON.parse(yield* without(trailingCommas, yield* without(comments, text))) as unknown;
}

/** A text without what matches, but for the strings, which are the first group. */
function* without(leftOut: RegExp, text: string): Generator<number, string> {
  const kept: string[] = [];
  let [start, paused] = [0, 0];
  for (const { 0: found, 1: string, index } of text.matchAll(leftOut)) {
    const end = index + found.length;
    if (string === undefined) {
      kept.push(text.slice(start, index));
      start = end;
    }
    if (end - paused < pieceCharacters) continue;
    yield end - paused;
    paused = end;
  }
  kept.push(text.slice(start));
  return kept.join('');
}

/** What lines declare, each of them by a line of its own. */
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
    if (looked < pieceCharacters) continue;
    yield looked;
    looked = 0;
  }
  return names;
}

function fromPyproject(text: string): Reading {
  let section = '';
  return fromLines(text, (line) => {
    section = /^\s*\[([^[\]]+)\]/.exec(line)?.[1]?.trim() ?? section;
    if (section !== 'project.scripts' && section !== 'tool.poetry.scripts') return [];
    const [, name] = /^\s*"?([\w.-]+)"?\s*=\s*["'][^"']*["']/.exec(line) ?? [];
    return name === undefined ? [] : [name];
  });
}

function fromMakefile(text: string): Reading {
  // A rule begins in the first column; "%" is a pattern, ".PHONY" and its like are make's own, ":="
  // assigns.
  const known = new Set<string>();
  return fromLines(text, (line) => {
    const colon = line.indexOf(':');
    // The class takes all that may come before the colon, so that nothing is ever tried twice.
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

function fromJustfile(text: string): Reading {
  // `name arguments: dependencies`; ":=" assigns, a leading "_" makes a recipe private.
  return fromLines(text, (line) => {
    const name = /^@?([A-Za-z][\w-]*)(?:[ \t][^:]*)?:(?!=)/.exec(line)?.[1];
    return name === undefined ? [] : [name];
  });
}
