/** Reading the scripts that a project's files declare. Pure; a file that cannot be read throws a `SyntaxError` with the reason. */
import { describe, isJsonObject } from '../protocol/classify.ts';

export interface DeclaredScript {
  readonly name: string;
  /** What it runs, where the file says it in one line; cut at 300 characters. */
  readonly command?: string;
}

/** A kind of file that declares scripts. */
export interface ScriptFile {
  readonly file: string;
  /** How a person runs one, without the name. */
  readonly runner: string;
  readonly read: (text: string) => DeclaredScript[];
}

/** What is looked for, in the order in which it is reported. */
export const scriptFiles: readonly ScriptFile[] = [
  {
    file: 'package.json',
    runner: 'npm run',
    read: (text) => fromMember(JSON.parse(text), 'scripts'),
  },
  { file: 'deno.json', runner: 'deno task', read: (text) => fromMember(parseJsonc(text), 'tasks') },
  {
    file: 'deno.jsonc',
    runner: 'deno task',
    read: (text) => fromMember(parseJsonc(text), 'tasks'),
  },
  {
    file: 'composer.json',
    runner: 'composer run',
    read: (text) => fromMember(JSON.parse(text), 'scripts'),
  },
  { file: 'pyproject.toml', runner: '', read: fromPyproject },
  { file: 'GNUmakefile', runner: 'make', read: fromMakefile },
  { file: 'makefile', runner: 'make', read: fromMakefile },
  { file: 'Makefile', runner: 'make', read: fromMakefile },
  { file: 'justfile', runner: 'just', read: fromJustfile },
  { file: 'Justfile', runner: 'just', read: fromJustfile },
  { file: '.justfile', runner: 'just', read: fromJustfile },
];

function script(name: string, command?: unknown): DeclaredScript {
  if (typeof command !== 'string') return { name };
  return { name, command: command.length > 300 ? `${command.slice(0, 300)}…` : command };
}

function fromMember(value: unknown, member: string): DeclaredScript[] {
  if (!isJsonObject(value)) throw new SyntaxError(`it is ${describe(value)}, not an object`);
  const scripts = value[member];
  if (scripts === undefined) return [];
  if (!isJsonObject(scripts)) {
    throw new SyntaxError(`"${member}" is ${describe(scripts)}, not an object`);
  }
  return Object.entries(scripts).map(([name, command]) => {
    if (Array.isArray(command)) return script(name, command.map(String).join(' && '));
    return script(name, isJsonObject(command) ? command['command'] : command);
  });
}

/**
 * JSON with comments and trailing commas. Strings are matched first, so that nothing in them is taken for a comment. What is not
 * closed runs to the end: a pattern that fails there would be tried again from every quote.
 */
function parseJsonc(text: string): unknown {
  const string = String.raw`("(?:[^"\\]|\\[^])*(?:"|$))`;
  const keepStrings = (_: string, kept: string | undefined) => kept ?? '';
  const comments = new RegExp(String.raw`${string}|\/\/[^\n]*|\/\*[^]*?(?:\*\/|$)`, 'g');
  const trailingCommas = new RegExp(String.raw`${string}|,(?=\s*[}\]])`, 'g');
  return JSON.parse(text.replace(comments, keepStrings).replace(trailingCommas, keepStrings));
}

/** The lines that a pattern may be tried on: a longer one declares nothing, and would cost its square. */
function shortLines(text: string): string[] {
  return text.split('\n').filter((line) => line.length <= 1000);
}

function fromPyproject(text: string): DeclaredScript[] {
  const found: DeclaredScript[] = [];
  let section = '';
  for (const line of shortLines(text)) {
    section = /^\s*\[([^[\]]+)\]/.exec(line)?.[1]?.trim() ?? section;
    if (section !== 'project.scripts' && section !== 'tool.poetry.scripts') continue;
    const [, name, command] = /^\s*"?([\w.-]+)"?\s*=\s*["']([^"']*)["']/.exec(line) ?? [];
    if (name !== undefined) found.push(script(name, command));
  }
  return found;
}

function fromMakefile(text: string): DeclaredScript[] {
  // A rule begins in the first column; "%" is a pattern, ".PHONY" and its like are make's own, ":=" assigns.
  const names = shortLines(text).flatMap((line) => {
    const targets = /^([A-Za-z0-9_][\w./ -]*?)[ \t]*::?(?![:=])/.exec(line)?.[1];
    return targets === undefined ? [] : targets.split(/\s+/);
  });
  return [...new Set(names)].map((name) => script(name));
}

function fromJustfile(text: string): DeclaredScript[] {
  // `name arguments: dependencies`; ":=" assigns, a leading "_" makes a recipe private.
  return shortLines(text).flatMap((line) => {
    const name = /^@?([A-Za-z][\w-]*)(?:[ \t][^:]*)?:(?!=)/.exec(line)?.[1];
    return name === undefined ? [] : [script(name)];
  });
}
