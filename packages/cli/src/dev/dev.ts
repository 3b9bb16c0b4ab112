/** `mcp-actors dev`: serves a module and reloads its code after each save. */
import { relative } from 'node:path';
import { createMcpServer, defaultLimits, stdio } from 'mcp-actors';
import type { McpServer, Report } from 'mcp-actors';
import { defineUpstream } from 'mcp-actors/bridge';
import { processLog, waitForExit } from 'mcp-actors/internal';
import { UsageError } from '../command.ts';
import { readInspectorSettings, openInspector } from '../inspector.ts';
import { fileSink } from '../log-file.ts';
import { loaderFor, moduleAt } from '../module-server.ts';
import { readHttpSettings } from '../options/http-settings.ts';
import { optionsText } from '../options/option.ts';
import type { OptionTable } from '../options/option.ts';
import { commandOf, helpOption } from '../options/parse-options.ts';
import { httpOptions, limitsIn, noLimitFlags, options } from '../options/serve-options.ts';
import { DevelopedUpstream } from './developed-upstream.ts';
import { Development } from './development.ts';
import { codeVariable, runCode } from './runner.ts';
import { DevTerminal } from './terminal.ts';

/** Options of the command, also used to generate the documentation. */
export const devOptions = {
  http: httpOptions.http,
  'allow-host': httpOptions['allow-host'],
  'allow-origin': httpOptions['allow-origin'],
  inspect: options.inspect,
  'log-level': options['log-level'],
  'log-file': options['log-file'],
  limit: options.limit,
  help: helpOption,
} as const satisfies OptionTable;

/** Production options, which `dev` does not offer. */
const productionOptions = {
  insecure: false,
  'auth-issuer': undefined,
  'auth-audience': undefined,
  'auth-scope': [],
  'auth-client-id': undefined,
  'auth-client-secret-env': undefined,
  redis: undefined,
  'node-url': undefined,
  sse: false,
  health: false,
  chdir: false,
};

const help = `Usage: mcp-actors dev [options] FILE

Serves the MCP server of a TypeScript or JavaScript module to a host over stdin and stdout,
or with --http at a URL. After each save, the host's next call runs the new code. The host stays
connected and is notified of changed lists. Running and suspended calls continue with their
original code. If new code cannot be loaded, the old code keeps running and the next call reports it.

The module exports its server (export default createMcpServer({…})), or calls serve(server).
TypeScript needs tsx in the project (npm install --save-dev tsx), or a Node that runs it.
Output of the code goes to stderr.

At a terminal, with --http: r repeats the last call, q ends.

Options:
${optionsText(devOptions)}

Examples:
  mcp-actors dev src/main.ts
  mcp-actors dev --http 3000 --inspect src/main.ts

Exit status: 0 when the host disconnects or after a signal, 2 for a usage error.
`;

export const command = commandOf(
  'mcp-actors dev',
  { options: devOptions, help },
  async ({ values, positionals }) => {
    const code = process.env[codeVariable];
    if (code !== undefined && process.send) {
      // Processes started by the code must not inherit the variable.
      delete process.env[codeVariable];
      return await runCode(code);
    }
    const given = limitsIn({ ...noLimitFlags, limit: values.limit });
    const limits = { ...defaultLimits, ...given.session };
    const http = readHttpSettings({ ...productionOptions, ...values }, given.http);
    const inspect = readInspectorSettings(values.inspect);
    const inspector = inspect && (await openInspector(inspect));
    const { 'log-level': level, 'log-file': logFile } = values;
    const log = processLog({ level, sink: logFile === undefined ? undefined : fileSink(logFile) });
    const { report } = log;
    const { server, terminal, close } = develop(fileIn(positionals), http !== undefined, report);
    const common = { ...inspector?.options, limits, report };
    const { drainTimeoutMs } = given.session;
    const release = async () => {
      close();
      await inspector?.close();
    };
    if (http) {
      const { serveOverHttp } = await import('../serve-http.ts');
      const serving = await serveOverHttp(http, () => server, common);
      inspector?.serves(serving.endpoint.url);
      if (process.stdin.isTTY) {
        terminal.takeKeys({ end: () => serving.ending.shutdown('q', drainTimeoutMs ?? 0) });
      }
      return await waitForExit(serving, { log, drainTimeoutMs, release });
    }
    const session = server.listen(stdio(), common);
    const serving = { ending: session, sessions: () => [session] };
    return await waitForExit(serving, { log, drainTimeoutMs, release });
  },
);

/** A module served with its latest code. */
export interface Developed {
  readonly server: McpServer;
  /** Messages on stderr and keyboard input. */
  readonly terminal: DevTerminal;
  /** Ends the module's processes. */
  close(): void;
}

/**
 * Starts loading a module, and creates a server that forwards requests to its code.
 *
 * @param module path of the module
 * @param isOverHttp true if stderr is only for people
 * @param report receives facts about processes and connections
 * @throws {UsageError} if the module does not exist or this Node cannot run it
 */
export function develop(module: string, isOverHttp: boolean, report: Report): Developed {
  const file = moduleAt(module);
  const shown = relative(process.cwd(), file);
  const terminal = new DevTerminal(isOverHttp || process.stderr.isTTY);
  const development = new Development({ file, loader: loaderFor(file, 'dev'), report });
  development.listen({
    exchanged: () => void tellOffer(),
    failed: ({ message }) => terminal.say(`${shown} cannot be used\n${message}`),
  });
  const tellOffer = async () => {
    const offer = await development.offer();
    if (offer) terminal.say(`${shown} serves: ${offer.summary}`);
  };
  const server = createMcpServer({
    name: shown,
    version: '0.0.0',
    upstream: defineUpstream(async (client) => {
      const offer = await development.offer();
      return new DevelopedUpstream(client, development, {
        offer,
        file: shown,
        observer: terminal,
        report,
      });
    }),
  });
  return { server, terminal, close: () => development.close() };
}

/** @throws {UsageError} if there is not exactly one module */
function fileIn([file, ...others]: readonly string[]): string {
  if (file === undefined)
    throw new UsageError('dev needs a module to serve, as in mcp-actors dev src/main.ts');
  if (others.length > 0) {
    throw new UsageError(`dev must have one module, got ${others.length + 1}`);
  }
  return file;
}
