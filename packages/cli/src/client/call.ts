/** `mcp-actors call`: calls one tool of one server. stdout gets its result, and nothing else. */
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
  onlyServer,
  onlyServers,
  tell,
  tellFaults,
} from './client-options.ts';
import { absencesOf, findTool, listingMs } from './find-tool.ts';
import { ExitCode, exitCodeOf, textOfFailure } from './exit-codes.ts';
import { askingPerson, follow } from './person.ts';
import { interruptible } from '../interruption.ts';
import type { Interruption } from '../interruption.ts';
import { drawProgress } from './progress-line.ts';
import { textOfResult } from './result-text.ts';
import { configOf, readTarget } from './target.ts';
import type { Target } from './target.ts';
import { watching } from './watching.ts';
import { readToolArguments } from './tool-arguments.ts';

/** The command's options; the documentation has them too. */
export const callOptions = {
  tool: {
    kind: 'text',
    placeholder: 'NAME',
    help: 'The tool, if it is not the first argument.',
  },
  list: { kind: 'switch', help: 'Print the tools instead of calling one.' },
  json: {
    kind: 'switch',
    help: 'Print the structured result as JSON, or the content if there is none; with --list, the tools.',
  },
  raw: {
    kind: 'switch',
    help: 'Print the whole result as the server sent it, as one line of JSON.',
  },
  timeout: {
    kind: 'duration',
    bounds: { min: 1, max: 86_400_000 },
    default: undefined,
    help: 'How long connecting may take, and then the call. By default 30s, and 60s without progress or 10min in all.',
  },
  ...clientOptions,
  help: helpOption,
} as const satisfies OptionTable;

const help = `Usage: mcp-actors call FILE SERVER__TOOL [ARGUMENTS]
       mcp-actors call URL TOOL [ARGUMENTS]
       mcp-actors call TOOL [ARGUMENTS] -- COMMAND [ARGUMENTS...]

Calls a tool of an MCP server, which it starts or reaches for that. FILE is an mcpServers
file, as hosts have it. The ARGUMENTS are one JSON object; @FILE or -, a file or stdin that
holds one; or any number of key=value, read by the tool's schema.

  mcp-actors call mcp.json github__search_issues '{"query":"crash"}'
  mcp-actors call --tool echo '{"text":"hi"}' -- node server.js
  mcp-actors call https://example.com/mcp add a=1 b=2
  mcp-actors call mcp.json --list

stdout gets the result, and nothing else. Ctrl-C cancels the call, and ends the server; a
second one ends everything at once.

Options:
${optionsText(callOptions)}

Exit status: 0 if the tool has done its work, 1 if it or its server answered with an error,
2 if the command was called wrongly, 3 if there is no connection or it was lost, 4 after a
timeout, 5 if the server wants a login, 130 after Ctrl-C.
`;

const name = 'mcp-actors call';

export const command = commandOf(
  name,
  { options: callOptions, help, launches: true },
  async (called) => {
    const { values } = called;
    keepNumberTexts();
    if (values.json && values.raw) throw new UsageError('Give one of --json and --raw');
    const target = readTarget(name, called);
    const interruption = interruptible((code, signal) => void exitProcess(code, process, signal));
    try {
      return await run(values, target, interruption);
    } catch (error) {
      if (error instanceof UsageError) throw error;
      if (interruption.exitCode !== undefined) return interruption.exitCode;
      await tell(name, textOfFailure(error));
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
    throw new UsageError(`Which tool? Name it, or see those that there are with ${name} --list`);
  }
  const wanted = chosen(config, values.server, tool);
  await tellFaults(name, wanted);
  await using watched = await watching(values, wanted.servers.size === 1 ? 'one' : 'each');
  const person = askingPerson(values.answer, name);
  const options: ServersOptions = {
    ...person.options,
    ...connectingOptions(values, (line) => void tell(name, line)),
    // A person at a prompt should hear of a crash at once.
    restart: 'none',
    watch: false,
    limits: values.timeout === undefined ? {} : { connectTimeoutMs: values.timeout },
  };
  const servers = openConfig(wanted, watched.options(options));
  answerDoctor(servers);
  const followed = values.verbose ? follow(servers, name) : undefined;
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

/** Only the servers that may have the tool are started. */
function chosen(config: HostsConfig, server: string | undefined, tool = ''): HostsConfig {
  if (server !== undefined) return onlyServer(config, server);
  const named = [...config.servers.keys()].filter((each) => mayBeNamed(each, tool));
  return named.length === 0 ? config : onlyServers(config, named);
}

/** If there is only one server, its failure is the command's failure. */
async function readyIfOne(servers: Servers, signal: AbortSignal): Promise<boolean> {
  const [only, ...others] = servers.status.keys();
  if (only === undefined || others.length > 0) return false;
  const connection = await servers.use(only);
  await connection.ready({ signal });
  return true;
}

/** Of several servers, those that are late are not waited for. */
async function list(servers: Servers, values: CallValues, signal: AbortSignal): Promise<number> {
  const { json, timeout } = values;
  const isOne = await readyIfOne(servers, signal);
  const timeoutMs = timeout ?? (isOne ? undefined : listingMs);
  const tools = await servers.listTools({
    signal,
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
  });
  // Of one server, the shorter names do.
  const rows = tools.map(
    ({ name: merged, tool, title, description }) =>
      [isOne ? tool : merged, description ?? title ?? ''] as const,
  );
  await print(process.stdout, json ? `${printableJson(tools, 2)}\n` : columns(rows));
  await tell(name, ...absencesOf(servers));
  return exitCodeOfLists([...servers.status.values()]);
}

/** That of the list that a server could not give; else it is enough that one has given its own. */
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
  const say = (line: string): void => void tell(name, line);
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
  const { text, leftOut } = textOfResult(result, form);
  await print(process.stdout, text);
  await tell(name, ...leftOut.map((what) => `${what} is left out; --raw prints it`));
  return result.isError === true ? ExitCode.toolFailed : ExitCode.done;
}
