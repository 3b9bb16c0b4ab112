/** The directories on the command line. */
import { accessSync, constants, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { UsageError } from './command.ts';
import { closestMatch } from 'mcp-actors/internal';

/**
 * The directory that the command was started in.
 *
 * @throws {UsageError} it has been removed or cannot be read
 */
export function workingDirectory(): string {
  try {
    return process.cwd();
  } catch (error) {
    const reason = (error as Error).message;
    throw new UsageError(
      `The directory that this was started in cannot be used (${reason}); start it in one that exists`,
      { cause: error },
    );
  }
}

/** The directories that were given, read once. */
export interface GivenDirectories {
  /** Absolute, in the order given. One that cannot be used now may become usable later. */
  readonly all: readonly string[];
  /** Those of `all` that can be used now. */
  readonly usable: readonly string[];
  /** Why each of the others cannot be used, and what to do. */
  readonly faults: readonly string[];
}

/**
 * Makes the paths absolute and checks that each is a directory.
 *
 * @throws {UsageError} none can be used, though some were given
 */
export function checkDirectories(names: readonly string[], cwd: string): GivenDirectories {
  const checked = names.map((name) => {
    // An empty name would become the working directory, which was not asked for.
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

/** Names that are allowed in place of a directory. */
export interface NamedThings {
  /** One of them: `a command`. */
  readonly what: string;
  readonly known: readonly string[];
}

/**
 * Tells a mistyped name from a directory: it is the first argument and a plain word, there is no
 * such directory, and it is like a known name or all that was given.
 *
 * @throws {UsageError} it is one; the message names the nearest
 */
export function refuseMistyped(
  [word = '', ...others]: readonly string[],
  cwd: string,
  { what, known }: NamedThings,
): void {
  if (!/^[a-z][a-z-]*$/i.test(word) || isDirectory(resolve(cwd, word))) return;
  const near = closestMatch(word, known);
  if (near === undefined && others.length > 0) return;
  const advice =
    near === undefined
      ? `Give one of ${known.filter((name) => !name.startsWith('-')).join(', ')}, or a directory that exists`
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
    if (code === 'EACCES') return `may not be read by this user (${path})`;
    return `cannot be used: ${(error as Error).message}`;
  }
}

/** No shell reads a host's configuration: `~` and variables arrive unexpanded. */
function adviceFor(name: string): string {
  if (name.startsWith('~')) return 'No shell has expanded the ~ here: write the whole path';
  if (/\$\{?\w/.test(name)) {
    return 'This host does not replace variables: write the path itself, or leave it out and let roots decide';
  }
  if (/^file:/i.test(name)) return 'Give a path, not a URI';
  return 'The arguments are directories to serve; see mcp-actors --help';
}
