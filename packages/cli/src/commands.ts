/** Commands other than `serve`, loaded on demand to keep the server's start fast. */
import type { Command, CommandName } from './command.ts';

interface CommandEntry {
  /** Usage after the name. */
  readonly usage: string;
  /** One-line summary for the help text. */
  readonly summary: string;
  /** Command whose summary mentions this one, to keep the help text on one screen. */
  readonly besides?: CommandName;
  load(): Promise<{ readonly command: Command }>;
}

export const commands: { readonly [name in CommandName]: CommandEntry } = {
  bridge: {
    usage: '[options] -- COMMAND',
    summary: 'Connect any MCP host to any MCP server.',
    load: () => import('./bridge.ts'),
  },
  call: {
    usage: 'FILE SERVER__TOOL [ARGUMENTS]',
    summary: 'Call a tool of any MCP server and print the result.',
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
    summary: 'Serve your own module and reload its code after each save.',
    load: () => import('./dev/dev.ts'),
  },
  diagram: {
    usage: '[NAME]',
    summary: "Print a state machine's chart.",
    load: () => import('./diagram.ts'),
  },
  doctor: {
    usage: '[PID...]',
    summary: 'Show what running servers wait for.',
    load: () => import('./doctor/doctor.ts'),
  },
  init: {
    usage: 'DIRECTORY',
    summary: 'Create a small TypeScript server with tests.',
    load: () => import('./init.ts'),
  },
  login: {
    usage: '[options] URL',
    summary: 'Log in to an MCP server; logins lists your logins, logout ends one.',
    load: async () => ({ command: (await import('./client/login.ts')).login }),
  },
  logins: {
    usage: '[options]',
    summary: 'List your logins and their expiry.',
    besides: 'login',
    load: async () => ({ command: (await import('./client/login.ts')).list }),
  },
  logout: {
    usage: '[options] URL',
    summary: 'Log out.',
    besides: 'login',
    load: async () => ({ command: (await import('./client/login.ts')).logout }),
  },
  replay: {
    usage: 'FILE [DIRECTORIES...]',
    summary: 'Replay a recorded session and report the first difference.',
    load: () => import('./replay.ts'),
  },
  shell: {
    usage: 'FILE',
    summary: 'Connect to MCP servers and run commands interactively.',
    load: () => import('./client/shell.ts'),
  },
  tasks: {
    usage: '[list | show ID | cancel ID]',
    summary: 'List, show and cancel the durable tasks of a directory or a database.',
    load: () => import('./tasks.ts'),
  },
};
