/** Directories on the command line. */
import { accessSync, constants, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { UsageError } from './command.ts';
import { closestMatch } from 'mcp-actors/internal';

/**
 * Working directory of the command.
 *
 * @throws {UsageError} if it was removed or is unreadable
 */
export function workingDirectory(): string {
  try {
    return process.cwd();
  } catch (error) {
    const reason = (error as Error).message;
    throw new UsageError(
      `The working directory cannot be used (${reason}); start the command in an existing one`,
      { cause: error },
    );
  }
}

/** Directories from the command line. */
export interface GivenDirectories {
  /** Absolute paths in the given order. An unusable one may become usable later. */
  readonly all: readonly string[];
  /** Directories of `all` that are usable now. */
  readonly usable: readonly string[];
  /** Problems of the others, with advice. */
  readonly faults: readonly string[];
}

/**
 * Resolves the paths and checks that each is a directory.
 *
 * @throws {UsageError} if directories were given but none is usable
 */
export function checkDirectories(names: readonly string[], cwd: string): GivenDirectories {
  const checked = names.map((name) => {
    // An empty name would silently mean the working directory.
    const path = name === '' ? '' : resolve(cwd, name);
    const fault = name === '' ? 'is empty' : faultOf(path);
    return fault === undefined
      ? { path }
      : { path, fault: `${JSON.stringify(name)} ${fault}. ${adviceFor(name)}` };
  });
  const usable = checked.flatMap(({ path, fault }) => (fault === undefined ? [path] : []));
  const faults = checked.flatMap(({ fault }) => fault ?? []);
  if (faults.length > 0 && usable.length === 0) throw new UsageError(faults.join('\n'));
  return { all: checked.map(({ path }) => path), usable, faults };
}

/** Names allowed instead of a directory. */
export interface NamedThings {
  /** Kind of the names: `a command`. */
  readonly what: string;
  readonly known: readonly string[];
}

/**
 * Rejects a mistyped name: the first argument, a plain word that is not an existing directory and
 * either resembles a known name or is the only argument.
 *
 * @throws {UsageError} with the closest known name
 */
export function rejectMistyped(
  [word = '', ...others]: readonly string[],
  cwd: string,
  { what, known }: NamedThings,
): void {
  if (!/^[a-z][a-z-]*$/i.test(word) || isDirectory(resolve(cwd, word))) return;
  const near = closestMatch(word, known);
  if (near === undefined && others.length > 0) return;
  const advice =
    near === undefined
      ? `Use one of ${known.filter((name) => !name.startsWith('-')).join(', ')}, or an existing directory`
      : `Did you mean ${near}?`;
  throw new UsageError(
    `${JSON.stringify(word)} is neither ${what} nor a directory (looked for ${resolve(cwd, word)}). ${advice}`,
  );
}

/** True if a directory is there. */
export function isDirectory(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}

function faultOf(path: string): string | undefined {
  try {
    if (!statSync(path).isDirectory()) return `is not a directory (${path})`;
    accessSync(path, constants.R_OK | constants.X_OK);
    return undefined;
  } catch (error) {
    const { code } = error as { readonly code?: string };
    if (code === 'ENOENT') return `does not exist (looked for ${path})`;
    if (code === 'ENOTDIR') return `does not exist: a part of ${path} is a file`;
    if (code === 'EACCES') return `is not readable: permission denied (${path})`;
    return `cannot be used: ${(error as Error).message}`;
  }
}

/** Advice for unexpanded `~` and variables, because no shell reads a host's configuration. */
function adviceFor(name: string): string {
  if (name.startsWith('~')) return 'No shell expands ~ here: write the absolute path';
  if (/\$\{?\w/.test(name)) {
    return 'This host does not expand variables: write the path itself, or omit it and use roots';
  }
  if (/^file:/i.test(name)) return 'Use a path, not a URI';
  return 'Arguments are directories to serve; see mcp-actors --help';
}
