/**
 * What all commands share: their interface, names, printing, usage errors, the package's version.
 */
import { printable } from 'mcp-actors/internal';
import type { prestart } from 'mcp-actors/internal';

/** What a command's module exports as `command`. */
export interface Command {
  /**
   * Runs the command.
   *
   * @param args the arguments after the command's name; the command handles `--help` itself
   * @param script the module that the process was started with, as `import.meta.url`
   * @param ahead the server that was started before this was loaded
   * @returns the process's exit code
   * @throws {UsageError} the arguments are wrong; the process then ends with 2
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

/** The command was called wrongly. The message goes to stderr, and the process exits with 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** Why an address cannot be listened on, as the library says it; undefined for any other error. */
export function addressFault(error: unknown): string | undefined {
  return error instanceof Error && error.name === 'AddressError' ? error.message : undefined;
}

const hidden = new Set<string>();

/** From now on nothing that this process writes to stderr shows one of these texts. */
export function neverShow(secrets: Iterable<string>): void {
  for (const secret of secrets) hidden.add(secret);
}

/** The text without what is never shown. */
export function withoutHidden(text: string): string {
  return [...hidden].reduce((clean, secret) => clean.replaceAll(secret, '[redacted]'), text);
}

/**
 * Resolves once the text is written or the stream has failed. On a terminal, control and direction
 * characters in any text are replaced by their numbers. A pipe or a file gets every byte. Hidden
 * secrets are never written to stderr.
 */
export function print(stream: NodeJS.WriteStream, text: string): Promise<void> {
  return new Promise((resolve) => {
    const failed = (): void => resolve();
    stream.once('error', failed);
    const shown = stream === process.stderr ? withoutHidden(text) : text;
    stream.write(stream.isTTY ? printedLines(shown) : shown, (error) => {
      // A stream that fails also emits an error event, which has no other listener.
      if (!error) stream.off('error', failed);
      resolve();
    });
  });
}

/** A text of several lines, each without what a terminal would obey. */
function printedLines(text: string): string {
  const lines = text.split(/\r?\n/);
  return lines.map((line) => printable(line, Infinity)).join('\n');
}

export { packageVersion } from 'mcp-actors/internal';
