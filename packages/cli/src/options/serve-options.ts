/** Options of `mcp-actors serve`. */
import type { HttpLimits } from 'mcp-actors/http';
import type { PrimaryRoot } from 'mcp-actors/roots';
import { limitTables } from 'mcp-actors/internal';
import type { Limits } from 'mcp-actors';
import { defaultSearchTimeoutMs } from '@mcp-actors/workspace-server';
import { UsageError } from '../command.ts';
import type { Measured, OptionTable } from './option.ts';
import { count, duration, size } from './option.ts';
import { recordOptionsOf } from './record-options.ts';

/** Options that need `--http`. */
export const httpOptions = {
  http: {
    kind: 'text',
    placeholder: '[HOST:]PORT',
    help: 'Serve over HTTP at /mcp instead of stdin and stdout. Default host: 127.0.0.1. A host reachable from other machines needs authentication or must be declared insecure.',
  },
  insecure: {
    kind: 'switch',
    help: 'Allow everyone who can reach the host to use the server and read what it can read.',
  },
  'allow-host': {
    kind: 'texts',
    placeholder: 'NAME',
    help: 'Additional host name by which clients may reach the server. Repeatable.',
  },
  'allow-origin': {
    kind: 'texts',
    placeholder: 'ORIGIN',
    help: 'Origin whose web pages may use the server, such as https://app.example. Repeatable.',
  },
  'auth-issuer': {
    kind: 'text',
    placeholder: 'URL',
    help: 'Require access tokens of this issuer.',
  },
  'auth-audience': {
    kind: 'text',
    placeholder: 'URL',
    help: 'Required audience of the tokens: the URL of this server, as clients know it.',
  },
  'auth-scope': {
    kind: 'texts',
    placeholder: 'SCOPE',
    help: 'Scope that every request needs. Repeatable.',
  },
  'auth-client-id': {
    kind: 'text',
    placeholder: 'ID',
    help: "Client id at the issuer with which this server exchanges its callers' tokens for tokens of other servers.",
  },
  'auth-client-secret-env': {
    kind: 'text',
    placeholder: 'NAME',
    help: "Environment variable with that client's secret.",
  },
  redis: {
    kind: 'text',
    placeholder: 'URL',
    help: 'Share sessions through this Redis, so that every process can serve every client.',
  },
  'node-url': {
    kind: 'text',
    placeholder: 'URL',
    help: 'With --redis: URL at which other processes reach this one, such as http://10.0.0.7:3000/mcp. Default: the listening address; if listening on all addresses, the one used to reach Redis.',
  },
  sse: {
    kind: 'switch',
    help: 'Also serve the deprecated HTTP+SSE transport of 2024-11-05, at /sse.',
  },
  health: {
    kind: 'switch',
    help: 'Answer /healthz while the process runs, and /readyz until shutdown begins.',
  },
} as const satisfies OptionTable;

type LimitRow = (typeof limitTables)['session'][keyof Limits];

/** A limit as the command takes it: its name says the unit. */
function quantityOf(name: string, { min, max, ...row }: LimitRow): Measured {
  const unit = name.endsWith('Ms') ? duration : name.endsWith('Bytes') ? size : count;
  const bounds = { min: min ?? unit.bounds.min, max: max ?? unit.bounds.max };
  return { kind: unit.kind, bounds, default: row.default, help: row.help };
}

const quantitiesOf = (table: { readonly [name: string]: LimitRow }, prefix: string) =>
  Object.fromEntries(
    Object.entries(table).map(([name, row]) => [`${prefix}${name}`, quantityOf(name, row)]),
  );

/** Session limits by their `--limit` names. */
export const sessionLimits: { readonly [name: string]: Measured } = quantitiesOf(
  limitTables.session,
  '',
);

/** Limits of an HTTP endpoint by their `--limit` names. */
export const httpLimits: { readonly [name: string]: Measured } = quantitiesOf(
  limitTables.http,
  'http.',
);

const limits = { ...sessionLimits, ...httpLimits };

/** Common limits with their own flags. */
export const flagsOfLimits = {
  'roots-timeout': 'rootsTimeoutMs',
  'drain-timeout': 'drainTimeoutMs',
  'keepalive-interval': 'keepaliveIntervalMs',
  'max-running': 'maxRunning',
  'max-sessions': 'http.maxSessions',
  'session-idle-timeout': 'http.sessionIdleTimeoutMs',
  'max-body': 'http.maxBodyBytes',
} as const;

type LimitFlag = keyof typeof flagsOfLimits;

/** Placeholder for commands that support only `--limit`. */
export const noLimitFlags: { readonly [flag in LimitFlag]: undefined } = {
  'roots-timeout': undefined,
  'drain-timeout': undefined,
  'keepalive-interval': undefined,
  'max-running': undefined,
  'max-sessions': undefined,
  'session-idle-timeout': undefined,
  'max-body': undefined,
};

const limitFlags = Object.fromEntries(
  Object.entries(flagsOfLimits).map(([flag, name]) => [flag, limits[name]]),
) as { readonly [flag in LimitFlag]: Measured };

export const options = {
  'log-level': {
    kind: 'choice',
    choices: ['debug', 'info', 'warning', 'error', 'silent'],
    default: 'warning',
    environment: 'MCP_ACTORS_LOG_LEVEL',
    help: 'Minimum level of log messages on stderr. Some clients show every line as an error.',
  },
  'log-file': {
    kind: 'text',
    placeholder: 'FILE',
    help: 'Append the log to this file instead of writing it to stderr.',
  },
  openapi: {
    kind: 'text',
    placeholder: 'FILE_OR_URL',
    help: 'Serve the operations of an OpenAPI document as tools instead of the workspace.',
  },
  'openapi-server': {
    kind: 'text',
    placeholder: 'URL',
    help: "Base URL of the API. Default: the document's first server.",
  },
  'openapi-header': {
    kind: 'texts',
    placeholder: "'NAME: VALUE'",
    help: 'Header of each request to the API, such as an authorization. ${NAME} expands an environment variable. Repeatable.',
  },
  'openapi-query': {
    kind: 'texts',
    placeholder: "'NAME=VALUE'",
    help: 'Query parameter of each request to the API, such as an API key. ${NAME} expands an environment variable. Repeatable.',
  },
  'openapi-exchange': {
    kind: 'text',
    placeholder: 'AUDIENCE',
    help: "Exchange the caller's token for one with this audience, the name of the API at the issuer. Needs --auth-client-id.",
  },
  'openapi-include': {
    kind: 'texts',
    placeholder: 'NAME',
    help: 'Serve only operations with this operationId, method, path, "METHOD path" or tag:NAME; * is a wildcard. Repeatable.',
  },
  'openapi-exclude': {
    kind: 'texts',
    placeholder: 'NAME',
    help: 'Exclude these operations, named as for --openapi-include. Repeatable.',
  },
  'openapi-unchecked': {
    kind: 'switch',
    help: "Pass on responses that violate the document's schemas; tools then have no output schema.",
  },
  watch: {
    kind: 'text',
    placeholder: 'FILE',
    help: 'Serve the server of a module instead of the workspace and reload its code after each save, like mcp-actors dev.',
  },
  durable: {
    kind: 'text',
    placeholder: 'DIR|URL',
    help: 'Serve the server of a module (given instead of directories) and store its tasks and durable calls in a directory, postgres://… or redis://…. If its process ends, another takes over and the host stays connected.',
  },
  unsupervised: {
    kind: 'switch',
    help: 'With --durable: run without a supervisor process that restarts the server.',
  },
  'follow-roots': {
    kind: 'switch',
    help: "Let the client's roots replace the directories. Default: roots select among them.",
  },
  'primary-root': {
    kind: 'text',
    placeholder: 'first|NAME|marker[:FILE]',
    help: 'Project among several client roots: the first, the one with this NAME, or the first that contains FILE (default .git).',
  },
  chdir: {
    kind: 'switch',
    help: 'Change the working directory of the process to the project.',
  },
  'search-timeout': {
    ...duration,
    default: defaultSearchTimeoutMs,
    help: 'Time limit of a search, including its wait in the queue. A search that exceeds it returns partial results.',
  },
  inspect: {
    kind: 'text',
    placeholder: 'PORT|stately[:PORT]',
    optional: true,
    help: 'Show the session (over HTTP all sessions) live on a local page and print its URL to stderr, or use the Stately inspector.',
  },
  record: {
    kind: 'text',
    placeholder: 'FILE',
    help: 'Record the session into a new file, or into a new file in this directory, for mcp-actors replay. Over HTTP each session gets its own file: mine.jsonl becomes mine-1.jsonl, mine-2.jsonl and so on. Secrets are replaced if their form is recognized.',
  },
  ...recordOptionsOf('session'),
  ...httpOptions,
  ...limitFlags,
  limit: {
    kind: 'quantities',
    placeholder: 'NAME=VALUE',
    quantities: limits,
    help: 'Set a limit, such as maxPending=100 or http.eventTtlMs=1min. Repeatable. mcp-actors help limits lists the session limits, mcp-actors help http those of the endpoint.',
  },
  help: { kind: 'switch', short: 'h', help: 'Print this text.' },
  version: { kind: 'switch', short: 'V', help: 'Print the version.' },
} as const satisfies OptionTable;

/**
 * Parses `--primary-root`.
 *
 * @throws {UsageError} if it is empty or names no file
 */
export function primaryRootIn(value: string | undefined): PrimaryRoot | undefined {
  if (value === undefined || value === 'first') return value;
  if (value === 'marker') return { marker: '.git' };
  const isMarker = value.startsWith('marker:');
  const named = isMarker ? value.slice('marker:'.length) : value;
  if (named !== '') return isMarker ? { marker: named } : { name: named };
  throw new UsageError('--primary-root must be first, the name of a root, or marker:FILE');
}

/** Explicitly set limits of the session and of the HTTP endpoint. */
export interface GivenLimits {
  readonly session: Partial<Limits>;
  readonly http: Partial<HttpLimits>;
}

/** @throws {UsageError} if a limit is set by its flag and by `--limit` */
export function limitsIn(
  values: { readonly [flag in LimitFlag]: number | undefined } & {
    readonly limit: { readonly [name: string]: number };
  },
): GivenLimits {
  const given = new Map(Object.entries(values.limit));
  for (const [flag, name] of Object.entries(flagsOfLimits)) {
    const value = values[flag as LimitFlag];
    if (value === undefined) continue;
    if (given.has(name)) {
      throw new UsageError(`--${flag} and --limit ${name} set the same limit: use only one`);
    }
    given.set(name, value);
  }
  const session: { [name: string]: number } = {};
  const http: { [name: string]: number } = {};
  for (const [name, value] of given) {
    if (name.startsWith('http.')) http[name.slice('http.'.length)] = value;
    else session[name] = value;
  }
  return { session, http };
}
