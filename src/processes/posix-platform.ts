/** How POSIX reads names, and what starts processes there, once one is started. */
import { posix } from 'node:path';
import type { Platform } from './platform.ts';

export const posixPlatform: Platform = {
  names: {
    path: posix,
    inherited: ['HOME', 'LOGNAME', 'PATH', 'SHELL', 'TERM', 'USER', 'LANG', 'LC_*', 'TMPDIR'],
    // Where execvp looks.
    defaultPath: '/usr/bin:/bin',
    hasInterpreters: true,
    variable: (name) => name,
    isPath: (command) => command.includes('/'),
    // An empty one is the working directory.
    folder: (entry) => entry,
    endings: () => [''],
  },
  pipes: undefined,
  prepare: async (found, options) =>
    (await import('./process-group.ts')).prepareGroup(found, options),
};
