/** Options of `mcp-actors bridge`. */
import { clientOptions } from '../client/client-options.ts';
import type { OptionTable } from './option.ts';
import { count, duration } from './option.ts';
import { helpOption } from './parse-options.ts';
import { httpOptions, options } from './serve-options.ts';

/** Default name of the lock file. */
export const lockName = 'mcp-lock.json';

/** Options of the command, also used to generate the documentation. */
export const bridgeOptions = {
  ...httpOptions,
  server: {
    kind: 'text',
    placeholder: 'NAME',
    help: 'Serve only this server of the file, with unprefixed names. Default: all of them, merged into one.',
  },
  search: {
    kind: 'text',
    placeholder: 'N',
    optional: true,
    help: 'Replace all tools by three: find a tool, describe it, call it. With a number: only from that many tools on.',
  },
  patience: {
    ...duration,
    default: 3000,
    help: 'Maximum wait for the first of several servers; after each arrival the rest get a sixth of that. Later servers are added when they are ready.',
  },
  share: {
    kind: 'choice',
    choices: ['session', 'shared', 'pool'],
    default: 'session',
    help: 'Whether each session gets its own server process, all share one, or a pool is used. In a file: "share".',
  },
  'pool-size': {
    ...count,
    default: undefined,
    help: 'Number of processes in a pool. Default: 4. In a file: "poolSize".',
  },
  'max-processes': {
    ...count,
    default: undefined,
    help: 'Maximum number of server processes. Default: 64. In a file: "maxProcesses".',
  },
  'process-idle': {
    ...duration,
    default: undefined,
    help: 'Time after which an idle process is stopped. Default: 5min. In a file: "processIdleMs".',
  },
  retry: {
    kind: 'choice',
    choices: ['never', 'reads'],
    default: 'never',
    help: 'Requests to retry if the server is lost before it answers: none, or those that are safe by the protocol or by the tool\'s annotations. In a file: "retry".',
  },
  trust: {
    kind: 'choice',
    choices: ['auto', 'locked', 'new', 'all'],
    default: 'auto',
    help: 'Tools to offer: locked, only unchanged tools of the lock file; new, also tools missing from it; all, without a lock file. Default: locked if there is a lock file, else all.',
  },
  lock: {
    kind: 'text',
    placeholder: 'FILE',
    help: 'Lock file written by mcp-actors bridge lock. Default: mcp-lock.json next to the file of servers, or in the current directory.',
  },
  allow: {
    kind: 'texts',
    placeholder: 'PATTERN',
    help: 'Offer only matching tools: a name as seen by the host, with * as wildcard, or an annotation: @readOnly, @destructive, @idempotent, @openWorld. Repeatable. In a file: "policies".',
  },
  deny: {
    kind: 'texts',
    placeholder: 'PATTERN',
    help: 'Hide these tools even if they are allowed. Repeatable.',
  },
  ask: {
    kind: 'texts',
    placeholder: 'PATTERN',
    help: 'Ask for consent, in a form of the host, before each call of these tools. Repeatable.',
  },
  rate: {
    kind: 'texts',
    placeholder: 'PATTERN=N/TIME',
    help: 'Rate limit per principal and tool, such as search*=10/min; TIME is s, min, h or day. Repeatable.',
  },
  inspect: {
    ...options.inspect,
    help: 'Show sessions and server connections live on a local page and print its URL to stderr, or use the Stately inspector.',
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
    help: 'Era to use with the server: legacy (up to 2025-11-25) or modern (since 2026-07-28). Default: that of the host, if the server supports it.',
  },
  'log-level': options['log-level'],
  'log-file': options['log-file'],
  limit: options.limit,
  help: helpOption,
} as const satisfies OptionTable;
