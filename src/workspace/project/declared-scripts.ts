/**
 * Reading the scripts that a project's files declare. Pure, and linear in the text: a hostile
 * project's files come here too. A file that cannot be read throws a `SyntaxError` with the reason,
 * and nothing else is thrown.
 */
import { describe, isJsonObject } from '../../protocol/classify.ts';

/** A kind of file that declares scripts. */
export interface ScriptFile {
  readonly file: string;
  /** How a person runs one, without the name. */
  readonly runner: string;
  /** The names, as they stand in the file. */
  readonly read: (text: string) => string[];
}

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

function fromManifest(text: string): string[] {
  return fromMember(JSON.parse(text), 'scripts');
}

function fromDeno(text: string): string[] {
  return fromMember(parseJsonc(text), 'tasks');
}

function fromMember(value: unknown, member: string): string[] {
  if (!isJsonObject(value)) throw new SyntaxError(`it is ${describe(value)}, not an object`);
  const scripts = value[member];
  if (scripts === undefined) return [];
  if (!isJsonObject(scripts)) {
    throw new SyntaxError(`"${member}" is ${describe(scripts)}, not an object`);
  }
  return Object.keys(scripts);
}

/**
 * JSON with comments and trailing commas. Strings are matched first, so that nothing in them is
 * taken for a comment. What is not closed runs to the end, also if its last character is a
 * backslash: a pattern that fails there would be tried again from every quote.
 */
function parseJsonc(text: string): unknown {
  const string = String.raw`("(?:[^"\\]|\\[^]?)*"?)`;
  const keepStrings = (_: string, kept: string | undefined) => kept ?? '';
  const comments = new RegExp(String.raw`${string}|\/\/[^\n]*|\/\*[^]*?(?:\*\/|$)`, 'g');
  const trailingCommas = new RegExp(String.raw`${string}|,(?=\s*[}\]])`, 'g');
  return JSON.parse(text.replace(comments, keepStrings).replace(trailingCommas, keepStrings));
}

function fromPyproject(text: string): string[] {
  const found: string[] = [];
  let section = '';
  for (const line of text.split('\n')) {
    section = /^\s*\[([^[\]]+)\]/.exec(line)?.[1]?.trim() ?? section;
    if (section !== 'project.scripts' && section !== 'tool.poetry.scripts') continue;
    const [, name] = /^\s*"?([\w.-]+)"?\s*=\s*["'][^"']*["']/.exec(line) ?? [];
    if (name !== undefined) found.push(name);
  }
  return found;
}

function fromMakefile(text: string): string[] {
  // A rule begins in the first column; "%" is a pattern, ".PHONY" and its like are make's own, ":="
  // assigns.
  const names = text.split('\n').flatMap((line) => {
    const colon = line.indexOf(':');
    // The class takes all that may stand before the colon, so that nothing is ever tried twice.
    if (colon === -1 || !/^\w[\w./ \t-]*$/.test(line.slice(0, colon))) return [];
    const isAssignment = /^:+=/.test(line.slice(colon, colon + 4));
    return isAssignment ? [] : line.slice(0, colon).split(/\s+/).filter(Boolean);
  });
  return [...new Set(names)];
}

function fromJustfile(text: string): string[] {
  // `name arguments: dependencies`; ":=" assigns, a leading "_" makes a recipe private.
  return text.split('\n').flatMap((line) => {
    const name = /^@?([A-Za-z][\w-]*)(?:[ \t][^:]*)?:(?!=)/.exec(line)?.[1];
    return name ?? [];
  });
}
