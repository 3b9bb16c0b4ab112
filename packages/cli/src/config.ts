/** `mcp-actors config`: the configuration with which hosts launch the server, without serving. */
import { homedir } from 'node:os';
import { dirname, resolve } from 'node:path';
import { statSync } from 'node:fs';
import { printableLines } from 'mcp-actors/internal';
import { workspaceServer } from '@mcp-actors/workspace-server';
import { UsageError, packageVersion, print } from './command.ts';
import type { Command } from './command.ts';
import { checkDirectories, refuseMistyped, workingDirectory } from './directories.ts';
import {
  greeting,
  hostBlock,
  hostConfiguration,
  hostNames,
  isHostName,
  launchOf,
  isInstalled,
  npxLaunch,
  quotedForShell,
  servedAt,
} from './host-configuration.ts';
import type { LaunchCommand, ServedAddress } from './host-configuration.ts';
import { httpWish } from './options/http-wish.ts';
import type { HttpWish } from './options/http-wish.ts';
import { optionsText } from './options/option.ts';
import type { OptionTable } from './options/option.ts';
import { optionsGiven, parseOptions, switchIn } from './options/parse-options.ts';
import type { GivenOption } from './options/parse-options.ts';
import { limitsIn, options as serveOptions } from './options/serve-options.ts';

const ownOptions = {
  local: {
    kind: 'switch',
    help: 'Launch this copy by its absolute path, with this Node, instead of by npx. It breaks if either moves. So it is in a checkout, unless --npx is given.',
  },
  npx: {
    kind: 'switch',
    help: 'Launch the package of the registry by npx.',
  },
  help: { kind: 'switch', short: 'h', help: 'Print this text.' },
} as const satisfies OptionTable;

const options = { ...serveOptions, ...ownOptions } as const satisfies OptionTable;

const help = `Usage: mcp-actors config [HOST] [options] [directories...]

Prints what tells MCP hosts to launch the server with these options and directories;
serves nothing. With a HOST, stdout gets the text to paste and nothing else; with
--http PORT that is where the host reaches a server that you start yourself:

  mcp-actors config vscode > .vscode/mcp.json

The hosts: ${hostNames.join(', ')}.

Without directories it names MCP_PROJECT_PATH, or the directory that it is started in.
All options of the server are taken too: mcp-actors --help lists them.

Options:
${optionsText(ownOptions)}
`;

export const command: Command = {
  run: async (args, script) => {
    const line = { command: 'mcp-actors config', args, environment: process.env };
    const wanted = switchIn(options, line, 'help', 'version');
    if (wanted) {
      await print(process.stdout, wanted === 'help' ? help : `${packageVersion()}\n`);
      return 0;
    }
    const { values, positionals } = parseOptions(options, line);
    const [first, ...rest] = positionals;
    const host = isHostName(first) ? first : undefined;
    const directories = host === undefined ? positionals : rest;
    const given = optionsGiven(options, line).filter(({ name }) => !(name in ownOptions));
    const cwd = workingDirectory();
    if (host === undefined) refuseMistyped(directories, cwd, { what: 'a host', known: hostNames });
    const { usable, faults } = checkDirectories(directories, cwd);
    const served = await servedArguments(given, usable);
    const isLocal = values.local || (!values.npx && !isInstalled(script));
    const launch = isLocal ? launchOf(script, served.args) : npxLaunch(served.args);
    const http = httpWish(values, limitsIn(values).http);
    const server = http ? servedAt(urlOf(http, values['auth-audience'])) : launch;
    if (http) {
      const line = [launch.command, ...launch.args].map(quotedForShell).join(' ');
      await print(
        process.stderr,
        `mcp-actors: Hosts reach it at this URL, and do not start it. Start it by: ${line}\n`,
      );
    }
    for (const problem of [...faults, ...served.warnings]) {
      await print(process.stderr, `mcp-actors: ${printableLines([problem])}\n`);
    }
    await print(
      process.stdout,
      host === undefined ? allHosts(server, isLocal) : hostBlock(host, server),
    );
    return 0;
  },
};

/**
 * The greeting for a person who starts the server in a terminal.
 *
 * @param script the command's module, as `import.meta.url`
 * @param args the process's arguments
 * @param directories those of `args`, absolute
 */
export async function terminalGreeting(
  script: string,
  args: readonly string[],
  directories: readonly string[],
): Promise<string> {
  const given = optionsGiven(serveOptions, { command: 'mcp-actors', args });
  const served = await servedArguments(given, directories);
  const warnings = served.warnings.map((warning) => `\n${printableLines([warning])}\n`).join('');
  const isLocal = !isInstalled(script);
  const launch = isLocal ? launchOf(script, served.args) : npxLaunch(served.args);
  return greeting(allHosts(launch, isLocal) + warnings);
}

/** The URL for hosts on this machine. @throws {UsageError} it is not known */
function urlOf(
  { host = '127.0.0.1', port }: Pick<HttpWish, 'host' | 'port'>,
  audience: string | undefined,
): string {
  if (audience !== undefined) return audience;
  if (port === 0) throw new UsageError('--http: hosts need a port, and 0 takes any: name one');
  const address = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host;
  return `http://${address.includes(':') ? `[${address}]` : address}:${port}/mcp`;
}

function allHosts(server: LaunchCommand | ServedAddress, isLocal: boolean): string {
  const hint = isLocal
    ? 'This launches the copy that you run. Once the registry has the package, mcp-actors config --npx\nprints what takes it from there.'
    : 'npx takes mcp-actors from the registry; mcp-actors config --local launches this copy instead.';
  return `${hostConfiguration(server)}${'url' in server ? '' : `\n${hint}`}
The client's roots choose within the directories; with --follow-roots they replace them.
`;
}

interface ServedArguments {
  readonly args: readonly string[];
  /** Why no directory is named, for a person; empty if one is. */
  readonly warnings: readonly string[];
}

/** The arguments that make a process do the same, wherever a host starts it. */
async function servedArguments(
  given: readonly GivenOption[],
  directories: readonly string[],
): Promise<ServedArguments> {
  const cwd = workingDirectory();
  const written = given.flatMap(({ name, value }) => writtenOption(name, value, cwd));
  if (directories.length > 0) return { args: [...written, ...directories], warnings: [] };
  const environment = process.env;
  const choices = { cwd, home: homedir(), environment, version: packageVersion() };
  const { usable, why } = await workspaceServer(choices).withoutRoots();
  if (usable.length > 0) return { args: [...written, ...usable], warnings: [] };
  return {
    args: written,
    warnings: [
      `No directory is named, so a client without roots gets none: ${why}. Give one after the options.`,
    ],
  };
}

/** A file is written by its absolute path, since the host starts the server elsewhere. */
function writtenOption(name: string, value: string | true, cwd: string): string {
  if (value === true || value === '') return `--${name}`;
  if (name === 'log-file') return `--log-file=${resolve(cwd, value)}`;
  if (name === 'record') return `--record=${recordingFolder(resolve(cwd, value))}`;
  return `--${name}=${value}`;
}

/** A host starts the server again and again, and a recording takes a new file each time. */
function recordingFolder(path: string): string {
  const isFolder = statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
  return isFolder ? path : dirname(path);
}
