/**
 * A command that is to be started, checked before it is: Node blames the command if the working
 * directory is missing, and a shell between us would report a missing command as an exit.
 */
import { constants } from 'node:fs';
import { access, open, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { inspectValue } from '../../../src/protocol/classify.ts';
import { RuntimeError } from '../../../src/protocol/errors.ts';
import type { FoundCommand, PlatformNames } from './platform.ts';
import { thisPlatform } from './platforms.ts';

/** What is to be started. */
export interface ServerCommand {
  /** A name that is looked for in the PATH of `env`, or a path. Never read by a shell. */
  readonly command: string;
  readonly args?: readonly string[] | undefined;
  /** By default the working directory of this process. */
  readonly cwd?: string | undefined;
  /** All of it: nothing else is inherited. */
  readonly env: { readonly [name: string]: string };
}

/**
 * Finds a command.
 *
 * @throws {RuntimeError} SPAWN_FAILED: says what is missing or wrong, and where it was looked for
 */
export async function findCommand({
  command,
  args = [],
  cwd,
  env,
}: ServerCommand): Promise<FoundCommand> {
  refuseText(command, args, env);
  const directory = resolve(cwd ?? '.');
  await refuseDirectory(directory);
  const file = await findFile(command, directory, env);
  if (thisPlatform.names.hasInterpreters) await refuseInterpreter(file, command);
  return { file, args, cwd: directory, env };
}

/** Whole, however long: a path that is cut helps nobody. */
const quoted = (text: string): string => JSON.stringify(text);

/** The error of a command that cannot be started. */
export function spawnFailed(message: string, cause?: unknown): RuntimeError {
  return new RuntimeError('SPAWN_FAILED', message, cause === undefined ? {} : { cause });
}

function refuseText(command: unknown, args: unknown, env: object): void {
  refuseString('The command', command);
  if (typeof command === 'string' && command.trim() === '')
    throw spawnFailed('The command is empty');
  if (!Array.isArray(args))
    throw spawnFailed(`args must be an array, this is ${inspectValue(args)}`);
  for (const [at, arg] of args.entries()) refuseString(`args[${at}]`, arg);
  for (const [name, value] of Object.entries(env)) {
    refuseString(`env.${name}`, value);
    if (name !== '' && !/[=\0]/.test(name.slice(1)) && name[0] !== '\0') continue;
    throw spawnFailed(`${inspectValue(name)} is no name of an environment variable`);
  }
}

function refuseString(name: string, value: unknown): void {
  if (typeof value !== 'string') {
    throw spawnFailed(`${name} must be a string, this is ${inspectValue(value)}`);
  }
  if (value.includes('\0')) {
    throw spawnFailed(`${name} contains a NUL character, which no process can be given`);
  }
}

async function refuseDirectory(directory: string): Promise<void> {
  const found = await stat(directory).catch((error: NodeJS.ErrnoException) => error);
  if (found instanceof Error) {
    const why = found.code === 'ENOENT' ? 'does not exist' : `cannot be used: ${found.message}`;
    throw spawnFailed(`The working directory ${quoted(directory)} ${why}`, found);
  }
  if (!found.isDirectory()) {
    throw spawnFailed(`The working directory ${quoted(directory)} is not a directory`);
  }
  await access(directory, constants.X_OK).catch((error: unknown) => {
    throw spawnFailed(`The working directory ${quoted(directory)} may not be entered`, error);
  });
}

/** What keeps a file from being started; undefined if nothing does. */
async function faultOf(
  file: string,
): Promise<'missing' | 'directory' | 'not executable' | undefined> {
  const found = await stat(file).catch(() => undefined);
  if (!found) return 'missing';
  if (found.isDirectory()) return 'directory';
  const isExecutable = await access(file, constants.X_OK).then(
    () => true,
    () => false,
  );
  return isExecutable ? undefined : 'not executable';
}

async function findFile(command: string, cwd: string, env: ServerCommand['env']): Promise<string> {
  const { files, path } = placesOf(command, cwd, env);
  const faults: string[] = [];
  for (const file of files) {
    const fault = await faultOf(file);
    if (fault === undefined) return file;
    if (fault === 'directory') faults.push(`${quoted(file)} is a directory`);
    if (fault === 'not executable') faults.push(`${quoted(file)} is not executable`);
  }
  const where = path === undefined ? '' : ` in PATH (${path})`;
  throw spawnFailed(faults[0] ?? `There is no command ${quoted(command)}${where}`);
}

/**
 * Where a command may be, in the order of looking.
 *
 * @param cwd absolute
 * @returns `path`: the PATH that was looked at; undefined for a command that is a path itself
 */
export function placesOf(
  command: string,
  cwd: string,
  env: ServerCommand['env'],
  names: PlatformNames = thisPlatform.names,
): { readonly files: readonly string[]; readonly path: string | undefined } {
  const { delimiter, isAbsolute, join, resolve: within } = names.path;
  const variable = (wanted: string) =>
    Object.entries(env).find(([name]) => names.variable(name) === wanted)?.[1];
  const path = names.isPath(command) ? undefined : (variable('PATH') ?? names.defaultPath);
  const folders = path?.split(delimiter).flatMap((entry) => names.folder(entry) ?? []) ?? [cwd];
  const endings = names.endings(command, variable('PATHEXT'));
  const files = folders.flatMap((folder) =>
    endings.map((ending) =>
      isAbsolute(command) ? command + ending : join(within(cwd, folder), command + ending),
    ),
  );
  return { files, path };
}

/** A script whose interpreter is missing fails as if the script were. */
async function refuseInterpreter(file: string, command: string): Promise<void> {
  const interpreter = /^#![ \t]*(\/[^\s]*)/.exec(await beginningOf(file))?.[1];
  if (interpreter === undefined) return;
  const fault = await faultOf(interpreter);
  if (fault === undefined) return;
  const why =
    fault === 'missing' ? 'does not exist' : `is ${fault === 'directory' ? 'a directory' : fault}`;
  throw spawnFailed(`${quoted(command)} is to be run by ${quoted(interpreter)}, which ${why}`);
}

/** Nothing if the file may be run and not read. */
async function beginningOf(file: string): Promise<string> {
  const handle = await open(file).catch(() => undefined);
  if (!handle) return '';
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(256), 0, 256, 0);
    return buffer.toString('latin1', 0, bytesRead);
  } finally {
    await handle.close();
  }
}
