/** `mcp-actors check`: plays client sequences against any server and reports what does not hold. */
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

/** The command's options; the documentation has them too. */
export const checkOptions = {
  url: {
    kind: 'text',
    placeholder: 'URL',
    help: 'Check the server at this URL, over Streamable HTTP, instead of one that is started.',
  },
  header: {
    kind: 'texts',
    placeholder: 'NAME:VALUE',
    help: 'Send this header with every request to the URL, such as a token; may be given more than once. It is never shown.',
  },
  call: {
    kind: 'texts',
    placeholder: 'TOOL[=JSON]',
    help: 'A tool that may be called, with its arguments; may be given more than once. Without it no tool is called. The first should take a second or so, so that it can be cancelled while it runs.',
  },
  revision: {
    kind: 'choice',
    choices: revisions,
    default: revisions[0] as string,
    help: 'The revision of the protocol that the client asks for.',
  },
  json: { kind: 'switch', help: 'Print the report as JSON.' },
  progress: {
    kind: 'switch',
    help: 'Show on stderr how far the check has come and about how long it still takes, also if that is not a terminal.',
  },
  only: {
    kind: 'texts',
    placeholder: 'ID',
    help: 'Look at this invariant and no other; may be given more than once. --list shows them.',
  },
  play: {
    kind: 'texts',
    placeholder: 'MOVES',
    help: 'Play this sequence of moves instead of generated ones; may be given more than once. --list shows the moves.',
  },
  list: { kind: 'switch', help: 'Print the invariants and the moves.' },
  seed: {
    kind: 'count',
    bounds: { min: 0, max: 2 ** 31 - 1 },
    default: 1,
    help: 'Settles the random walks: the same seed gives the same.',
  },
  walks: {
    kind: 'count',
    bounds: { min: 0, max: 100_000 },
    default: 20,
    help: 'How many random walks are played after the sequences that cover every transition.',
  },
  jobs: {
    kind: 'count',
    bounds: { min: 1, max: 64 },
    default: undefined,
    help: 'How many plays run at once, each with a server or, over HTTP, with a session of its own. Default: as many as there are processors; 1 with --url.',
  },
  timeout: { ...time, default: 5_000, help: 'How long an answer may take.' },
  'start-timeout': {
    ...time,
    default: 30_000,
    help: 'How long the answer to initialize may take, from the start of the process or of the session.',
  },
  'end-timeout': {
    ...time,
    default: 5_000,
    help: 'How long the server may take to end once its input has ended, or to end a session.',
  },
  quiet: {
    ...time,
    default: 200,
    help: 'How long silence must last if there is no answer to wait for: with a server without pings, or for roots that are not asked for at once.',
  },
  help: helpOption,
} as const satisfies OptionTable;

const help = `Usage: mcp-actors check [options] -- COMMAND [ARGUMENTS...]
       mcp-actors check [options] --url URL

Starts an MCP server over stdio, in whatever language it is written, again and again,
or opens one session after the other at a URL; plays a client's moves against it in many
orders; and prints which demands of the specification hold, which do not, with the
shortest sequence that breaks them, and which could not be tried.

  mcp-actors check -- node server.js
  mcp-actors check --call 'sleep={"seconds":1}' --call list_roots -- uvx my-server
  mcp-actors check --url http://localhost:3000/mcp --header "Authorization: Bearer $TOKEN"

Options:
${optionsText(checkOptions)}

Exit status: 0 if no MUST is broken, 1 if one is, 2 if the command was called
wrongly or the server could not be started or reached. Ctrl-C ends the check with what it has found
so far, and the status 130; a second Ctrl-C ends it at once.
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
    // A second signal ends the servers as well.
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
    // A server may repeat the headers that are never shown.
    await print(process.stdout, withoutHidden(text));
    // A session whose initialize is still to be answered is known only then.
    await server.gone?.();
    return interruption.exitCode ?? (breaksMust(report) ? 1 : 0);
  },
};

/** What is checked. */
interface Checked {
  /** For people. */
  readonly name: string;
  /** Whether it could not be started or not be reached. */
  readonly failed: 'started' | 'reached';
  readonly launch: Launch;
  /** Resolves once nothing of the plays is left at the server. */
  readonly gone?: () => Promise<unknown>;
  readonly transport: 'stdio' | 'http';
  /** How many plays run at once by default. */
  readonly jobs: number;
}

/** @param positionals the arguments before the `--`; none are allowed */
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
      `check starts the command after --, and this is a URL: mcp-actors check --url ${withoutQuery(executable)}`,
    );
  }
  if (header.length > 0) throw new UsageError('--header goes with --url: stdio has no headers');
  return {
    name: executable,
    failed: 'started',
    launch: launchProcess(executable, serverArgs),
    transport: 'stdio',
    jobs: availableParallelism(),
  };
}

/** @param others what else was to be checked */
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
    throw new UsageError(`--url speaks Streamable HTTP, which revision ${revision} does not have`);
  }
  const url = readUrl(text);
  const headers = Object.fromEntries(header.map(readHeader));
  neverShow(secretsGiven({ url: url.href, headers }));
  const launch = launchHttp({ url, headers, revision, endMs });
  return {
    // The query may contain a secret.
    name: `${url.origin}${url.pathname}`,
    failed: 'reached',
    launch,
    gone: launch.gone,
    transport: 'http',
    // The server may belong to someone else.
    jobs: 1,
  };
}

function readUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:') {
    throw new UsageError(`--url: ${JSON.stringify(text)} is no URL of http or https`);
  }
  if (url.username !== '' || url.password !== '') {
    throw new UsageError('--url: credentials belong in --header, not in the URL');
  }
  return url;
}

/** The messages do not repeat what was written: it may be a secret. */
function readHeader(text: string): readonly [string, string] {
  const [, name = '', value = ''] = /^([^:]*):(.*)$/s.exec(text) ?? [];
  const trimmed = value.trim();
  if (!/^[\w!#$%&'*+.^`|~-]+$/.test(name) || trimmed === '') {
    throw new UsageError('--header: write NAME:VALUE, as in "Authorization: Bearer …"');
  }
  if (!/^[\t\x20-\x7e]+$/.test(trimmed)) {
    throw new UsageError(`--header ${name}: the value has characters that no header may have`);
  }
  return [name.toLowerCase(), trimmed];
}

function readCall(text: string): readonly [string, JsonObject] {
  const [, tool = '', json = '{}'] = /^([^=]+)(?:=(.*))?$/s.exec(text) ?? [];
  if (tool === '' || /\s/.test(tool)) {
    throw new UsageError(`--call: ${JSON.stringify(text)} names no tool; write TOOL or TOOL=JSON`);
  }
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch (error) {
    throw new UsageError(`--call ${tool}: ${json} is not JSON: ${(error as Error).message}`, {
      cause: error,
    });
  }
  if (!isJsonObject(value)) throw new UsageError(`--call ${tool}: ${json} is not a JSON object`);
  return [tool, value];
}

/** Of every revision. */
const allInvariants = [...invariants, ...statelessInvariants, ...onlyOverHttp];

function readInvariant(id: string): string {
  if (allInvariants.some((invariant) => invariant.id === id)) return id;
  throw new UsageError(
    `--only: there is no invariant ${JSON.stringify(id)}; mcp-actors check --list shows them`,
  );
}

function readPlay(text: string): MoveSequence {
  const read = parseSequence(text);
  if ('moves' in read) return read.moves;
  throw new UsageError(
    `--play: there is no move ${JSON.stringify(read.unknown)}; mcp-actors check --list shows them`,
  );
}

function listText(): string {
  const rows = allInvariants.map(({ id, title }) => `  ${id}: ${title}`);
  return `Invariants:\n${rows.join('\n')}\n\nMoves:\n${moveHelp()}\n`;
}
