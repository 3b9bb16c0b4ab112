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
export const ownServerName = 'project-files';

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
    ? { name: ownServerName, command: 'cmd', args: ['/c', 'npx', ...npx] }
    : { name: ownServerName, command: 'npx', args: npx };
}

/**
 * The absolute command line that runs this script again.
 *
 * @param script the command's module, as `import.meta.url`
 * @param args the arguments that follow it
 */
export function launchOf(script: string, args: readonly string[]): LaunchCommand {
  const path = fileURLToPath(script);
  return {
    name: ownServerName,
    command: process.execPath,
    args: [...loaderOf(path), path, ...args],
  };
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
export const servedAt = (url: string): ServedAddress => ({ name: ownServerName, url });

/** What a host launches, or reaches. */
export type OfferedServer = LaunchCommand | ServedAddress;

/** A server as a host writes it into its file. */
export type HostEntry = { readonly [key: string]: string | readonly string[] };

/** How a host writes down its servers, and where that text belongs. */
interface HostForm {
  readonly place: string;
  /** The key that holds the servers by their names. */
  readonly key: string;
  entry(server: OfferedServer): HostEntry;
  /** What is pasted, if that is not the entry as JSON. */
  text?(server: OfferedServer): string;
}

/** Most hosts share the form, and differ in how they call the URL. */
const mcpServers = (entryOf: (url: string) => HostEntry): HostForm => ({
  place: 'Claude Desktop, Cursor, Windsurf, Gemini CLI and most others, in their JSON',
  key: 'mcpServers',
  entry: (server) =>
    'url' in server ? entryOf(server.url) : { command: server.command, args: server.args },
});

const shared = mcpServers((url) => ({ type: 'http', url }));

/** The form in which each entry says what it is. */
const typed = (server: OfferedServer): HostEntry =>
  'url' in server
    ? { type: 'http', url: server.url }
    : { type: 'stdio', command: server.command, args: server.args };

const plainUrl = mcpServers((url) => ({ url }));

const hosts = {
  'claude-code': {
    place: 'Claude Code, in a shell',
    key: 'mcpServers',
    entry: typed,
    text: (server) =>
      'url' in server
        ? `claude mcp add --transport http ${server.name} ${quotedForShell(server.url)}`
        : [
            'claude mcp add',
            server.name,
            '--',
            ...[server.command, ...server.args].map(quotedForShell),
          ].join(' '),
  },
  // Its file allows only commands, and its connectors are called from outside this machine, so a
  // bridge is needed.
  'claude-desktop': mcpServers((url) => ({ command: 'npx', args: ['-y', 'mcp-remote', url] })),
  codex: {
    ...plainUrl,
    place: 'Codex, in ~/.codex/config.toml',
    key: 'mcp_servers',
    text: (server) => tomlTable(['mcp_servers', server.name], plainUrl.entry(server)).join('\n'),
  },
  cursor: plainUrl,
  gemini: mcpServers((httpUrl) => ({ httpUrl })),
  mcpServers: shared,
  opencode: {
    place: 'opencode, in ~/.config/opencode/opencode.json',
    key: 'mcp',
    entry: (server): HostEntry =>
      'url' in server
        ? { type: 'remote', url: server.url }
        : { type: 'local', command: [server.command, ...server.args] },
  },
  vscode: { place: 'VS Code, in .vscode/mcp.json', key: 'servers', entry: typed },
  windsurf: mcpServers((serverUrl) => ({ serverUrl })),
  zed: { ...plainUrl, place: 'Zed, in its settings.json', key: 'context_servers' },
} as const satisfies { readonly [name: string]: HostForm };

export type HostName = keyof typeof hosts;

/** The hosts whose configuration is known. `mcpServers` is the form that most of them share. */
export const hostNames: readonly string[] = Object.keys(hosts);

/** True for a host whose configuration is known. */
export function isHostName(name: string | undefined): name is HostName {
  return name !== undefined && hostNames.includes(name);
}

/** Where a host's file holds the server, and what it holds there. */
export function hostEntry(
  host: HostName,
  server: OfferedServer,
): { readonly path: readonly [key: string, name: string]; readonly entry: HostEntry } {
  const { key, entry }: HostForm = hosts[host];
  return { path: [key, server.name], entry: entry(server) };
}

/** What is pasted into a host's configuration, and nothing else. */
export function hostBlock(host: HostName, server: OfferedServer): string {
  return `${blockOf(hosts[host], server)}\n`;
}

/** The blocks for all hosts, each with the place where it belongs. */
export function hostConfiguration(server: OfferedServer): string {
  const [first, ...others] = [shared, hosts['claude-code'], hosts.vscode, hosts.codex];
  // With a URL the hosts that share a form for commands each have their own.
  const place = 'url' in server ? 'Most hosts, in their JSON; name yours for its own' : first.place;
  return [{ ...first, place }, ...others]
    .map((form) => `${form.place}:\n\n${blockOf(form, server)}\n`)
    .join('\n');
}

function blockOf(form: HostForm, server: OfferedServer): string {
  return form.text?.(server) ?? json({ [form.key]: { [server.name]: form.entry(server) } });
}

/** A table of TOML, in lines. */
export function tomlTable(path: readonly string[], entry: HostEntry): readonly string[] {
  return [
    `[${path.join('.')}]`,
    ...Object.entries(entry).map(([key, value]) => tomlPair(key, value)),
  ];
}

/** A line of a table. */
export function tomlPair(key: string, value: HostEntry[string]): string {
  return `${key} = ${typeof value === 'string' ? toml(value) : `[${value.map(toml).join(', ')}]`}`;
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
