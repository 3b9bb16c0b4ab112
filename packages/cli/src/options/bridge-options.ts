/** The options of `mcp-actors bridge`. */
import { clientOptions } from '../client/client-options.ts';
import type { OptionTable } from './option.ts';
import { count, duration } from './option.ts';
import { helpOption } from './parse-options.ts';
import { httpOptions, options } from './serve-options.ts';

/** The lock beside a file of servers, or in the current folder. */
export const lockName = 'mcp-lock.json';

/** The command's options; the documentation has them too. */
export const bridgeOptions = {
  ...httpOptions,
  server: {
    kind: 'text',
    placeholder: 'NAME',
    help: 'Only this server of the file, with its own names. By default all of them, as one server.',
  },
  search: {
    kind: 'text',
    placeholder: 'N',
    optional: true,
    help: 'Give the host of many servers three tools in place of all: to find a tool, to describe it, to call it. With a number: as soon as there are that many tools.',
  },
  patience: {
    ...duration,
    default: 3000,
    help: 'How long the first of many servers is waited for; from then on the others have a sixth of it after each that comes. Later ones are listed when they come.',
  },
  share: {
    kind: 'choice',
    choices: ['session', 'shared', 'pool'],
    default: 'session',
    help: 'Who has a process of the server: each session, all clients together, or a pool over which they are spread. In a file: "share".',
  },
  'pool-size': {
    ...count,
    default: undefined,
    help: 'How many processes a pool has; 4 by default. In a file: "poolSize".',
  },
  'max-processes': {
    ...count,
    default: undefined,
    help: 'How many processes of the server there are at once; 64 by default. In a file: "maxProcesses".',
  },
  'process-idle': {
    ...duration,
    default: undefined,
    help: 'How long a process is kept that no client needs at the moment; 5min by default. In a file: "processIdleMs".',
  },
  retry: {
    kind: 'choice',
    choices: ['never', 'reads'],
    default: 'never',
    help: 'What is sent once more if the server was lost before its answer: nothing, or what is harmless by the protocol or by the annotations of the tool. In a file: "retry".',
  },
  trust: {
    kind: 'choice',
    choices: ['auto', 'locked', 'new', 'all'],
    default: 'auto',
    help: 'Which tools are offered: locked, those of the lock that have not changed; new, also those that the lock does not know; all, without a lock. By default locked if there is a lock, and else all.',
  },
  lock: {
    kind: 'text',
    placeholder: 'FILE',
    help: 'The lock, as mcp-actors bridge lock writes it. By default mcp-lock.json beside the file of servers, or in the current folder.',
  },
  allow: {
    kind: 'texts',
    placeholder: 'PATTERN',
    help: 'Offer only the tools that fit: a name as the host sees it, in which * stands for any text, or an annotation: @readOnly, @destructive, @idempotent, @openWorld. May be repeated. In a file: "policies".',
  },
  deny: {
    kind: 'texts',
    placeholder: 'PATTERN',
    help: 'Do not offer these tools, even if they are allowed; may be repeated.',
  },
  ask: {
    kind: 'texts',
    placeholder: 'PATTERN',
    help: 'Ask a person before each call of these tools, in a form of the host; may be repeated.',
  },
  rate: {
    kind: 'texts',
    placeholder: 'PATTERN=N/TIME',
    help: 'How often each principal may call each of these tools, such as search*=10/min; TIME is s, min, h or day. May be repeated.',
  },
  inspect: {
    ...options.inspect,
    help: 'Show the sessions and the connections to their servers live on a local page, whose address is written to stderr; or in the official inspector of XState.',
  },
  header: clientOptions.header,
  login: clientOptions.login,
  device: clientOptions.device,
  'client-id': clientOptions['client-id'],
  'client-secret-env': clientOptions['client-secret-env'],
  'client-metadata-url': clientOptions['client-metadata-url'],
  'callback-port': clientOptions['callback-port'],
  era: {
    ...clientOptions.era,
    help: 'The era that the server speaks: legacy, until 2025-11-25, or modern, since 2026-07-28. By default that of the host, if the server speaks it.',
  },
  'log-level': options['log-level'],
  'log-file': options['log-file'],
  limit: options.limit,
  help: helpOption,
} as const satisfies OptionTable;
