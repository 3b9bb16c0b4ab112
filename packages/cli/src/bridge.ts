/** `mcp-actors bridge`: any server, for hosts of every revision, over stdin and stdout or HTTP. */
import { defaultLimits, stdio } from 'mcp-actors';
import type { Fact, McpServer, Report } from 'mcp-actors';
import { bridge } from 'mcp-actors/bridge';
import type { BridgeOptions } from 'mcp-actors/bridge';
import type { HostsConfig } from 'mcp-actors/client';
import { processLog, untilEnd } from 'mcp-actors/internal';
import { UsageError, withoutHidden } from './command.ts';
import {
  clientOptions,
  connectingOptions,
  hideSecretsOf,
  noServer,
  tellFaults,
} from './client/client-options.ts';
import { configOf, readTarget } from './client/target.ts';
import { fileSink } from './log-file.ts';
import { httpWish } from './options/http-wish.ts';
import { count, duration, optionsText } from './options/option.ts';
import type { OptionTable } from './options/option.ts';
import { commandOf, helpOption } from './options/parse-options.ts';
import { httpOptions, limitsIn, options } from './options/serve-options.ts';

/** The command's options; the documentation has them too. */
export const bridgeOptions = {
  ...httpOptions,
  server: {
    kind: 'text',
    placeholder: 'NAME',
    help: 'The server of the file, if it has more than one.',
  },
  share: {
    kind: 'choice',
    choices: ['session', 'shared', 'pool'],
    default: 'session',
    help: 'Who has a process of the server: each session, all clients together, or a pool over which they are spread. In a file: "share".',
  },
  'pool-size': {
    ...count,
    default: undefined,
    help: 'How many processes a pool has; 4 by default. In a file: "poolSize".',
  },
  'max-processes': {
    ...count,
    default: undefined,
    help: 'How many processes of the server there are at once; 64 by default. In a file: "maxProcesses".',
  },
  'process-idle': {
    ...duration,
    default: undefined,
    help: 'How long a process is kept that no client needs at the moment; 5min by default. In a file: "processIdleMs".',
  },
  retry: {
    kind: 'choice',
    choices: ['never', 'reads'],
    default: 'never',
    help: 'What is sent once more if the server was lost before its answer: nothing, or what is harmless by the protocol or by the annotations of the tool. In a file: "retry".',
  },
  header: clientOptions.header,
  login: clientOptions.login,
  'client-id': clientOptions['client-id'],
  'client-secret-env': clientOptions['client-secret-env'],
  'client-metadata-url': clientOptions['client-metadata-url'],
  'callback-port': clientOptions['callback-port'],
  era: {
    ...clientOptions.era,
    help: 'The era that the server speaks: legacy, until 2025-11-25, or modern, since 2026-07-28. By default that of the host, if the server speaks it.',
  },
  'log-level': options['log-level'],
  'log-file': options['log-file'],
  limit: options.limit,
  help: helpOption,
} as const satisfies OptionTable;

const help = `Usage: mcp-actors bridge [options] -- COMMAND [ARGUMENTS...]
       mcp-actors bridge [options] URL
       mcp-actors bridge [options] FILE

Stands between an MCP host and any MCP server. The host may speak any revision, the server
any other; one may use stdio, the other HTTP. A host launches it in place of the server:

  mcp-actors bridge -- npx -y @modelcontextprotocol/server-everything
  mcp-actors bridge https://example.com/mcp
  mcp-actors bridge --http 3000 -- node server.js

Each session has a process of its own, which ends with it. The process inherits this one's
environment, and what it writes to stderr goes to stderr.

Options:
${optionsText(bridgeOptions)}

Exit status: 0 once the host has gone or a signal has ended the session, 1 if the server
could not be started or reached, 2 if the command was called wrongly.
`;

const name = 'mcp-actors bridge';

/** How much may wait for the reader of stderr, bytes; what the server writes past it is dropped. */
const maxUnreadBytes = 1024 ** 2;

export const command = commandOf(
  name,
  { options: bridgeOptions, help, launches: true },
  async (called) => {
    const { values } = called;
    const target = readTarget(name, { ...called, values: { ...values, env: [] } });
    if (target.rest.length > 0) {
      throw new UsageError(`${name} takes one server; put its command behind --`);
    }
    const flags = { ...noFlags, limit: values.limit };
    const given = limitsIn(flags);
    const limits = { ...defaultLimits, ...given.session };
    const http = httpWish({ ...values, chdir: false }, given.http);
    const config = await configOf(target);
    await tellFaults(name, config);
    hideSecretsOf(config);
    const isLaunched = called.launched !== undefined;
    const inherited = isLaunched ? { inheritEnv: true } : {};
    let hasFailed = false;
    const log = processLog({
      level: values['log-level'],
      sink: values['log-file'] === undefined ? undefined : fileSink(values['log-file']),
    });
    const report: Report = Object.assign(
      (fact: Fact) => {
        if (fact.name === 'upstream.failed') hasFailed = true;
        log.report(fact);
      },
      log.report.threshold ? { threshold: log.report.threshold } : {},
    );
    const server = bridgeTo(config, values.server, {
      ...connectingOptions({ ...values, env: [] }),
      ...inherited,
      ...sharingIn(values),
      report,
      onStderr: passOn,
    });
    const { drainTimeoutMs } = given.session;
    if (http) {
      const { serveOverHttp } = await import('./serve-http.ts');
      const serving = await serveOverHttp(http, server, { limits, report });
      return await untilEnd(serving, { log, drainTimeoutMs, release: undefined });
    }
    const session = server.listen(stdio(), { limits, report });
    const serving = { ending: session, sessions: () => [session] };
    const code = await untilEnd(serving, { log, drainTimeoutMs, release: undefined });
    return hasFailed ? 1 : code;
  },
);

/** Limits have their own option here. */
const noFlags = {
  'roots-timeout': undefined,
  'drain-timeout': undefined,
  'keepalive-interval': undefined,
  'max-running': undefined,
  'max-sessions': undefined,
  'session-idle-timeout': undefined,
  'max-body': undefined,
};

/** What the options say of processes; what they do not say is taken from the file. */
function sharingIn(values: {
  readonly share: string;
  readonly 'pool-size': number | undefined;
  readonly 'max-processes': number | undefined;
  readonly 'process-idle': number | undefined;
  readonly retry: string;
}): Partial<BridgeOptions> {
  const { share, retry } = values;
  const given = {
    share: share === 'session' ? undefined : share,
    poolSize: values['pool-size'],
    maxProcesses: values['max-processes'],
    processIdleMs: values['process-idle'],
    retry: retry === 'never' ? undefined : retry,
  };
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
}

/** @throws {UsageError} it is not clear which server is meant */
function bridgeTo(
  { servers }: HostsConfig,
  wanted: string | undefined,
  options: BridgeOptions,
): McpServer {
  const enabled = [...servers].filter(([, { kind }]) => kind === 'enabled');
  const names = enabled.map(([each]) => each);
  if (wanted !== undefined && !names.includes(wanted)) throw noServer(wanted, names);
  if (wanted === undefined && names.length > 1) {
    throw new UsageError(`${name}: the file has ${names.join(', ')}; choose one with --server`);
  }
  const [chosen, server] = enabled.find(([each]) => each === (wanted ?? names[0])) ?? [];
  if (chosen === undefined || server?.kind !== 'enabled')
    throw new UsageError('There is no server');
  const { entry, timeoutMs, restart, era, bridging } = server.settings;
  return bridge(entry, {
    ...bridging,
    ...options,
    name: chosen,
    ...(timeoutMs === undefined ? {} : { limits: { requestTimeoutMs: timeoutMs } }),
    ...(restart === undefined ? {} : { restart }),
    ...(era === undefined ? {} : { era }),
  });
}

/** Writes to stderr what the server writes to its own. */
function passOn(text: string): void {
  if (process.stderr.writableLength < maxUnreadBytes) process.stderr.write(withoutHidden(text));
}
