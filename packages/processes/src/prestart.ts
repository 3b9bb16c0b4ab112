/**
 * Starts a process before the code that talks to it is loaded, so that both load in parallel. The
 * first actor that launches the same command takes over the process.
 */
import { resolveCommand } from './command.ts';
import type { ServerCommand } from './command.ts';
import { environmentFor } from './environment.ts';
import type { PreparedLaunch } from './platform.ts';
import { thisPlatform } from './platforms.ts';

/** A started command. */
export interface Prestarted {
  readonly command: ServerCommand;
  readonly launch: PreparedLaunch;
}

/**
 * Starts a command with the environment of this process. A process that no actor takes ends with
 * this process.
 *
 * @returns undefined if the start fails; the actor that launches the command then reports the
 *   reason
 */
export async function prestart(
  given: Pick<ServerCommand, 'command' | 'args'>,
): Promise<Prestarted | undefined> {
  const command = { ...given, env: environmentFor({}, true) };
  const options = { isWatched: true, hasChannel: false };
  try {
    const launch = await thisPlatform.prepare(await resolveCommand(command), options);
    const run = launch.start();
    const { child } = run;
    // The actor's own start reports the error.
    child.once('error', () => {});
    const isRunning = () =>
      child.pid !== undefined && child.exitCode === null && child.signalCode === null;
    return { command, launch: { ...launch, start: () => (isRunning() ? run : launch.start()) } };
  } catch {
    return undefined;
  }
}

let held: Prestarted | undefined;

/** Holds a started command for the actor that launches it. */
export function holdPrestarted(ahead: Prestarted): void {
  held = ahead;
}

/** Takes the held process of a command, if there is one. */
export async function takePrestarted(command: ServerCommand): Promise<PreparedLaunch | undefined> {
  if (!held || textOf(held.command) !== textOf(command)) return undefined;
  const { launch } = held;
  held = undefined;
  // Let a pending `exit` event arrive, in case the process has ended.
  await nextLoopTurn();
  await nextLoopTurn();
  return launch;
}

const nextLoopTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

const textOf = ({ command, args = [], cwd, env }: ServerCommand): string =>
  JSON.stringify([command, args, cwd, env]);
