/**
 * A process that is started before the code that speaks to it is loaded, so that both begin at once. The first
 * actor that launches this very command takes it.
 */
import { findCommand } from './command.ts';
import type { ServerCommand } from './command.ts';
import { environmentFor } from './environment.ts';
import type { PreparedLaunch } from './platform.ts';
import { thisPlatform } from './platforms.ts';

/** A running command. */
export interface StartedAhead {
  readonly command: ServerCommand;
  readonly launch: PreparedLaunch;
}

/**
 * Starts a command with the environment of this process. If nobody takes it, it ends with this process.
 *
 * @returns undefined if it cannot be started: the actor that launches it then says why
 */
export async function start(
  given: Pick<ServerCommand, 'command' | 'args'>,
): Promise<StartedAhead | undefined> {
  const command = { ...given, env: environmentFor({}, true) };
  const options = { isWatched: true, hasChannel: false };
  try {
    const launch = await thisPlatform.prepare(await findCommand(command), options);
    const run = launch.start();
    const { child } = run;
    // What is wrong with it shows at the second start.
    child.once('error', () => {});
    const isRunning = () =>
      child.pid !== undefined && child.exitCode === null && child.signalCode === null;
    return { command, launch: { ...launch, start: () => (isRunning() ? run : launch.start()) } };
  } catch {
    return undefined;
  }
}

let held: StartedAhead | undefined;

/** Keeps it for the actor that launches its command. */
export function hold(ahead: StartedAhead): void {
  held = ahead;
}

/** The start of a command, if it was started ahead and was not taken before. */
export async function take(command: ServerCommand): Promise<PreparedLaunch | undefined> {
  if (!held || textOf(held.command) !== textOf(command)) return undefined;
  const { launch } = held;
  held = undefined;
  // It may have ended, and this process may not have read that yet.
  await passEnd();
  await passEnd();
  return launch;
}

const passEnd = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

const textOf = ({ command, args = [], cwd, env }: ServerCommand): string =>
  JSON.stringify([command, args, cwd, env]);
