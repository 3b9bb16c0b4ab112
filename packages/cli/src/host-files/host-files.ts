/** Locates each host's configuration file. */
import { existsSync } from 'node:fs';
import { posix, win32 } from 'node:path';
import type { HostName } from '../host-configuration.ts';
import { jsoncFile } from './jsonc-file.ts';
import { tomlFile } from './toml-file.ts';
import type { EntryFormat } from './entry-format.ts';

/** Environment that determines the locations of files. */
export interface Machine {
  readonly home: string;
  readonly environment: { readonly [name: string]: string | undefined };
  readonly platform: NodeJS.Platform;
}

/** Hosts with a file. `mcpServers` is only a format. */
export type HostWithFile = Exclude<HostName, 'mcpServers'>;

/** A host's file on this machine. */
export interface HostFile {
  /** Display name of the host. */
  readonly title: string;
  readonly path: string;
  readonly format: EntryFormat;
}

/** Base directories of the user. */
interface Folders {
  readonly home: string;
  /** Settings directory of the platform. */
  readonly settings: string;
  /** Settings directory of programs that follow XDG on every system. */
  readonly xdg: string;
  readonly environment: Machine['environment'];
  readonly platform: NodeJS.Platform;
  join(...parts: readonly string[]): string;
}

interface Place {
  readonly title: string;
  /** Candidate paths: the first existing one, otherwise the last. */
  paths(folders: Folders): readonly string[];
  readonly format?: EntryFormat;
}

const places: { readonly [name in HostWithFile]: Place } = {
  'claude-code': {
    title: 'Claude Code',
    paths: ({ home, environment, join }) => [
      join(environment['CLAUDE_CONFIG_DIR'] || home, '.claude.json'),
    ],
  },
  'claude-desktop': {
    title: 'Claude Desktop',
    paths: ({ settings, join }) => [join(settings, 'Claude', 'claude_desktop_config.json')],
  },
  codex: {
    title: 'Codex',
    paths: ({ home, environment, join }) => [
      join(environment['CODEX_HOME'] || join(home, '.codex'), 'config.toml'),
    ],
    format: tomlFile,
  },
  cursor: { title: 'Cursor', paths: ({ home, join }) => [join(home, '.cursor', 'mcp.json')] },
  gemini: {
    title: 'Gemini CLI',
    paths: ({ home, join }) => [join(home, '.gemini', 'settings.json')],
  },
  opencode: {
    title: 'opencode',
    // If both exist, the first takes precedence.
    paths: ({ xdg, join }) =>
      ['opencode.jsonc', 'opencode.json'].map((name) => join(xdg, 'opencode', name)),
  },
  vscode: {
    title: 'VS Code',
    paths: ({ settings, join }) => [join(settings, 'Code', 'User', 'mcp.json')],
  },
  windsurf: {
    title: 'Windsurf',
    paths: ({ home, join }) => [join(home, '.codeium', 'windsurf', 'mcp_config.json')],
  },
  zed: {
    title: 'Zed',
    paths: ({ home, settings, platform, join }) => [
      platform === 'win32'
        ? join(settings, 'Zed', 'settings.json')
        : join(platform === 'linux' ? settings : join(home, '.config'), 'zed', 'settings.json'),
    ],
  },
};

/** Names of hosts with their own file. */
export const hostsWithFiles = Object.keys(places) as readonly HostWithFile[];

/** True for a host with its own file. */
export function hasFile(host: HostName): host is HostWithFile {
  return Object.hasOwn(places, host);
}

/** The host's file on this machine, which may not exist. */
export function hostFile(
  host: HostWithFile,
  machine: Machine,
  exists: (path: string) => boolean = existsSync,
): HostFile {
  const { title, paths, format = jsoncFile } = places[host];
  const known = paths(foldersOf(machine));
  return { title, path: known.find(exists) ?? (known.at(-1) as string), format };
}

function foldersOf({ home, environment, platform }: Machine): Folders {
  const { join } = platform === 'win32' ? win32 : posix;
  const xdg = environment['XDG_CONFIG_HOME'] || join(home, '.config');
  const settings =
    platform === 'win32'
      ? environment['APPDATA'] || join(home, 'AppData', 'Roaming')
      : platform === 'darwin'
        ? join(home, 'Library', 'Application Support')
        : xdg;
  return { home, settings, xdg, environment, platform, join };
}
