/** The options of `mcp-actors serve`. */
import type { HttpLimits } from 'mcp-actors/http';
import type { PrimaryRoot } from 'mcp-actors/roots';
import { limitTables } from 'mcp-actors/internal';
import type { Limits } from 'mcp-actors';
import { defaultSearchTimeoutMs } from '@mcp-actors/workspace-server';
import { UsageError } from '../command.ts';
import type { Measured, OptionTable } from './option.ts';
import { count, duration, size } from './option.ts';
import { recordOptionsOf } from './record-options.ts';

/** The options that need `--http`. */
export const httpOptions = {
  http: {
    kind: 'text',
    placeholder: '[HOST:]PORT',
    help: 'Serve over HTTP, at /mcp, in place of stdin and stdout. On 127.0.0.1 unless a host is given. A host that others can reach needs authentication, or to be declared insecure.',
  },
  insecure: {
    kind: 'switch',
    help: 'Let everybody who reaches the host use the server, and read what it can read.',
  },
  'allow-host': {
    kind: 'texts',
    placeholder: 'NAME',
    help: 'A name that clients may reach the server by, beside those of this machine; may be repeated.',
  },
  'allow-origin': {
    kind: 'texts',
    placeholder: 'ORIGIN',
    help: 'An origin whose web pages may use the server, as https://app.example; may be repeated.',
  },
  'auth-issuer': {
    kind: 'text',
    placeholder: 'URL',
    help: 'Requests need an access token of this issuer.',
  },
  'auth-audience': {
    kind: 'text',
    placeholder: 'URL',
    help: 'Whom the tokens are for: the URL of this server, as clients know it.',
  },
  'auth-scope': {
    kind: 'texts',
    placeholder: 'SCOPE',
    help: 'A scope that every request needs; may be repeated.',
  },
  'auth-client-id': {
    kind: 'text',
    placeholder: 'ID',
    help: 'The client at the issuer with which this server exchanges the tokens of its callers for those of other servers.',
  },
  'auth-client-secret-env': {
    kind: 'text',
    placeholder: 'NAME',
    help: "The environment variable that holds that client's secret.",
  },
  redis: {
    kind: 'text',
    placeholder: 'URL',
    help: 'Share sessions with the other processes at this Redis, so that each serves the clients of all.',
  },
  'node-url': {
    kind: 'text',
    placeholder: 'URL',
    help: 'With --redis: where the other processes reach this one, as http://10.0.0.7:3000/mcp. Default: the address that it listens on or, if it listens on all, the one that it reaches Redis from.',
  },
  sse: {
    kind: 'switch',
    help: 'Serve the deprecated HTTP+SSE of 2024-11-05 as well, at /sse.',
  },
  health: {
    kind: 'switch',
    help: 'Answer /healthz while the process works, and /readyz until it is told to end.',
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

/** The limits of a session, by the names that `--limit` takes. */
export const sessionLimits: { readonly [name: string]: Measured } = quantitiesOf(
  limitTables.session,
  '',
);

/** The limits of an HTTP endpoint, by the names that `--limit` takes. */
export const httpLimits: { readonly [name: string]: Measured } = quantitiesOf(
  limitTables.http,
  'http.',
);

const limits = { ...sessionLimits, ...httpLimits };

/** The limits that people set have a flag as well. */
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

/** For commands that take limits by `--limit` alone. */
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
    help: 'How much is logged on stderr. Some clients show every line as an error.',
  },
  'log-file': {
    kind: 'text',
    placeholder: 'FILE',
    help: 'Append the log to this file instead of writing it to stderr.',
  },
  openapi: {
    kind: 'text',
    placeholder: 'FILE_OR_URL',
    help: 'Serve the operations of an OpenAPI document as tools in place of the workspace.',
  },
  'openapi-server': {
    kind: 'text',
    placeholder: 'URL',
    help: "Where the API is. By default the document's first server.",
  },
  'openapi-header': {
    kind: 'texts',
    placeholder: "'NAME: VALUE'",
    help: 'A header of each request to the API, such as one that authorizes it. ${NAME} in it is a variable of the environment. May be repeated.',
  },
  'openapi-query': {
    kind: 'texts',
    placeholder: "'NAME=VALUE'",
    help: 'A parameter in the query of each request to the API, such as an API key. ${NAME} in it is a variable of the environment. May be repeated.',
  },
  'openapi-exchange': {
    kind: 'text',
    placeholder: 'AUDIENCE',
    help: 'Exchange the token of the caller for one of the API, whose name at the issuer this is. Needs --auth-client-id.',
  },
  'openapi-include': {
    kind: 'texts',
    placeholder: 'NAME',
    help: 'Only operations of this operationId, method, path, "METHOD path" or tag:NAME; * stands for anything. May be repeated.',
  },
  'openapi-exclude': {
    kind: 'texts',
    placeholder: 'NAME',
    help: 'Not these operations, named as for --openapi-include. May be repeated.',
  },
  'openapi-unchecked': {
    kind: 'switch',
    help: "Keep responses that break the document's schemas: tools have no output schema.",
  },
  watch: {
    kind: 'text',
    placeholder: 'FILE',
    help: 'Serve the server of a module in place of the workspace, and its newest code after each save, as mcp-actors dev does.',
  },
  durable: {
    kind: 'text',
    placeholder: 'DIR|URL',
    help: 'Serve the server of a module, given in place of the directories, and keep its tasks and its calls of durable tools there: in a directory, postgres://… or redis://…. If its process ends, another one takes over and the host stays connected.',
  },
  unsupervised: {
    kind: 'switch',
    help: 'With --durable: serve in this process, without another one that starts it again.',
  },
  'follow-roots': {
    kind: 'switch',
    help: "Let the client's roots replace the directories. Otherwise roots choose within them.",
  },
  'primary-root': {
    kind: 'text',
    placeholder: 'first|NAME|marker[:FILE]',
    help: 'Which of several roots of the client is the project: the first, the one that the client calls NAME, or the first that holds FILE, which is .git by default.',
  },
  chdir: {
    kind: 'switch',
    help: "Change the process's working directory to the project's.",
  },
  'search-timeout': {
    ...duration,
    default: defaultSearchTimeoutMs,
    help: 'How long a search may take, with its wait for others; then it answers with what it has found.',
  },
  inspect: {
    kind: 'text',
    placeholder: 'PORT|stately[:PORT]',
    optional: true,
    help: 'Show the session, over HTTP all of them, live on a local page, whose address is written to stderr; or in the official inspector of XState.',
  },
  record: {
    kind: 'text',
    placeholder: 'FILE',
    help: 'Record the session into a new file, which mcp-actors replay plays again; in a directory, into a new file of its own. Over HTTP each session has its file: mine.jsonl becomes mine-1.jsonl, mine-2.jsonl and so on. Secrets are replaced, as far as they can be told by their form.',
  },
  ...recordOptionsOf('session'),
  ...httpOptions,
  ...limitFlags,
  limit: {
    kind: 'quantities',
    placeholder: 'NAME=VALUE',
    quantities: limits,
    help: 'Set one of the limits, such as maxPending=100 or http.eventTtlMs=1min; may be repeated. mcp-actors help limits lists those of a session, mcp-actors help http those of the endpoint.',
  },
  help: { kind: 'switch', short: 'h', help: 'Print this text.' },
  version: { kind: 'switch', short: 'V', help: 'Print the version.' },
} as const satisfies OptionTable;

/**
 * Reads `--primary-root`.
 *
 * @throws {UsageError} it is empty, or names no file
 */
export function primaryRootIn(value: string | undefined): PrimaryRoot | undefined {
  if (value === undefined || value === 'first') return value;
  if (value === 'marker') return { marker: '.git' };
  const isMarker = value.startsWith('marker:');
  const named = isMarker ? value.slice('marker:'.length) : value;
  if (named !== '') return isMarker ? { marker: named } : { name: named };
  throw new UsageError('--primary-root must be first, the name of a root, or marker:FILE');
}

/** The limits that were given: those of the session, and those of the HTTP endpoint. */
export interface GivenLimits {
  readonly session: Partial<Limits>;
  readonly http: Partial<HttpLimits>;
}

/** @throws {UsageError} a limit is given both by its flag and by `--limit` */
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
      throw new UsageError(`--${flag} and --limit ${name} set the same limit: give one of them`);
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
