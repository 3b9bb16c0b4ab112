/**
 * `mcp-actors check`: plays client sequences against a server and reports violations of the
 * specification.
 */
import { availableParallelism } from 'node:os';
import {
  ServerStartError,
  breaksMust,
  checkServer,
  hasStreamableHttp,
  invariants,
  launchHttp,
  launchProcess,
  makeRootsFolder,
  moveHelp,
  onlyOverHttp,
  parseSequence,
  reportJson,
  reportText,
  revisions,
  statelessInvariants,
} from '@mcp-actors/checker';
import type { CheckReport, Launch, MoveSequence } from '@mcp-actors/checker';
import { isJsonObject, printableJson, secretsGiven } from 'mcp-actors/internal';
import type { JsonObject } from 'mcp-actors';
import { withoutQuery } from './client/target.ts';
import { UsageError, neverShow, print, withoutHidden } from './command.ts';
import type { Command } from './command.ts';
import { optionsText } from './options/option.ts';
import type { OptionTable } from './options/option.ts';
import { helpOption, parseOptions, switchIn } from './options/parse-options.ts';
import { interruptible } from './interruption.ts';
import { showProgress } from './progress.ts';

const time = { kind: 'duration', bounds: { min: 1, max: 3_600_000 } } as const;

/** Options of the command, also used to generate the documentation. */
export const checkOptions = {
  url: {
    kind: 'text',
    placeholder: 'URL',
    help: 'Check the server at this URL over Streamable HTTP instead of starting one.',
  },
  header: {
    kind: 'texts',
    placeholder: 'NAME:VALUE',
    help: 'Send this header, such as a token, with every request to the URL. Repeatable. Its value is never shown.',
  },
  call: {
    kind: 'texts',
    placeholder: 'TOOL[=JSON]',
    help: 'Tool to call, with arguments. Repeatable. Without this option no tool is called. The first tool should take about a second, so that a running call can be cancelled.',
  },
  revision: {
    kind: 'choice',
    choices: revisions,
    default: revisions[0] as string,
    help: 'Protocol revision that the client requests.',
  },
  json: { kind: 'switch', help: 'Print the report as JSON.' },
  progress: {
    kind: 'switch',
    help: 'Show progress and the estimated remaining time on stderr, even without a terminal.',
  },
  only: {
    kind: 'texts',
    placeholder: 'ID',
    help: 'Check only this invariant. Repeatable. --list shows all.',
  },
  play: {
    kind: 'texts',
    placeholder: 'MOVES',
    help: 'Play this sequence of moves instead of generated ones. Repeatable. --list shows all moves.',
  },
  list: { kind: 'switch', help: 'Print all invariants and moves.' },
  seed: {
    kind: 'count',
    bounds: { min: 0, max: 2 ** 31 - 1 },
    default: 1,
    help: 'Seed of the random walks. The same seed gives the same walks.',
  },
  walks: {
    kind: 'count',
    bounds: { min: 0, max: 100_000 },
    default: 20,
    help: 'Number of random walks to play after the sequences that cover every transition.',
  },
  jobs: {
    kind: 'count',
    bounds: { min: 1, max: 64 },
    default: undefined,
    help: 'Number of concurrent plays, each with its own server process or HTTP session. Default: the number of CPUs; 1 with --url.',
  },
  timeout: { ...time, default: 5_000, help: 'Timeout for an answer.' },
  'start-timeout': {
    ...time,
    default: 30_000,
    help: 'Timeout for the answer to initialize, from the start of the process or session.',
  },
  'end-timeout': {
    ...time,
    default: 5_000,
    help: 'Timeout for the server to exit after its stdin closes, or to end a session.',
  },
  quiet: {
    ...time,
    default: 200,
    help: 'Time without messages that counts as idle, if no answer is expected: for servers without ping or with delayed roots requests.',
  },
  help: helpOption,
} as const satisfies OptionTable;

const help = `Usage: mcp-actors check [options] -- COMMAND [ARGUMENTS...]
       mcp-actors check [options] --url URL

Repeatedly starts an MCP server over stdio, in any language, or opens sessions
at a URL; plays client moves against it in many
orders; and prints which requirements of the specification hold, which are violated, with the
shortest sequence that violates them, and which could not be tested.

  mcp-actors check -- node server.js
  mcp-actors check --call 'sleep={"seconds":1}' --call list_roots -- uvx my-server
  mcp-actors check --url http://localhost:3000/mcp --header "Authorization: Bearer $TOKEN"

Options:
${optionsText(checkOptions)}

Exit status: 0 if no MUST is violated, 1 if one is, 2 for a usage error or
if the server could not be started or reached. Ctrl-C ends the check with the results
so far and status 130; a second Ctrl-C exits at once.
`;

export const command: Command = {
  run: async (args) => {
    const at = args.indexOf('--');
    const line = { command: 'mcp-actors check', args: at === -1 ? args : args.slice(0, at) };
    const wanted = switchIn(checkOptions, line, 'help', 'list');
    if (wanted) {
      await print(process.stdout, wanted === 'help' ? help : listText());
      return 0;
    }
    const { values, positionals } = parseOptions(checkOptions, line);
    const times = {
      answerMs: values.timeout ?? checkOptions.timeout.default,
      startMs: values['start-timeout'] ?? checkOptions['start-timeout'].default,
      endMs: values['end-timeout'] ?? checkOptions['end-timeout'].default,
      quietMs: values.quiet ?? checkOptions.quiet.default,
    };
    const { url, header, revision } = values;
    const commandLine = at === -1 ? [] : args.slice(at + 1);
    const server =
      url === undefined
        ? startedServer(commandLine, positionals, header)
        : remoteServer(url, header, [...positionals, ...commandLine], revision, times.endMs);
    const tools = new Map(values.call.map(readCall));
    const only = new Set(values.only.map(readInvariant));
    const sequences = values.play.map(readPlay);
    const roots = await makeRootsFolder();
    // A second signal also kills the servers.
    const interruption = interruptible(
      (code) => void roots.remove().finally(() => process.exit(code)),
    );
    const progress = showProgress(process.stderr);
    const isShown = values.progress || process.stderr.isTTY;
    let report: CheckReport;
    try {
      if (isShown) progress.begin(server.failed === 'started' ? undefined : 'Reaching the server');
      report = await checkServer({
        launch: server.launch,
        transport: server.transport,
        revision,
        tools,
        rootsUri: roots.uri,
        times,
        seed: values.seed ?? checkOptions.seed.default,
        walks: values.walks ?? checkOptions.walks.default,
        jobs: values.jobs ?? server.jobs,
        ...(only.size > 0 ? { only } : {}),
        ...(sequences.length > 0 ? { sequences } : {}),
        signal: interruption.signal,
        ...(isShown ? { progress: progress.update } : {}),
      });
    } catch (error) {
      if (!(error instanceof ServerStartError)) throw error;
      throw new UsageError(`${server.name} could not be ${server.failed}: ${error.message}`, {
        cause: error,
      });
    } finally {
      progress.end();
      await roots.remove();
    }
    const text = values.json ? `${printableJson(reportJson(report), 2)}\n` : reportText(report);
    // A server may echo secret headers.
    await print(process.stdout, withoutHidden(text));
    // Late answers to initialize may open sessions that must be ended.
    await server.gone?.();
    return interruption.exitCode ?? (breaksMust(report) ? 1 : 0);
  },
};

/** Server to check. */
interface Checked {
  /** Display name. */
  readonly name: string;
  /** Verb for a failed start. */
  readonly failed: 'started' | 'reached';
  readonly launch: Launch;
  /** Resolves when all sessions at the server have ended. */
  readonly gone?: () => Promise<unknown>;
  readonly transport: 'stdio' | 'http';
  /** Default number of concurrent plays. */
  readonly jobs: number;
}

/** @param positionals arguments before `--`; none are allowed */
function startedServer(
  [executable, ...serverArgs]: readonly string[],
  positionals: readonly string[],
  header: readonly string[],
): Checked {
  if (positionals.length > 0 || executable === undefined) {
    const written = ['check', '--', ...(positionals.length > 0 ? positionals : ['COMMAND'])];
    throw new UsageError(
      `check needs the server's command after --, as in mcp-actors ${written.join(' ')}`,
    );
  }
  if (/^https?:\/\//i.test(executable)) {
    throw new UsageError(
      `check needs a command after --, got a URL: mcp-actors check --url ${withoutQuery(executable)}`,
    );
  }
  if (header.length > 0) throw new UsageError('--header needs --url');
  return {
    name: executable,
    failed: 'started',
    launch: launchProcess(executable, serverArgs),
    transport: 'stdio',
    jobs: availableParallelism(),
  };
}

/** @param others conflicting arguments */
function remoteServer(
  text: string,
  header: readonly string[],
  others: readonly string[],
  revision: string,
  endMs: number,
): Checked {
  if (others.length > 0) {
    throw new UsageError(`check takes --url or a command, not both: ${others.join(' ')}`);
  }
  if (!hasStreamableHttp(revision)) {
    throw new UsageError(`--url needs Streamable HTTP, which revision ${revision} lacks`);
  }
  const url = readUrl(text);
  const headers = Object.fromEntries(header.map(readHeader));
  neverShow(secretsGiven({ url: url.href, headers }));
  const launch = launchHttp({ url, headers, revision, endMs });
  return {
    // Omits the query, which may contain a secret.
    name: `${url.origin}${url.pathname}`,
    failed: 'reached',
    launch,
    gone: launch.gone,
    transport: 'http',
    // Be gentle: the server may belong to someone else.
    jobs: 1,
  };
}

function readUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:') {
    throw new UsageError(`--url must be an http or https URL, got ${JSON.stringify(text)}`);
  }
  if (url.username !== '' || url.password !== '') {
    throw new UsageError('--url: credentials belong in --header, not in the URL');
  }
  return url;
}

/** Parses a header. Messages omit the text, which may be a secret. */
function readHeader(text: string): readonly [string, string] {
  const [, name = '', value = ''] = /^([^:]*):(.*)$/s.exec(text) ?? [];
  const trimmed = value.trim();
  if (!/^[\w!#$%&'*+.^`|~-]+$/.test(name) || trimmed === '') {
    throw new UsageError('--header must be NAME:VALUE, as in "Authorization: Bearer …"');
  }
  if (!/^[\t\x20-\x7e]+$/.test(trimmed)) {
    throw new UsageError(
      `--header ${name}: the value must not contain control or non-ASCII characters`,
    );
  }
  return [name.toLowerCase(), trimmed];
}

function readCall(text: string): readonly [string, JsonObject] {
  const [, tool = '', json = '{}'] = /^([^=]+)(?:=(.*))?$/s.exec(text) ?? [];
  if (tool === '' || /\s/.test(tool)) {
    throw new UsageError(`--call must be TOOL or TOOL=JSON, got ${JSON.stringify(text)}`);
  }
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch (error) {
    throw new UsageError(
      `--call ${tool}: arguments must be valid JSON, got ${json}: ${(error as Error).message}`,
      {
        cause: error,
      },
    );
  }
  if (!isJsonObject(value))
    throw new UsageError(`--call ${tool}: arguments must be a JSON object, got ${json}`);
  return [tool, value];
}

/** Invariants of all revisions. */
const allInvariants = [...invariants, ...statelessInvariants, ...onlyOverHttp];

function readInvariant(id: string): string {
  if (allInvariants.some((invariant) => invariant.id === id)) return id;
  throw new UsageError(
    `--only: unknown invariant ${JSON.stringify(id)}; see mcp-actors check --list`,
  );
}

function readPlay(text: string): MoveSequence {
  const read = parseSequence(text);
  if ('moves' in read) return read.moves;
  throw new UsageError(
    `--play: unknown move ${JSON.stringify(read.unknown)}; see mcp-actors check --list`,
  );
}

function listText(): string {
  const rows = allInvariants.map(({ id, title }) => `  ${id}: ${title}`);
  return `Invariants:\n${rows.join('\n')}\n\nMoves:\n${moveHelp()}\n`;
}
