/**
 * Supervises `mcp-actors serve FILE --durable WHERE`: holds the host's pipes in a process that
 * loads nothing else.
 */
import { parseArgs } from 'node:util';
import { setFlagsFromString } from 'node:v8';
import { exitProcess, supervisor } from 'mcp-actors/internal';
import { isCommandName } from './command.ts';

/**
 * Options that decide whether this process supervises. The serving process parses all options and
 * reports errors.
 */
const options = {
  durable: { type: 'string' },
  unsupervised: { type: 'boolean' },
  http: { type: 'string' },
  help: { type: 'boolean', short: 'h' },
  version: { type: 'boolean', short: 'V' },
  'log-level': { type: 'string' },
} as const;

/**
 * Serves through another process and exits with it.
 *
 * @param args arguments of the command
 * @returns if this process must serve by itself
 */
export async function superviseServer(args: readonly string[]): Promise<void> {
  if (process.env[supervisor.supervisedVariable] === '1' || isCommandName(args[0])) return;
  const { values } = parseArgs({ args: [...args], options, strict: false, allowPositionals: true });
  const { durable, unsupervised, http, help, version } = values;
  if (durable === undefined || unsupervised || http !== undefined || help || version) return;
  // Messages are short-lived. A growing young generation would dominate this process's memory.
  setFlagsFromString('--semi-space-growth-factor=1');
  const logLevel = values['log-level'] ?? process.env['MCP_ACTORS_LOG_LEVEL'];
  const code = await supervisor.supervise({
    args: supervisor.ownCommandLine(),
    logLevel: supervisor.readThreshold(logLevel),
  });
  await exitProcess(code);
}
