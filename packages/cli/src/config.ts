/**
 * `mcp-actors config`: prints the configuration with which hosts launch the server, or writes it
 * into their files.
 */
import { homedir } from 'node:os';
import { dirname, resolve } from 'node:path';
import { statSync } from 'node:fs';
import { printableLines } from 'mcp-actors/internal';
import { workspaceServer } from '@mcp-actors/workspace-server';
import { UsageError, packageVersion, print } from './command.ts';
import type { Command } from './command.ts';
import { checkDirectories, rejectMistyped, workingDirectory } from './directories.ts';
import {
  greeting,
  hostBlock,
  hostConfiguration,
  hostEntry,
  hostNames,
  isHostName,
  launchOf,
  isInstalled,
  npxLaunch,
  ownServerName,
  quotedForShell,
  servedAt,
} from './host-configuration.ts';
import type { HostName, OfferedServer } from './host-configuration.ts';
import { hasFile, hostFile, hostsWithFiles } from './host-files/host-files.ts';
import type { HostFile, HostWithFile } from './host-files/host-files.ts';
import { namingFile, offerChange, readHostFile } from './host-files/write-entry.ts';
import { interruptible } from './interruption.ts';
import { readHttpSettings } from './options/http-settings.ts';
import type { HttpSettings } from './options/http-settings.ts';
import { optionsText } from './options/option.ts';
import type { OptionTable } from './options/option.ts';
import { optionsGiven, parseOptions, switchIn } from './options/parse-options.ts';
import type { GivenOption } from './options/parse-options.ts';
import { limitsIn, options as serveOptions } from './options/serve-options.ts';

/** Operations on host files. Without any, the configuration is printed. */
const fileOptions = {
  write: {
    kind: 'switch',
    help: "Add the server to the host's own file, preserving everything else including comments. Shows the difference and asks first.",
  },
  remove: { kind: 'switch', help: "Remove it from the host's own file, in the same way." },
  check: {
    kind: 'switch',
    help: 'Show which hosts on this machine have it in their files, and test that it starts. With a HOST, check only that one.',
  },
} as const satisfies OptionTable;

const ownOptions = {
  ...fileOptions,
  yes: {
    kind: 'switch',
    short: 'y',
    help: 'With --write and --remove: do not ask. Required without a terminal.',
  },
  local: {
    kind: 'switch',
    help: 'Launch this copy by absolute path with this Node instead of npx. Breaks if either is moved. Default in a checkout.',
  },
  npx: {
    kind: 'switch',
    help: 'Launch the published package with npx.',
  },
  help: { kind: 'switch', short: 'h', help: 'Print this text.' },
} as const satisfies OptionTable;

const options = { ...serveOptions, ...ownOptions } as const satisfies OptionTable;

const help = `Usage: mcp-actors config [HOST] [options] [directories...]
       mcp-actors config --write HOST [options] [directories...]
       mcp-actors config --remove HOST
       mcp-actors config --check [HOST]

Prints what tells MCP hosts to launch mcp-actors workspace with these options and directories;
serves nothing. With a HOST, stdout gets the text to paste and nothing else; with
--http PORT that is where the host reaches a server that you start yourself:

  mcp-actors config vscode > .vscode/mcp.json

--write changes the host's user-level file. The file is
replaced atomically, and a backup stays next to it.

Hosts: ${hostNames.join(', ')}.

Without directories it names MCP_PROJECT_PATH, or the directory that it is started in.
All options of the server are taken too: mcp-actors help workspace lists them.

Options:
${optionsText(ownOptions)}

Exit status of --write and --remove: 0 on success, 1 if you declined, 2 if the file
cannot be changed. Of --check: 0 if at least one host has the server and every configured one starts,
else 1.
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
    const wish = fileOperation(values);
    if (wish === 'check') return await check(host, positionals);
    if (wish === 'remove') {
      if (rest.length > 0)
        throw new UsageError(`--remove takes only a host, got also ${rest.join(' ')}`);
      return await remove(fileOf('remove', host, first), values.yes);
    }
    const written = wish === 'write' ? fileOf('write', host, first) : undefined;
    const directories = host === undefined ? positionals : rest;
    const given = optionsGiven(options, line).filter(({ name }) => !(name in ownOptions));
    const cwd = workingDirectory();
    if (host === undefined) rejectMistyped(directories, cwd, { what: 'a host', known: hostNames });
    const { usable, faults } = checkDirectories(directories, cwd);
    const served = await servedArguments(given, usable);
    const isLocal = values.local || (!values.npx && !isInstalled(script));
    const launch = isLocal ? launchOf(script, served.args) : npxLaunch(served.args);
    const http = readHttpSettings(values, limitsIn(values).http);
    const server = http ? servedAt(urlOf(http, values['auth-audience'])) : launch;
    if (http) {
      const line = [launch.command, ...launch.args].map(quotedForShell).join(' ');
      await print(
        process.stderr,
        `mcp-actors: Hosts do not start an HTTP server. Start it with: ${line}\n`,
      );
    }
    for (const problem of [...faults, ...served.warnings]) {
      await print(process.stderr, `mcp-actors: ${printableLines([problem])}\n`);
    }
    if (written) return await write(written, server, values.yes);
    await print(
      process.stdout,
      host === undefined ? allHosts(server, isLocal) : hostBlock(host, server),
    );
    return 0;
  },
};

type FileOperation = keyof typeof fileOptions;

/**
 * Requested operation on host files; undefined for none.
 *
 * @throws {UsageError} if there are several
 */
function fileOperation(values: { readonly [name in FileOperation | 'yes']: boolean }):
  | FileOperation
  | undefined {
  const wishes = (Object.keys(fileOptions) as FileOperation[]).filter((name) => values[name]);
  const [wish, another] = wishes;
  if (another) throw new UsageError(`--${wish} and --${another} exclude each other`);
  if (values.yes && (wish === undefined || wish === 'check')) {
    throw new UsageError('--yes needs --write or --remove');
  }
  return wish;
}

interface ChosenFile extends HostFile {
  readonly host: HostWithFile;
}

const machine = () => ({
  home: homedir(),
  environment: process.env,
  platform: process.platform,
});

/** @throws {UsageError} if no host is named, or the host has no file */
function fileOf(
  wish: FileOperation,
  host: HostName | undefined,
  first: string | undefined,
): ChosenFile {
  if (host !== undefined && hasFile(host)) return { host, ...hostFile(host, machine()) };
  const why =
    host !== undefined
      ? `${host} is a format shared by several hosts, without a file`
      : first === undefined
        ? 'a host is required'
        : `unknown host ${JSON.stringify(first)}`;
  throw new UsageError(`--${wish}: ${why}. Hosts: ${hostsWithFiles.join(', ')}`);
}

async function write(
  { host, title, path: file, format }: ChosenFile,
  server: OfferedServer,
  isAgreed: boolean,
): Promise<number> {
  const found = await readHostFile(file);
  const { path, entry } = hostEntry(host, server);
  const text = await namingFile(file, () => format.write(found.text, path, entry));
  if (text === found.text) {
    await print(process.stdout, `Already configured in ${title}: ${file}\n`);
    return 0;
  }
  if (!(await offerChange(found, text, isAgreed))) return 1;
  await print(process.stdout, `${title} will start it from now on. Restart it if it is running.\n`);
  return 0;
}

async function remove(
  { host, title, path: file, format }: ChosenFile,
  isAgreed: boolean,
): Promise<number> {
  const found = await readHostFile(file);
  const { path } = entryPath(host);
  const isThere =
    found.text.trim() !== '' &&
    (await namingFile(file, () => format.read(found.text, path))) !== undefined;
  if (!isThere) {
    await print(process.stdout, `Not configured in ${title}: ${file}\n`);
    return 0;
  }
  const text = await namingFile(file, () => format.remove(found.text, path));
  return (await offerChange(found, text, isAgreed)) ? 0 : 1;
}

/** Path of the server's entry in a host's file. */
const entryPath = (host: HostWithFile) => hostEntry(host, { name: ownServerName, url: '' });

async function check(host: HostName | undefined, positionals: readonly string[]): Promise<number> {
  if (positionals.length > (host === undefined ? 0 : 1))
    fileOf('check', undefined, positionals.at(-1));
  const hosts = host === undefined ? hostsWithFiles : [fileOf('check', host, host).host];
  const interruption = interruptible((code) => process.exit(code));
  try {
    const files = hosts.map((each) => ({
      file: hostFile(each, machine()),
      path: entryPath(each).path,
    }));
    const { checkEntries } = await import('./host-files/check-entries.ts');
    const code = await checkEntries(files, interruption.signal);
    return interruption.exitCode ?? code;
  } finally {
    interruption.stop();
  }
}

/**
 * Message for a user who starts the server in a terminal.
 *
 * @param script the command's module, as `import.meta.url`
 * @param args arguments of the process
 * @param directories absolute directories in `args`
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

/**
 * URL for hosts on this machine.
 *
 * @throws {UsageError} if the port is not fixed
 */
function urlOf(
  { host = '127.0.0.1', port }: Pick<HttpSettings, 'host' | 'port'>,
  audience: string | undefined,
): string {
  if (audience !== undefined) return audience;
  if (port === 0) throw new UsageError('--http must name a fixed port for hosts, got 0');
  const address = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host;
  return `http://${address.includes(':') ? `[${address}]` : address}:${port}/mcp`;
}

function allHosts(server: OfferedServer, isLocal: boolean): string {
  const hint = isLocal
    ? 'This launches the running copy. mcp-actors config --npx prints a configuration for the\npublished package.'
    : 'npx runs the published package; mcp-actors config --local launches this copy instead.';
  return `${hostConfiguration(server)}${'url' in server ? '' : `\n${hint}`}
The client's roots select among the directories; with --follow-roots they replace them.
`;
}

interface ServedArguments {
  readonly args: readonly string[];
  /** Reason for the missing directory, for people; empty if one is named. */
  readonly warnings: readonly string[];
}

/** Arguments that have the same effect in any working directory. */
async function servedArguments(
  given: readonly GivenOption[],
  directories: readonly string[],
): Promise<ServedArguments> {
  const cwd = workingDirectory();
  const isApi = given.some(({ name }) => name === 'openapi');
  const written = [
    isApi ? 'serve' : 'workspace',
    ...given.flatMap(({ name, value }) => writtenOption(name, value, cwd)),
  ];
  if (isApi) return { args: written, warnings: [] };
  if (directories.length > 0) return { args: [...written, ...directories], warnings: [] };
  const environment = process.env;
  const choices = { cwd, home: homedir(), environment, version: packageVersion() };
  const { usable, why } = await workspaceServer(choices).withoutRoots();
  if (usable.length > 0) return { args: [...written, ...usable], warnings: [] };
  return {
    args: written,
    warnings: [
      `No directory is configured, so clients without roots get none: ${why}. Add one after the options.`,
    ],
  };
}

/** Makes file paths absolute, because hosts start the server in another directory. */
function writtenOption(name: string, value: string | true, cwd: string): string {
  if (value === true || value === '') return `--${name}`;
  if (name === 'log-file') return `--log-file=${resolve(cwd, value)}`;
  if (name === 'record') return `--record=${recordingFolder(resolve(cwd, value))}`;
  return `--${name}=${value}`;
}

/** Uses the directory, because each start by a host needs a new recording file. */
function recordingFolder(path: string): string {
  const isFolder = statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
  return isFolder ? path : dirname(path);
}
