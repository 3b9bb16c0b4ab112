/** Holds the host's pipe for `mcp-actors serve FILE --durable WHERE`, in a process that loads nothing else. */
import { parseArgs } from 'node:util';
import { setFlagsFromString } from 'node:v8';
import { exitProcess, supervisor } from 'mcp-actors/internal';
import { isCommandName } from './command.ts';

/** The options that decide whether this process holds the pipe. The process that serves reads them all, and says what is wrong. */
const options = {
  durable: { type: 'string' },
  unsupervised: { type: 'boolean' },
  http: { type: 'string' },
  help: { type: 'boolean', short: 'h' },
  version: { type: 'boolean', short: 'V' },
  'log-level': { type: 'string' },
} as const;

/**
 * Serves by another process, and ends this one with it.
 *
 * @param args those of the command
 * @returns once it is clear that this process is to do what the arguments say by itself
 */
export async function superviseServer(args: readonly string[]): Promise<void> {
  if (process.env[supervisor.supervisedVariable] === '1' || isCommandName(args[0])) return;
  const { values } = parseArgs({ args: [...args], options, strict: false, allowPositionals: true });
  const { durable, unsupervised, http, help, version } = values;
  if (durable === undefined || unsupervised || http !== undefined || help || version) return;
  // Lines come and go. A young generation that grows with them would be most of this process's memory.
  setFlagsFromString('--semi-space-growth-factor=1');
  const logLevel = values['log-level'] ?? process.env['MCP_ACTORS_LOG_LEVEL'];
  const code = await supervisor.supervise({
    args: supervisor.ownCommandLine(),
    logLevel: supervisor.readThreshold(logLevel),
  });
  await exitProcess(code);
}
