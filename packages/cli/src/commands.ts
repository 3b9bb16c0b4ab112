/**
 * The commands besides `serve`. Each is loaded on demand, so that none delays the server's start.
 */
import type { Command, CommandName } from './command.ts';

interface CommandEntry {
  /** What follows the name in the usage. */
  readonly usage: string;
  /** One line, for the help text. */
  readonly summary: string;
  /** The command whose summary names it: the first help text has one screen. */
  readonly besides?: CommandName;
  load(): Promise<{ readonly command: Command }>;
}

export const commands: { readonly [name in CommandName]: CommandEntry } = {
  bridge: {
    usage: '[options] -- COMMAND',
    summary: 'Stand between any MCP host and any MCP server.',
    load: () => import('./bridge.ts'),
  },
  call: {
    usage: 'FILE SERVER__TOOL [ARGUMENTS]',
    summary: 'Call a tool of any MCP server; the result goes to stdout.',
    load: () => import('./client/call.ts'),
  },
  check: {
    usage: '[options] -- COMMAND',
    summary: 'Check any MCP server against the specification.',
    load: () => import('./check.ts'),
  },
  config: {
    usage: '[HOST] [options] [directories...]',
    summary: 'Print how hosts launch the workspace server, or write it to their files.',
    load: () => import('./config.ts'),
  },
  dev: {
    usage: '[options] FILE',
    summary: 'Serve a module of your own, and its newest code after each save.',
    load: () => import('./dev/dev.ts'),
  },
  diagram: {
    usage: '[NAME]',
    summary: "Print a machine's chart.",
    load: () => import('./diagram.ts'),
  },
  doctor: {
    usage: '[PID...]',
    summary: 'Say what running servers wait for.',
    load: () => import('./doctor/doctor.ts'),
  },
  init: {
    usage: 'DIRECTORY',
    summary: 'Write a small server of your own in TypeScript, with its tests.',
    load: () => import('./init.ts'),
  },
  login: {
    usage: '[options] URL',
    summary: 'Log in at an MCP server; logins lists your logins, logout ends one.',
    load: async () => ({ command: (await import('./client/login.ts')).login }),
  },
  logins: {
    usage: '[options]',
    summary: 'List the logins, and until when each is valid.',
    besides: 'login',
    load: async () => ({ command: (await import('./client/login.ts')).list }),
  },
  logout: {
    usage: '[options] URL',
    summary: 'End a login.',
    besides: 'login',
    load: async () => ({ command: (await import('./client/login.ts')).logout }),
  },
  replay: {
    usage: 'FILE [DIRECTORIES...]',
    summary: 'Play a recording again, and say where the session does something else.',
    load: () => import('./replay.ts'),
  },
  shell: {
    usage: 'FILE',
    summary: 'Connect to MCP servers, and take commands for them.',
    load: () => import('./client/shell.ts'),
  },
  tasks: {
    usage: '[list | show ID | cancel ID]',
    summary: 'List, show and cancel the durable tasks of a directory or a database.',
    load: () => import('./tasks.ts'),
  },
};
