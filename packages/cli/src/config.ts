/**
 * `mcp-actors config`: the configuration with which hosts launch the server, printed, or written
 * into their own files.
 */
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

/** What is done with the hosts' own files; without any of them the configuration is printed. */
const fileOptions = {
  write: {
    kind: 'switch',
    help: "Put the server into the host's own file. What is there stays, comments included; the difference is shown, and you are asked.",
  },
  remove: { kind: 'switch', help: "Take it out of the host's own file again, in the same way." },
  check: {
    kind: 'switch',
    help: 'Say which hosts on this machine have it in their files, and start it as it is written there. With a HOST, look only at that.',
  },
} as const satisfies OptionTable;

const ownOptions = {
  ...fileOptions,
  yes: {
    kind: 'switch',
    short: 'y',
    help: 'With --write and --remove: do not ask. It is needed where there is no terminal.',
  },
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
       mcp-actors config --write HOST [options] [directories...]
       mcp-actors config --remove HOST
       mcp-actors config --check [HOST]

Prints what tells MCP hosts to launch mcp-actors workspace with these options and directories;
serves nothing. With a HOST, stdout gets the text to paste and nothing else; with
--http PORT that is where the host reaches a server that you start yourself:

  mcp-actors config vscode > .vscode/mcp.json

--write changes the file in which the host keeps the servers of all your projects. It is
replaced in one step, and a copy of it as it was stays beside it.

The hosts: ${hostNames.join(', ')}.

Without directories it names MCP_PROJECT_PATH, or the directory that it is started in.
All options of the server are taken too: mcp-actors help workspace lists them.

Options:
${optionsText(ownOptions)}

Exit status of --write and --remove: 0 if the file is as wanted, 1 if you have said no, 2 if it
cannot be changed. Of --check: 0 if a host has the server and it starts wherever it is written,
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
    const wish = wishIn(values);
    if (wish === 'check') return await check(host, positionals);
    if (wish === 'remove') {
      if (rest.length > 0)
        throw new UsageError(`--remove takes only a host, not ${rest.join(' ')}`);
      return await remove(fileOf('remove', host, first), values.yes);
    }
    const written = wish === 'write' ? fileOf('write', host, first) : undefined;
    const directories = host === undefined ? positionals : rest;
    const given = optionsGiven(options, line).filter(({ name }) => !(name in ownOptions));
    const cwd = workingDirectory();
    if (host === undefined) refuseMistyped(directories, cwd, { what: 'a host', known: hostNames });
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
        `mcp-actors: Hosts reach it at this URL, and do not start it. Start it by: ${line}\n`,
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

type FileWish = keyof typeof fileOptions;

/** What is wanted of the hosts' files; undefined if nothing is. @throws {UsageError} more than one thing */
function wishIn(values: { readonly [name in FileWish | 'yes']: boolean }): FileWish | undefined {
  const wishes = (Object.keys(fileOptions) as FileWish[]).filter((name) => values[name]);
  const [wish, another] = wishes;
  if (another) throw new UsageError(`Give one of --${wish} and --${another}`);
  if (values.yes && (wish === undefined || wish === 'check')) {
    throw new UsageError('--yes goes with --write and --remove: nothing else is asked');
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

/** @throws {UsageError} no host is named, or one without a file */
function fileOf(wish: FileWish, host: HostName | undefined, first: string | undefined): ChosenFile {
  if (host !== undefined && hasFile(host)) return { host, ...hostFile(host, machine()) };
  const why =
    host !== undefined
      ? `${host} is a form that several hosts share, without a file`
      : first === undefined
        ? 'no host is named'
        : `${JSON.stringify(first)} is not a host`;
  throw new UsageError(`--${wish}: ${why}. Name one of ${hostsWithFiles.join(', ')}`);
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
    await print(process.stdout, `${title} has it already: ${file}\n`);
    return 0;
  }
  if (!(await offerChange(found, text, isAgreed))) return 1;
  await print(
    process.stdout,
    `${title} starts it from now on; one that runs may have to be restarted.\n`,
  );
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
    await print(process.stdout, `${title} does not have it: ${file}\n`);
    return 0;
  }
  const text = await namingFile(file, () => format.remove(found.text, path));
  return (await offerChange(found, text, isAgreed)) ? 0 : 1;
}

/** Where the server is in a host's file, however it is launched. */
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
  { host = '127.0.0.1', port }: Pick<HttpSettings, 'host' | 'port'>,
  audience: string | undefined,
): string {
  if (audience !== undefined) return audience;
  if (port === 0) throw new UsageError('--http: hosts need a port, and 0 takes any: name one');
  const address = host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host;
  return `http://${address.includes(':') ? `[${address}]` : address}:${port}/mcp`;
}

function allHosts(server: OfferedServer, isLocal: boolean): string {
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
