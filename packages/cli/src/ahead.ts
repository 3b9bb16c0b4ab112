/** Starts the server of `mcp-actors bridge -- COMMAND` before the bridge itself is loaded. */
import { existsSync } from 'node:fs';
import { prestart } from 'mcp-actors/internal';
import { bridgeOptions, lockName } from './options/bridge-options.ts';
import { optionsGiven, parseOptions } from './options/parse-options.ts';

/** Options that do not affect whether or how the server is started. */
const irrelevantOptions: ReadonlySet<string> = new Set(['era', 'log-level', 'retry']);

/**
 * Starts the server unless an option might prevent or change that. Leaves errors in the arguments
 * or the command to the bridge.
 *
 * @param args arguments of `mcp-actors bridge`
 */
export async function serverAhead(
  args: readonly string[],
): Promise<prestart.Prestarted | undefined> {
  const at = args.indexOf('--');
  const [command, ...rest] = args.slice(at + 1);
  if (at === -1 || command === undefined || existsSync(lockName)) return undefined;
  try {
    const line = { command: 'mcp-actors bridge', args: args.slice(0, at) };
    const { positionals } = parseOptions(bridgeOptions, line);
    const given = optionsGiven(bridgeOptions, line);
    if (positionals.length > 0 || !given.every(({ name }) => irrelevantOptions.has(name)))
      return undefined;
  } catch {
    return undefined;
  }
  return prestart.prestart({ command, args: rest });
}
