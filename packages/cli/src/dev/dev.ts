/** `mcp-actors dev`: serves a module, and its newest code after each save. */
import { relative } from 'node:path';
import { createMcpServer, defaultLimits, stdio } from 'mcp-actors';
import type { McpServer, Report } from 'mcp-actors';
import { defineUpstream } from 'mcp-actors/bridge';
import { processLog, waitForExit } from 'mcp-actors/internal';
import { UsageError } from '../command.ts';
import { inspectorWish, openInspector } from '../inspector.ts';
import { fileSink } from '../log-file.ts';
import { loaderFor, moduleAt } from '../module-server.ts';
import { httpWish } from '../options/http-settings.ts';
import { optionsText } from '../options/option.ts';
import type { OptionTable } from '../options/option.ts';
import { commandOf, helpOption } from '../options/parse-options.ts';
import { httpOptions, limitsIn, noLimitFlags, options } from '../options/serve-options.ts';
import { DevelopedUpstream } from './developed-upstream.ts';
import { Development } from './development.ts';
import { codeVariable, runCode } from './runner.ts';
import { DevTerminal } from './terminal.ts';

/** The command's options; the documentation has them too. */
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

/** What nobody wants while they write a server. */
const ofProduction = {
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

Serves the MCP server of a module, in TypeScript or JavaScript, to a host over stdin and stdout,
or with --http at a URL. After each save the host's next call runs the new code: the host stays
connected, and is told of lists that differ. Calls that run or wait go on with the code that they
began with. Code that cannot be loaded leaves the old one running; the next call says why.

The module exports its server (export default createMcpServer({…})), or calls serve(server).
TypeScript needs tsx in the project (npm install --save-dev tsx), or a Node that runs it.
What the code prints goes to stderr.

At a terminal, with --http: r repeats the last call, q ends.

Options:
${optionsText(devOptions)}

Examples:
  mcp-actors dev src/main.ts
  mcp-actors dev --http 3000 --inspect src/main.ts

Exit status: 0 once the host has gone or it was told to end, 2 if the command was called wrongly.
`;

export const command = commandOf(
  'mcp-actors dev',
  { options: devOptions, help },
  async ({ values, positionals }) => {
    const code = process.env[codeVariable];
    if (code !== undefined && process.send) {
      // What the code starts is not started by this command.
      delete process.env[codeVariable];
      return await runCode(code);
    }
    const given = limitsIn({ ...noLimitFlags, limit: values.limit });
    const limits = { ...defaultLimits, ...given.session };
    const http = httpWish({ ...ofProduction, ...values }, given.http);
    const inspect = inspectorWish(values.inspect);
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

/** A module that is served with its newest code. */
export interface Developed {
  readonly server: McpServer;
  /** What is told of it on stderr, and the keys of a terminal. */
  readonly terminal: DevTerminal;
  /** Ends the processes of its code. */
  close(): void;
}

/**
 * Begins to load a module, and makes a server that hands requests on to its code.
 *
 * @param module its path
 * @param isOverHttp whether stderr is only for people
 * @param report gets facts about the processes and the connections to them
 * @throws {UsageError} it does not exist, or this Node cannot run it
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

/** @throws {UsageError} there is not exactly one */
function fileIn([file, ...others]: readonly string[]): string {
  if (file === undefined)
    throw new UsageError('Give the module to serve: mcp-actors dev src/main.ts');
  if (others.length > 0) {
    throw new UsageError(`dev serves one module, and ${others.length + 1} are named`);
  }
  return file;
}
