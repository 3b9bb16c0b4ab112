/** What the commands share: their shape, their names, how they print, and how they refuse a wrong call. */

/** What a command's module exports as `command`. */
export interface Command {
  /**
   * Does it.
   *
   * @param args what follows the command's name; `--help` is the command's own
   * @returns the process's exit code
   * @throws {UsageError} wrong arguments; the process then ends with 2
   */
  run(args: readonly string[]): Promise<number>;
}

/** The commands besides `serve`. */
export const commandNames = ['check', 'diagram', 'doctor', 'replay'] as const;

export type CommandName = (typeof commandNames)[number];

/** True for the name of a command besides `serve`. */
export function isCommandName(name: string | undefined): name is CommandName {
  return commandNames.some((each) => each === name);
}

/** The command was called wrongly: told to the caller on stderr, exit 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** Resolves once the text is out, or nobody is there to read it. */
export function print(stream: NodeJS.WriteStream, text: string): Promise<void> {
  return new Promise((resolve) => {
    stream.once('error', () => resolve());
    stream.write(text, () => resolve());
  });
}
