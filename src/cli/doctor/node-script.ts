/** What a command line of Node's runs, and whether that is the `mcp-actors` command. */
import { readFileSync, realpathSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { isCommandName } from '../command.ts';

/** Node's options whose value is an argument of its own. */
const valued = new Set([
  '-r',
  '--require',
  '--import',
  '--loader',
  '--experimental-loader',
  '-C',
  '--conditions',
  '--env-file',
  '--env-file-if-exists',
  '--title',
]);

/**
 * The arguments of `mcp-actors serve`, where that is what a command line runs.
 *
 * @param argv the words of the command line, the executable first
 * @param cwd what a relative path is relative to, where it is known
 */
export function serveArguments(
  argv: readonly string[],
  cwd: string | undefined,
): readonly string[] | undefined {
  // An editor that has the script open is none of ours.
  if (!/node|electron/i.test(basename(argv[0] ?? ''))) return undefined;
  let at = 1;
  while (argv[at]?.startsWith('-')) at += valued.has(argv[at] as string) ? 2 : 1;
  const script = argv[at];
  if (script === undefined || !isCommand(script, cwd)) return undefined;
  const args = argv.slice(at + 1);
  return isCommandName(args[0]) ? undefined : args;
}

function isCommand(script: string, cwd: string | undefined): boolean {
  if (basename(script) === 'mcp-actors') return true;
  if (!/^cli\.[jt]s$/.test(basename(script))) return false;
  if (/[\\/]mcp-actors[\\/](dist[\\/]bin|src)[\\/]cli\.[jt]s$/.test(script)) return true;
  try {
    const path = realpathSync(resolve(cwd ?? '/', script));
    return [dirname(dirname(path)), dirname(dirname(dirname(path)))].some(isOurPackage);
  } catch {
    // A path that leads nowhere from here: of a process elsewhere, or of a version that has been removed.
    return false;
  }
}

function isOurPackage(directory: string): boolean {
  try {
    const manifest: unknown = JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8'));
    return (manifest as { readonly name?: unknown } | null)?.name === 'mcp-actors';
  } catch {
    // Most directories are no package.
    return false;
  }
}
