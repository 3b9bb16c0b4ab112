/** Configuration texts with which hosts launch a server, ready to paste. */
import { createRequire } from 'node:module';
import { fileURLToPath, pathToFileURL } from 'node:url';

/** How a host launches a server. */
export interface LaunchCommand {
  /** The server's name in the host's configuration: letters, digits, hyphens. */
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
}

/** A name that Claude Code keeps for itself. */
export const reservedName = 'workspace';

/** The name of this command's own server. */
const name = 'project-files';

/**
 * A command line that survives an update of Node: npx finds the package or downloads it. On Windows
 * npx is a batch file, which not every host can start by itself.
 */
export function npxLaunch(
  args: readonly string[],
  platform: NodeJS.Platform = process.platform,
): LaunchCommand {
  const npx = ['-y', '@mcp-actors/cli', ...args];
  return platform === 'win32'
    ? { name, command: 'cmd', args: ['/c', 'npx', ...npx] }
    : { name, command: 'npx', args: npx };
}

/**
 * The absolute command line that runs this script again.
 *
 * @param script the command's module, as `import.meta.url`
 * @param args the arguments that follow it
 */
export function launchOf(script: string, args: readonly string[]): LaunchCommand {
  const path = fileURLToPath(script);
  return { name, command: process.execPath, args: [...loaderOf(path), path, ...args] };
}

/** Sources need tsx. As an import it adds no process that would have to relay signals and pipes. */
function loaderOf(path: string): readonly string[] {
  if (!path.endsWith('.ts')) return [];
  return ['--import', pathToFileURL(createRequire(path).resolve('tsx')).href];
}

/** Whether a script is a copy that npm has installed, which `npx @mcp-actors/cli` would run as well. */
export function isInstalled(script: string): boolean {
  return /[\\/]node_modules[\\/]/.test(fileURLToPath(script));
}

/** The address of a server that is already listening. */
export interface ServedAddress {
  readonly name: string;
  readonly url: string;
}

/** The same of this command's own server. */
export const servedAt = (url: string): ServedAddress => ({ name, url });

/** The place of a host's configuration, and the text to paste there. */
interface HostForm {
  readonly place: string;
  block(launch: LaunchCommand): string;
  /** For a server that listens already. */
  urlBlock(address: ServedAddress): string;
}

/** Most hosts share the form, and differ in how they call the URL. */
const mcpServers = (entryOf: (url: string) => object): HostForm => ({
  place: 'Claude Desktop, Cursor, Windsurf, Gemini CLI and most others, in their JSON',
  block: ({ name, command, args }) => json({ mcpServers: { [name]: { command, args } } }),
  urlBlock: ({ name, url }) => json({ mcpServers: { [name]: entryOf(url) } }),
});

const shared = mcpServers((url) => ({ type: 'http', url }));

const hosts = {
  'claude-code': {
    place: 'Claude Code, in a shell',
    block: ({ name, command, args }) =>
      ['claude mcp add', name, '--', ...[command, ...args].map(quotedForShell)].join(' '),
    urlBlock: ({ name, url }) => `claude mcp add --transport http ${name} ${quotedForShell(url)}`,
  },
  // Its file allows only commands, and its connectors are called from outside this machine, so a
  // bridge is needed.
  'claude-desktop': mcpServers((url) => ({ command: 'npx', args: ['-y', 'mcp-remote', url] })),
  codex: {
    place: 'Codex, in ~/.codex/config.toml',
    block: ({ name, command, args }) =>
      `[mcp_servers.${name}]\ncommand = ${toml(command)}\nargs = [${args.map(toml).join(', ')}]`,
    urlBlock: ({ name, url }) => `[mcp_servers.${name}]\nurl = ${toml(url)}`,
  },
  cursor: mcpServers((url) => ({ url })),
  gemini: mcpServers((httpUrl) => ({ httpUrl })),
  mcpServers: shared,
  vscode: {
    place: 'VS Code, in .vscode/mcp.json',
    block: ({ name, command, args }) =>
      json({ servers: { [name]: { type: 'stdio', command, args } } }),
    urlBlock: ({ name, url }) => json({ servers: { [name]: { type: 'http', url } } }),
  },
  windsurf: mcpServers((serverUrl) => ({ serverUrl })),
} as const satisfies { readonly [name: string]: HostForm };

export type HostName = keyof typeof hosts;

/** The hosts whose configuration is known. `mcpServers` is the form that most of them share. */
export const hostNames: readonly string[] = Object.keys(hosts);

/** True for a host whose configuration is known. */
export function isHostName(name: string | undefined): name is HostName {
  return name !== undefined && hostNames.includes(name);
}

/** What is pasted into a host's configuration, and nothing else. */
export function hostBlock(host: HostName, server: LaunchCommand | ServedAddress): string {
  return `${blockOf(hosts[host], server)}\n`;
}

/** The blocks for all hosts, each with the place where it belongs. */
export function hostConfiguration(server: LaunchCommand | ServedAddress): string {
  const [first, ...others] = [shared, hosts['claude-code'], hosts.vscode, hosts.codex];
  // With a URL the hosts that share a form for commands each have their own.
  const place = 'url' in server ? 'Most hosts, in their JSON; name yours for its own' : first.place;
  return [{ ...first, place }, ...others]
    .map((form) => `${form.place}:\n\n${blockOf(form, server)}\n`)
    .join('\n');
}

function blockOf(form: HostForm, server: LaunchCommand | ServedAddress): string {
  return 'url' in server ? form.urlBlock(server) : form.block(server);
}

/** Says that the process waits for a client, and how a host would launch it. */
export function greeting(configuration: string): string {
  return `mcp-actors is waiting for an MCP client on stdin: JSON-RPC messages, one on a line.
It is meant to be launched by an MCP host rather than by hand. Ctrl+C or Ctrl+D ends it; --help tells more.

${configuration}`;
}

function json(value: unknown): string {
  return JSON.stringify(value, undefined, 2);
}

/** A basic string of TOML equals one of JSON, except for DEL. */
function toml(text: string): string {
  return JSON.stringify(text).replaceAll('\u007F', String.raw`\u007F`);
}

/** Quotes a text for a POSIX shell if it needs quotes. */
export function quotedForShell(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
