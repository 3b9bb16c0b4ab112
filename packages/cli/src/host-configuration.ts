/** Configurations with which hosts launch a server, ready to paste. */
import { createRequire } from 'node:module';
import { fileURLToPath, pathToFileURL } from 'node:url';

/** Command with which a host launches a server. */
export interface LaunchCommand {
  /** Name in the host's configuration: letters, digits, hyphens. */
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
}

/** Name reserved by Claude Code. */
export const reservedName = 'workspace';

/** Name of this command's server. */
export const ownServerName = 'project-files';

/**
 * Command line that survives Node updates: npx finds or downloads the package. On Windows npx is a
 * batch file, which some hosts cannot start directly.
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
 * Absolute command line of this script.
 *
 * @param script the command's module, as `import.meta.url`
 * @param args arguments after it
 */
export function launchOf(script: string, args: readonly string[]): LaunchCommand {
  const path = fileURLToPath(script);
  return {
    name: ownServerName,
    command: process.execPath,
    args: [...loaderOf(path), path, ...args],
  };
}

/** TypeScript sources need tsx. As an import it adds no intermediate process. */
function loaderOf(path: string): readonly string[] {
  if (!path.endsWith('.ts')) return [];
  return ['--import', pathToFileURL(createRequire(path).resolve('tsx')).href];
}

/** True for a copy installed by npm, which `npx @mcp-actors/cli` would run as well. */
export function isInstalled(script: string): boolean {
  return /[\\/]node_modules[\\/]/.test(fileURLToPath(script));
}

/** Address of a listening server. */
export interface ServedAddress {
  readonly name: string;
  readonly url: string;
}

/** Address of this command's server. */
export const servedAt = (url: string): ServedAddress => ({ name: ownServerName, url });

/** Server that a host launches or reaches. */
export type OfferedServer = LaunchCommand | ServedAddress;

/** Entry of a server in a host's file. */
export type HostEntry = { readonly [key: string]: string | readonly string[] };

/** Configuration format of a host. */
interface HostForm {
  readonly place: string;
  /** Key of the object with the servers by name. */
  readonly key: string;
  entry(server: OfferedServer): HostEntry;
  /** Text to paste, if not the JSON entry. */
  text?(server: OfferedServer): string;
}

/** Format shared by most hosts, which differ in the key of the URL. */
const mcpServers = (entryOf: (url: string) => HostEntry): HostForm => ({
  place: 'Claude Desktop, Cursor, Windsurf, Gemini CLI and most others, in their JSON',
  key: 'mcpServers',
  entry: (server) =>
    'url' in server ? entryOf(server.url) : { command: server.command, args: server.args },
});

const shared = mcpServers((url) => ({ type: 'http', url }));

/** Format with an explicit type. */
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
  // Its file allows only commands, and its connectors run remotely, so a local bridge is needed.
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

/** Hosts with a known configuration. `mcpServers` is the format shared by most. */
export const hostNames: readonly string[] = Object.keys(hosts);

/** True for a host with a known configuration. */
export function isHostName(name: string | undefined): name is HostName {
  return name !== undefined && hostNames.includes(name);
}

/** Path and value of the server's entry in a host's file. */
export function hostEntry(
  host: HostName,
  server: OfferedServer,
): { readonly path: readonly [key: string, name: string]; readonly entry: HostEntry } {
  const { key, entry }: HostForm = hosts[host];
  return { path: [key, server.name], entry: entry(server) };
}

/** Text to paste into a host's configuration. */
export function hostBlock(host: HostName, server: OfferedServer): string {
  return `${blockOf(hosts[host], server)}\n`;
}

/** Texts for all hosts with their locations. */
export function hostConfiguration(server: OfferedServer): string {
  const [first, ...others] = [shared, hosts['claude-code'], hosts.vscode, hosts.codex];
  // With a URL, hosts with a common format for commands differ.
  const place = 'url' in server ? 'Most hosts, in their JSON; name yours for its own' : first.place;
  return [{ ...first, place }, ...others]
    .map((form) => `${form.place}:\n\n${blockOf(form, server)}\n`)
    .join('\n');
}

function blockOf(form: HostForm, server: OfferedServer): string {
  return form.text?.(server) ?? json({ [form.key]: { [server.name]: form.entry(server) } });
}

/** Lines of a TOML table. */
export function tomlTable(path: readonly string[], entry: HostEntry): readonly string[] {
  return [
    `[${path.join('.')}]`,
    ...Object.entries(entry).map(([key, value]) => tomlPair(key, value)),
  ];
}

/** A TOML key/value line. */
export function tomlPair(key: string, value: HostEntry[string]): string {
  return `${key} = ${typeof value === 'string' ? toml(value) : `[${value.map(toml).join(', ')}]`}`;
}

/** Explains that the process waits for a client, and how a host launches it. */
export function greeting(configuration: string): string {
  return `mcp-actors is waiting for an MCP client on stdin: JSON-RPC messages, one per line.
It is meant to be launched by an MCP host. Press Ctrl+C or Ctrl+D to exit; see --help.

${configuration}`;
}

function json(value: unknown): string {
  return JSON.stringify(value, undefined, 2);
}

/** TOML basic strings equal JSON strings except for DEL. */
function toml(text: string): string {
  return JSON.stringify(text).replaceAll('\u007F', String.raw`\u007F`);
}

/** Quotes a text for a POSIX shell if necessary. */
export function quotedForShell(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
