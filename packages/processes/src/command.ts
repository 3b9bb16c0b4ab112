/**
 * Checks a command before it is started. Node blames the command if the working directory is
 * missing, and the intermediate shell would report a missing command as an exit.
 */
import { constants } from 'node:fs';
import { access, open, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { inspectValue } from '../../../src/protocol/classify.ts';
import { RuntimeError } from '../../../src/protocol/errors.ts';
import type { ResolvedCommand, PlatformNames } from './platform.ts';
import { thisPlatform } from './platforms.ts';

/** A command to start. */
export interface ServerCommand {
  /** Name to look up in the PATH of `env`, or a path. Never interpreted by a shell. */
  readonly command: string;
  readonly args?: readonly string[] | undefined;
  /** Default: the working directory of this process. */
  readonly cwd?: string | undefined;
  /** The complete environment; nothing else is inherited. */
  readonly env: { readonly [name: string]: string };
}

/**
 * Locates the executable of a command.
 *
 * @throws {RuntimeError} SPAWN_FAILED, naming the problem and the searched PATH
 */
export async function resolveCommand({
  command,
  args = [],
  cwd,
  env,
}: ServerCommand): Promise<ResolvedCommand> {
  assertCommandText(command, args, env);
  const directory = resolve(cwd ?? '.');
  await assertDirectory(directory);
  const file = await findFile(command, directory, env);
  if (thisPlatform.names.hasInterpreters) await assertInterpreter(file, command);
  return { file, args, cwd: directory, env };
}

/** Quotes a path without truncating it. */
const quoted = (text: string): string => JSON.stringify(text);

/** Error for a command that cannot be started. */
export function spawnFailed(message: string, cause?: unknown): RuntimeError {
  return new RuntimeError('SPAWN_FAILED', message, cause === undefined ? {} : { cause });
}

function assertCommandText(command: unknown, args: unknown, env: object): void {
  assertString('command', command);
  if (typeof command === 'string' && command.trim() === '')
    throw spawnFailed('command must not be empty');
  if (!Array.isArray(args)) throw spawnFailed(`args must be an array, got ${inspectValue(args)}`);
  for (const [at, arg] of args.entries()) assertString(`args[${at}]`, arg);
  for (const [name, value] of Object.entries(env)) {
    assertString(`env.${name}`, value);
    if (name !== '' && !/[=\0]/.test(name.slice(1)) && name[0] !== '\0') continue;
    throw spawnFailed(
      `Names of environment variables must not be empty or contain "=" or NUL, got ${inspectValue(name)}`,
    );
  }
}

function assertString(name: string, value: unknown): void {
  if (typeof value !== 'string') {
    throw spawnFailed(`${name} must be a string, got ${inspectValue(value)}`);
  }
  if (value.includes('\0')) {
    throw spawnFailed(`${name} must not contain a NUL character`);
  }
}

async function assertDirectory(directory: string): Promise<void> {
  const found = await stat(directory).catch((error: NodeJS.ErrnoException) => error);
  if (found instanceof Error) {
    const why = found.code === 'ENOENT' ? 'does not exist' : `cannot be used: ${found.message}`;
    throw spawnFailed(`The working directory ${quoted(directory)} ${why}`, found);
  }
  if (!found.isDirectory()) {
    throw spawnFailed(`The working directory ${quoted(directory)} is not a directory`);
  }
  await access(directory, constants.X_OK).catch((error: unknown) => {
    throw spawnFailed(
      `The working directory ${quoted(directory)} cannot be entered: permission denied`,
      error,
    );
  });
}

/** Reason why a file cannot be executed, or undefined. */
async function executableProblem(
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
  const { files, path } = candidateFiles(command, cwd, env);
  const problems: string[] = [];
  for (const file of files) {
    const problem = await executableProblem(file);
    if (problem === undefined) return file;
    if (problem === 'directory') problems.push(`${quoted(file)} is a directory`);
    if (problem === 'not executable') problems.push(`${quoted(file)} is not executable`);
  }
  const where = path === undefined ? '' : ` in PATH (${path})`;
  throw spawnFailed(problems[0] ?? `Command ${quoted(command)} not found${where}`);
}

/**
 * Candidate files of a command, in search order.
 *
 * @param cwd absolute
 * @returns `path`: the searched PATH; undefined if the command is a path
 */
export function candidateFiles(
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

/**
 * Rejects a script with an unusable interpreter, because the system would report the script itself
 * as missing.
 */
async function assertInterpreter(file: string, command: string): Promise<void> {
  const interpreter = /^#![ \t]*(\/[^\s]*)/.exec(await readHead(file))?.[1];
  if (interpreter === undefined) return;
  const problem = await executableProblem(interpreter);
  if (problem === undefined) return;
  const why =
    problem === 'missing'
      ? 'does not exist'
      : `is ${problem === 'directory' ? 'a directory' : problem}`;
  throw spawnFailed(
    `${quoted(command)} needs the interpreter ${quoted(interpreter)}, which ${why}`,
  );
}

/** Returns the first 256 bytes, or '' for an unreadable file, which may still be executable. */
async function readHead(file: string): Promise<string> {
  const handle = await open(file).catch(() => undefined);
  if (!handle) return '';
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(256), 0, 256, 0);
    return buffer.toString('latin1', 0, bytesRead);
  } finally {
    await handle.close();
  }
}
