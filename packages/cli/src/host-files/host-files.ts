/** Which file each host reads its servers from. */
import { existsSync } from 'node:fs';
import { posix, win32 } from 'node:path';
import type { HostName } from '../host-configuration.ts';
import { jsoncFile } from './jsonc-file.ts';
import { tomlFile } from './toml-file.ts';
import type { EntryFormat } from './entry-format.ts';

/** What decides where files are. */
export interface Machine {
  readonly home: string;
  readonly environment: { readonly [name: string]: string | undefined };
  readonly platform: NodeJS.Platform;
}

/** The hosts that have a file: `mcpServers` is only a form. */
export type HostWithFile = Exclude<HostName, 'mcpServers'>;

/** A host's file on this machine. */
export interface HostFile {
  /** The host as people call it. */
  readonly title: string;
  readonly path: string;
  readonly format: EntryFormat;
}

/** The folders of a user that the hosts' paths begin with. */
interface Folders {
  readonly home: string;
  /** Where programs keep what a user has set: different on each system. */
  readonly settings: string;
  /** The same for programs that have taken over the convention of Linux. */
  readonly xdg: string;
  readonly environment: Machine['environment'];
  readonly platform: NodeJS.Platform;
  join(...parts: readonly string[]): string;
}

interface Place {
  readonly title: string;
  /** The first that exists is taken, else the last. */
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
    // Where both are, the settings of the first win.
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

/** The hosts that have a file of their own, by name. */
export const hostsWithFiles = Object.keys(places) as readonly HostWithFile[];

/** True for a host that has a file of its own. */
export function hasFile(host: HostName): host is HostWithFile {
  return Object.hasOwn(places, host);
}

/** The file that the host reads on this machine, whether it exists or not. */
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
