/** `mcp-actors call`: calls one tool of one server. Only the result goes to stdout. */
import { openConfig } from 'mcp-actors/client';
import type { HostsConfig, Servers, ServersOptions, ServerStatus } from 'mcp-actors/client';
import { exitProcess, keepNumberTexts, mayBeNamed, printableJson } from 'mcp-actors/internal';
import { UsageError, print } from '../command.ts';
import { optionsText } from '../options/option.ts';
import type { OptionTable } from '../options/option.ts';
import { commandOf, helpOption } from '../options/parse-options.ts';
import type { Values } from '../options/parse-options.ts';
import { answerDoctor } from './answer-doctor.ts';
import {
  clientOptions,
  columns,
  connectingOptions,
  hideSecretsOf,
  selectServer,
  selectServers,
  printMessages,
  printConfigProblems,
} from './client-options.ts';
import { describeMissingTools, findTool, listingMs } from './find-tool.ts';
import { ExitCode, exitCodeOf, describeFailure } from './exit-codes.ts';
import { openElicitation, printEvents } from './person.ts';
import { interruptible } from '../interruption.ts';
import type { Interruption } from '../interruption.ts';
import { drawProgress } from './progress-line.ts';
import { formatResult } from './result-text.ts';
import { configOf, readTarget } from './target.ts';
import type { Target } from './target.ts';
import { openObservers } from './watching.ts';
import { readToolArguments } from './tool-arguments.ts';

/** Options of the command, also used to generate the documentation. */
export const callOptions = {
  tool: {
    kind: 'text',
    placeholder: 'NAME',
    help: 'Tool to call. Default: the first argument.',
  },
  list: { kind: 'switch', help: 'Print the tools instead of calling one.' },
  json: {
    kind: 'switch',
    help: 'Print the structured result as JSON, or the content without one; with --list, print the tools as JSON.',
  },
  raw: {
    kind: 'switch',
    help: 'Print the whole result as one line of JSON, exactly as the server sent it.',
  },
  timeout: {
    kind: 'duration',
    bounds: { min: 1, max: 86_400_000 },
    default: undefined,
    help: 'Timeout for connecting and for the call. Default: 30s to connect; for the call 60s without progress, 10min in total.',
  },
  ...clientOptions,
  help: helpOption,
} as const satisfies OptionTable;

const help = `Usage: mcp-actors call FILE SERVER__TOOL [ARGUMENTS]
       mcp-actors call URL TOOL [ARGUMENTS]
       mcp-actors call TOOL [ARGUMENTS] -- COMMAND [ARGUMENTS...]

Calls a tool of an MCP server, after starting or reaching the server. FILE is an mcpServers
file, as used by hosts. ARGUMENTS are one JSON object; @FILE or - for a file or stdin that
contains one; or any number of key=value, parsed by the tool's schema.

  mcp-actors call mcp.json github__search_issues '{"query":"crash"}'
  mcp-actors call --tool echo '{"text":"hi"}' -- node server.js
  mcp-actors call https://example.com/mcp add a=1 b=2
  mcp-actors call mcp.json --list

Only the result goes to stdout. Ctrl-C cancels the call and ends the server; a
second Ctrl-C exits at once.

Options:
${optionsText(callOptions)}

Exit status: 0 on success, 1 if the tool or the server answered with an error,
2 for a usage error, 3 if the connection failed or was lost, 4 after a
timeout, 5 if the server requires a login, 130 after Ctrl-C.
`;

const name = 'mcp-actors call';

export const command = commandOf(
  name,
  { options: callOptions, help, launches: true },
  async (called) => {
    const { values } = called;
    keepNumberTexts();
    if (values.json && values.raw) throw new UsageError('--json and --raw exclude each other');
    const target = readTarget(name, called);
    const interruption = interruptible((code, signal) => void exitProcess(code, process, signal));
    try {
      return await run(values, target, interruption);
    } catch (error) {
      if (error instanceof UsageError) throw error;
      if (interruption.exitCode !== undefined) return interruption.exitCode;
      await printMessages(name, describeFailure(error));
      return exitCodeOf(error);
    } finally {
      interruption.stop();
    }
  },
);

type CallValues = Values<typeof callOptions>;

async function run(
  values: CallValues,
  target: Target,
  interruption: Interruption,
): Promise<number> {
  const config = await configOf(target);
  hideSecretsOf(config);
  const [first, ...rest] = target.rest;
  const tool = values.tool ?? first;
  const written = values.tool === undefined ? rest : target.rest;
  if (tool === undefined && !values.list) {
    throw new UsageError(`Name a tool, or list the tools with ${name} --list`);
  }
  const wanted = chosen(config, values.server, tool);
  await printConfigProblems(name, wanted);
  await using watched = await openObservers(values, wanted.servers.size === 1 ? 'one' : 'each');
  const person = openElicitation(values.answer, name);
  const options: ServersOptions = {
    ...person.options,
    ...connectingOptions(values, (line) => void printMessages(name, line)),
    // Report a crash immediately instead of restarting.
    restart: 'none',
    watch: false,
    limits: values.timeout === undefined ? {} : { connectTimeoutMs: values.timeout },
  };
  const servers = openConfig(wanted, watched.options(options));
  answerDoctor(servers);
  const followed = values.verbose ? printEvents(servers, name) : undefined;
  const { signal } = interruption;
  try {
    return values.list
      ? await list(servers, values, signal)
      : await call(servers, tool as string, written, values, signal);
  } finally {
    await servers.close();
    followed?.();
    person.close();
  }
}

/** Selects the servers that may have the tool; the others are not started. */
function chosen(config: HostsConfig, server: string | undefined, tool = ''): HostsConfig {
  if (server !== undefined) return selectServer(config, server);
  const named = [...config.servers.keys()].filter((each) => mayBeNamed(each, tool));
  return named.length === 0 ? config : selectServers(config, named);
}

/**
 * Waits for a single server, whose failure is then the command's failure. Returns false if there
 * are several.
 */
async function readyIfOne(servers: Servers, signal: AbortSignal): Promise<boolean> {
  const [only, ...others] = servers.status.keys();
  if (only === undefined || others.length > 0) return false;
  const connection = await servers.use(only);
  await connection.ready({ signal });
  return true;
}

/** Prints the tools. With several servers, slow ones are not awaited. */
async function list(servers: Servers, values: CallValues, signal: AbortSignal): Promise<number> {
  const { json, timeout } = values;
  const isOne = await readyIfOne(servers, signal);
  const timeoutMs = timeout ?? (isOne ? undefined : listingMs);
  const tools = await servers.listTools({
    signal,
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
  });
  // A single server's tools need no prefix.
  const rows = tools.map(
    ({ name: merged, tool, title, description }) =>
      [isOne ? tool : merged, description ?? title ?? ''] as const,
  );
  await print(process.stdout, json ? `${printableJson(tools, 2)}\n` : columns(rows));
  await printMessages(name, ...describeMissingTools(servers));
  return exitCodeOfLists([...servers.status.values()]);
}

/** Fails if any server's list failed. Otherwise one complete list is enough. */
function exitCodeOfLists(statuses: readonly ServerStatus[]): number {
  const wanted = statuses.filter(({ state }) => state !== 'disabled');
  if (wanted.some(({ state, tools }) => state !== 'failed' && tools.state === 'failed')) {
    return ExitCode.toolFailed;
  }
  const missing = wanted.filter(({ tools }) => ['asking', 'failed'].includes(tools.state));
  if (missing.length < wanted.length || wanted.length === 0) return ExitCode.done;
  return missing.some(({ state }) => state !== 'failed') ? ExitCode.timeout : ExitCode.notConnected;
}

async function call(
  servers: Servers,
  toolName: string,
  written: readonly string[],
  values: CallValues,
  signal: AbortSignal,
): Promise<number> {
  await readyIfOne(servers, signal);
  const say = (line: string): void => void printMessages(name, line);
  const { server, tool, listed } = await findTool(servers, toolName, signal, say);
  const { inputSchema = {} } = listed ?? {};
  const args = readToolArguments(written, { name: toolName, inputSchema });
  const progress = drawProgress(process.stderr);
  const connection = await servers.use(server);
  const result = await connection
    .callTool(tool, args, {
      signal,
      onProgress: progress.update,
      onTask: progress.task,
      ...(values.timeout === undefined
        ? {}
        : { timeoutMs: values.timeout, maxTotalMs: values.timeout }),
    })
    .finally(progress.end);
  const form = values.raw ? 'raw' : values.json ? 'json' : 'text';
  const { text, leftOut } = formatResult(result, form);
  await print(process.stdout, text);
  await printMessages(name, ...leftOut.map((what) => `${what} is omitted; --raw prints it`));
  return result.isError === true ? ExitCode.toolFailed : ExitCode.done;
}
