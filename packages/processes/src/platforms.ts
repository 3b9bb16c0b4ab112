/**
 * The POSIX and Windows platforms, and the current one. The code that starts processes is loaded on
 * first use.
 */
import { posix, win32 } from 'node:path';
import type { Platform, WindowsTools } from './platform.ts';
import type { ProcessTrees } from './process-tree.ts';

/** Linux, macOS and other POSIX systems. */
export const posixPlatform: Platform = {
  names: {
    path: posix,
    inherited: ['HOME', 'LOGNAME', 'PATH', 'SHELL', 'TERM', 'USER', 'LANG', 'LC_*', 'TMPDIR'],
    // Default search path of execvp.
    defaultPath: '/usr/bin:/bin',
    hasInterpreters: true,
    variable: (name) => name,
    isPath: (command) => command.includes('/'),
    // An empty entry means the working directory.
    folder: (entry) => entry,
    endings: () => [''],
  },
  pipes: undefined,
  prepare: async (found, options) =>
    (await import('./process-group.ts')).prepareGroup(found, options),
};

/** Windows tools of this machine. */
export function windowsTools(env: { readonly [name: string]: string | undefined }): WindowsTools {
  const system = `${env['SystemRoot'] ?? 'C:\\Windows'}\\System32`;
  return {
    taskkill: `${system}\\taskkill.exe`,
    findstr: `${system}\\findstr.exe`,
    cmd: `${system}\\cmd.exe`,
    powershell: `${system}\\WindowsPowerShell\\v1.0\\powershell.exe`,
  };
}

/** Creates the Windows platform. */
export function windowsPlatform(tools: WindowsTools): Platform {
  let trees: ProcessTrees | undefined = undefined;
  return {
    names: {
      path: win32,
      inherited: [
        'APPDATA',
        'HOMEDRIVE',
        'HOMEPATH',
        'LOCALAPPDATA',
        'PATH',
        'PATHEXT',
        'PROCESSOR_ARCHITECTURE',
        'PROGRAMFILES',
        'SYSTEMDRIVE',
        'SYSTEMROOT',
        'TEMP',
        'TMP',
        'USERNAME',
        'USERPROFILE',
      ],
      defaultPath: '',
      hasInterpreters: false,
      // `Path` is `PATH`.
      variable: (name) => name.toUpperCase(),
      isPath: (command) => /[\\/]/.test(command),
      // An empty entry is skipped: the working directory is not searched.
      folder: (entry) => entry.replaceAll('"', '') || undefined,
      endings: (command, known = '.COM;.EXE;.BAT;.CMD') => {
        const endings = known.split(';').filter((end) => end !== '');
        const own = win32.extname(command).toLowerCase();
        return endings.some((end) => end.toLowerCase() === own) ? ['', ...endings] : endings;
      },
    },
    pipes: '\\\\.\\pipe\\',
    prepare: async (found, options) => {
      const { ProcessTrees } = await import('./process-tree.ts');
      trees ??= new ProcessTrees(tools);
      return trees.prepare(found, options);
    },
  };
}

/** The current platform. */
export const thisPlatform: Platform =
  process.platform === 'win32' ? windowsPlatform(windowsTools(process.env)) : posixPlatform;
