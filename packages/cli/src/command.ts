/** Shared by all commands: interface, names, printing, usage errors, package version. */
import { printable } from 'mcp-actors/internal';
import type { prestart } from 'mcp-actors/internal';

/** Export `command` of a command's module. */
export interface Command {
  /**
   * Runs the command.
   *
   * @param args arguments after the command's name; the command handles `--help` itself
   * @param script entry module of the process, as `import.meta.url`
   * @param ahead server started before this module was loaded
   * @returns the exit code
   * @throws {UsageError} if the arguments are invalid; the process then exits with 2
   */
  run(args: readonly string[], script: string, ahead?: prestart.Prestarted): Promise<number>;
}

/** The commands besides `serve` and `workspace`. */
export const commandNames = [
  'bridge',
  'call',
  'check',
  'config',
  'dev',
  'diagram',
  'doctor',
  'init',
  'login',
  'logins',
  'logout',
  'replay',
  'shell',
  'tasks',
] as const;

/** What `mcp-actors help TOPIC` tells more of, beside the commands. */
export const helpTopics = ['serve', 'workspace', 'limits', 'http', 'auth'] as const;

/** All words that may come first. */
export const commandWords = [...commandNames, 'serve', 'workspace', 'help', 'version'];

export type HelpTopic = (typeof helpTopics)[number];

export type CommandName = (typeof commandNames)[number];

/** True for the name of a command besides `serve` and `workspace`. */
export function isCommandName(name: string | undefined): name is CommandName {
  return commandNames.some((each) => each === name);
}

/** Invalid command line. The message goes to stderr, and the process exits with 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** Message of the library's error for an unusable address; undefined for other errors. */
export function addressFault(error: unknown): string | undefined {
  return error instanceof Error && error.name === 'AddressError' ? error.message : undefined;
}

const hidden = new Set<string>();

/** Registers secrets that are removed from all output to stderr. */
export function neverShow(secrets: Iterable<string>): void {
  for (const secret of secrets) hidden.add(secret);
}

/** Removes registered secrets from a text. */
export function withoutHidden(text: string): string {
  return [...hidden].reduce((clean, secret) => clean.replaceAll(secret, '[redacted]'), text);
}

/**
 * Writes a text. Resolves when it is written or the stream has failed. On a terminal, control and
 * direction characters are escaped; pipes and files get every byte. Registered secrets are never
 * written to stderr.
 */
export function print(stream: NodeJS.WriteStream, text: string): Promise<void> {
  return new Promise((resolve) => {
    const failed = (): void => resolve();
    stream.once('error', failed);
    const shown = stream === process.stderr ? withoutHidden(text) : text;
    stream.write(stream.isTTY ? printedLines(shown) : shown, (error) => {
      // A failing stream also emits an error event, which needs a listener.
      if (!error) stream.off('error', failed);
      resolve();
    });
  });
}

/** Escapes control characters in each line. */
function printedLines(text: string): string {
  const lines = text.split(/\r?\n/);
  return lines.map((line) => printable(line, Infinity)).join('\n');
}

export { packageVersion } from 'mcp-actors/internal';
