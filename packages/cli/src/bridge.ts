/**
 * `mcp-actors bridge`: connects any server to hosts of every revision, over stdin and stdout or
 * HTTP.
 */
import { defaultLimits, stdio } from 'mcp-actors';
import type { Fact, McpServer, Report } from 'mcp-actors';
import { bridge } from 'mcp-actors/bridge';
import type { BridgeOptions, ToolPolicies } from 'mcp-actors/bridge';
import { readLockFile } from 'mcp-actors/client';
import type { HostsConfig } from 'mcp-actors/client';
import type { Stores } from 'mcp-actors/http';
import { processLog, prestart, waitForExit } from 'mcp-actors/internal';
import { requestAgent } from './request-agent.ts';
import { UsageError } from './command.ts';
import type { Command } from './command.ts';
import {
  connectingOptions,
  hideSecretsOf,
  loginTimeoutMs,
  unknownServer,
  printMessages,
  printConfigProblems,
} from './client/client-options.ts';
import { configOf, lockFileOf, readTarget } from './client/target.ts';
import { readInspectorSettings, openInspector } from './inspector.ts';
import { fileSink } from './log-file.ts';
import { readHttpSettings } from './options/http-settings.ts';
import { bridgeOptions } from './options/bridge-options.ts';
import { optionsText } from './options/option.ts';
import { commandOf } from './options/parse-options.ts';
import { limitsIn, noLimitFlags } from './options/serve-options.ts';
import { StderrLines, passOn } from './stderr-lines.ts';

const help = `Usage: mcp-actors bridge [options] -- COMMAND [ARGUMENTS...]
       mcp-actors bridge [options] URL
       mcp-actors bridge [options] FILE
       mcp-actors bridge lock [options] FILE | URL | -- COMMAND

Connects an MCP host to any MCP server. They may use different protocol revisions and
transports. A host launches it instead of the server:

  mcp-actors bridge -- npx -y @modelcontextprotocol/server-everything
  mcp-actors bridge https://example.com/mcp
  mcp-actors bridge --http 3000 -- node server.js
  mcp-actors bridge mcp.json

The servers of a file appear as one server, with tools named server__tool. A broken server
does not affect the others; the resource bridge://servers shows its problem. The
file is watched: changed servers are started, stopped or restarted, and sessions stay open.

Each session has its own process, which ends with it. The process inherits this
environment, and its stderr is passed on.

mcp-actors bridge lock records the servers and their tools. From then on, changed, renamed
and new tools are hidden until you accept them with mcp-actors bridge lock
--update. See mcp-actors bridge lock --help.

Options:
${optionsText(bridgeOptions)}

Exit status: 0 when the host disconnects or after a signal, 1 if the server
could not be started or reached, 2 for a usage error.
`;

const name = 'mcp-actors bridge';

/**
 * Maximum concurrent requests to a server that serves one host; the server has its own limits. As
 * many may wait for a restarting server.
 */
const maxPassed = 256;

/** Time after which an idle host with an open stream is pinged, over HTTP. */
const hostKeepaliveMs = 60_000;

const serving = commandOf(
  name,
  { options: bridgeOptions, help, launches: true },
  async (called) => {
    const { values } = called;
    const target = readTarget(name, { ...called, values: { ...values, env: [] } });
    if (target.rest.length > 0) {
      throw new UsageError(`${name} takes one file or one server; put a server's command after --`);
    }
    const flags = { ...noLimitFlags, limit: values.limit };
    const given = limitsIn(flags);
    const http = readHttpSettings({ ...values, chdir: false }, given.http);
    // Detect vanished hosts, which would keep a process alive.
    const asked = http ? { keepaliveIntervalMs: hostKeepaliveMs } : {};
    // Outlast the login, because a client that times out would start another one.
    const patient = values.login ? { upstreamTimeoutMs: 2 * loginTimeoutMs } : {};
    const isLaunched = called.launched !== undefined;
    const passed = isLaunched && values.share === 'session' ? { maxRunning: maxPassed } : {};
    const limits = { ...defaultLimits, ...passed, ...asked, ...patient, ...given.session };
    const config = await configOf(target);
    await printConfigProblems(name, config);
    hideSecretsOf(config);
    const trusting = await trustIn(values, lockFileOf(target, values.lock));
    const inherited = isLaunched ? { inheritEnv: true } : {};
    const dispatcher = requestAgent();
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
    const lines = new StderrLines();
    const inspecting = readInspectorSettings(values.inspect);
    const inspector = inspecting && (await openInspector(inspecting));
    const common = { ...inspector?.options, limits, report };
    const serverWith = (stores?: Stores) =>
      bridgeTo(config, values.server, {
        ...connectingOptions({ ...values, env: [] }, (line) => void printMessages(name, line)),
        ...inherited,
        ...(dispatcher ? { dispatcher } : {}),
        ...sharingIn(values),
        ...trusting,
        ...policiesIn(values),
        counts: stores?.counts,
        ...(inspector ? { watchers: inspector.connectionWatchers } : {}),
        report,
        patienceMs: values.patience ?? 3000,
        search: searchFrom(values.search),
        onConfig: hideSecretsOf,
        onStderr: (text, name) => (name === undefined ? passOn(text) : lines.take(name, text)),
      });
    const { drainTimeoutMs } = given.session;
    const release = async () => await inspector?.close();
    if (http) {
      const { serveOverHttp } = await import('./serve-http.ts');
      const serving = await serveOverHttp(http, serverWith, common);
      inspector?.serves(serving.endpoint.url);
      return await waitForExit(serving, { log, drainTimeoutMs, release });
    }
    const session = serverWith().listen(stdio(), common);
    const serving = { ending: session, sessions: () => [session] };
    const code = await waitForExit(serving, { log, drainTimeoutMs, release });
    return hasFailed ? 1 : code;
  },
);

export const command: Command = {
  run: async (args, script, ahead) => {
    if (ahead) prestart.holdPrestarted(ahead);
    if (args[0] !== 'lock') return serving.run(args, script);
    const { command: lock } = await import('./bridge-lock.ts');
    return lock.run(args.slice(1), script);
  },
};

/** @throws {UsageError} if a required lock is missing */
async function trustIn(
  { trust, lock: given }: { readonly trust: string; readonly lock: string | undefined },
  file: string,
): Promise<Pick<BridgeOptions, 'lock' | 'trust'>> {
  if (trust === 'all') return { trust };
  const lock = await readLockFile(file);
  if (lock) return { lock, trust: trust === 'new' ? trust : 'locked' };
  if (trust === 'auto' && given === undefined) return {};
  throw new UsageError(`Lock file ${file} does not exist: create it with mcp-actors bridge lock`);
}

/** @throws {UsageError} if a rate has no pattern */
function policiesIn(values: {
  readonly [list in 'allow' | 'deny' | 'ask' | 'rate']: readonly string[];
}): Pick<BridgeOptions, 'policies'> {
  const rates = values.rate.map((each) => {
    const at = each.lastIndexOf('=');
    if (at > 0) return [each.slice(0, at), each.slice(at + 1)] as const;
    throw new UsageError(
      `--rate must be PATTERN=N/TIME, such as *=10/min, got ${JSON.stringify(each)}`,
    );
  });
  const { allow, deny, ask } = values;
  const policies: ToolPolicies = {
    ...(allow.length > 0 ? { allow } : {}),
    ...(deny.length > 0 ? { deny } : {}),
    ...(ask.length > 0 ? { ask } : {}),
    ...(rates.length > 0 ? { rate: Object.fromEntries(rates) } : {}),
  };
  return Object.keys(policies).length === 0 ? {} : { policies };
}

/** Process options from the command line. The file supplies the rest. */
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

/**
 * Number of tools from which a host gets search tools instead.
 *
 * @throws {UsageError} if it is not a number
 */
function searchFrom(value: string | undefined): boolean | number {
  if (value === undefined) return false;
  if (value === '') return true;
  if (/^[1-9]\d{0,8}$/.test(value)) return Number(value);
  throw new UsageError(
    `--search must be a number of tools, such as 100, got ${JSON.stringify(value)}`,
  );
}

/** @throws {UsageError} if the server is unknown or there is none */
function bridgeTo(
  config: HostsConfig,
  wanted: string | undefined,
  options: BridgeOptions,
): McpServer {
  const names = [...config.servers].flatMap(([each, server]) =>
    server.kind === 'enabled' ? [each] : [],
  );
  if (wanted !== undefined && !names.includes(wanted)) throw unknownServer(wanted, names);
  if (names.length === 0) throw new UsageError('No usable server in the configuration');
  const only = wanted ?? (config.servers.size === 1 ? names[0] : undefined);
  try {
    return bridge(config, only === undefined ? options : { ...options, server: only });
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw new UsageError(error.message.replaceAll('policies.', '--'), { cause: error });
  }
}
