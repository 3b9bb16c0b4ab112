/** Parses and validates command lines. */
import type { ProvidedRoot, ServerEntry } from 'mcp-actors/client';

export type Json = { readonly [key: string]: unknown };

/** A provider's answer. */
export interface Answer {
  readonly result?: Json;
  readonly error?: { readonly code: number; readonly message: string };
  readonly throws?: string;
  readonly delayMs?: number;
}

/** `options` of a command. */
export interface DriverOptions {
  readonly era?: 'auto' | 'legacy' | 'modern';
  readonly probeMs?: number;
  readonly connectMs?: number;
  readonly requestMs?: number;
  readonly restart?: false | Json;
  readonly streamRetry?: Json;
  readonly stop?: { readonly stdinMs?: number; readonly termMs?: number };
  readonly providers?: {
    readonly roots?: { readonly roots: readonly ProvidedRoot[] };
    readonly sampling?: Answer;
    readonly elicitation?: Answer;
  };
  readonly watch?: boolean;
  readonly limits?: { readonly maxLineBytes?: number };
  readonly auth?: {
    readonly redirectUrl?: string;
    readonly clientId?: string;
    readonly clientSecret?: string;
    readonly scope?: string;
    readonly storeDir?: string;
    readonly wrongState?: boolean;
  };
  readonly startupMs?: number;
}

/** The members present depend on `op`. */
export interface Command {
  readonly op: string;
  readonly ref: string;
  readonly name?: string;
  readonly server?: ServerEntry;
  readonly config?: object;
  readonly options?: DriverOptions;
  readonly tool?: string;
  readonly arguments?: Json;
  readonly method?: string;
  readonly params?: Json;
  readonly uri?: string;
  readonly roots?: readonly ProvidedRoot[];
  readonly refresh?: boolean;
  readonly timeoutMs?: number;
  readonly maxTotalMs?: number;
  readonly progress?: boolean;
  readonly target?: string;
  readonly reason?: string;
}

/** The command is invalid or not supported. */
export class CommandError extends Error {
  readonly code: 'CONFIG' | 'UNSUPPORTED';

  constructor(message: string, code: CommandError['code'] = 'CONFIG') {
    super(message);
    this.code = code;
  }
}

/** @throws {CommandError} with the actual and the expected value at `path` */
type Check = (value: unknown, path: string) => void;

const check =
  (words: string, isRight: (value: unknown) => boolean): Check =>
  (value, path) => {
    if (isRight(value)) return;
    const text = (JSON.stringify(value) ?? 'nothing').slice(0, 100);
    throw new CommandError(`${path} must be ${words}, got ${text}`);
  };

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const text = check('a string', (value) => typeof value === 'string');
const number = check('a number', (value) => typeof value === 'number');
const flag = check('true or false', (value) => typeof value === 'boolean');
const object = check('an object', isObject);
const list = check('an array', Array.isArray);
const off = check('false or an object', (value) => value === false || isObject(value));

const oneOf = (...words: readonly string[]): Check =>
  check(`one of ${words.join(', ')}`, (value) => words.includes(value as string));

const listOf =
  (each: Check): Check =>
  (value, path) => {
    list(value, path);
    (value as readonly unknown[]).forEach((item, at) => each(item, `${path}[${at}]`));
  };

const mapOf =
  (each: Check): Check =>
  (value, path) => {
    object(value, path);
    for (const [name, item] of Object.entries(value as Json)) each(item, `${path}.${name}`);
  };

/** Checks the known members of an object; `needed` ones are required. */
const members =
  (known: { readonly [name: string]: Check }, ...needed: readonly string[]): Check =>
  (value, path) => {
    object(value, path);
    const given = value as Json;
    for (const name of needed) known[name]?.(given[name], `${path}.${name}`);
    for (const [name, item] of Object.entries(given)) {
      if (Object.hasOwn(known, name)) known[name]?.(item, `${path}.${name}`);
    }
  };

/** Like `members`, but rejects unknown members as unsupported by the client. */
const only =
  (known: { readonly [name: string]: Check }, ...needed: readonly string[]): Check =>
  (value, path) => {
    members(known, ...needed)(value, path);
    const unknown = Object.keys(value as Json).find((name) => !Object.hasOwn(known, name));
    if (unknown === undefined) return;
    throw new CommandError(`There is no ${path}.${unknown}`, 'UNSUPPORTED');
  };

const launched = members(
  { command: text, args: listOf(text), env: mapOf(text), cwd: text },
  'command',
);
const reached = members(
  { type: oneOf('http', 'streamable-http', 'sse'), url: text, headers: mapOf(text) },
  'url',
);
const server: Check = (value, path) => {
  object(value, path);
  const { url, type = url === undefined ? 'stdio' : 'http' } = value as Json;
  (type === 'stdio' ? launched : reached)(value, path);
};

const refusal = only({ code: number, message: text }, 'code', 'message');
const answer: Check = (value, path) => {
  only({ result: object, error: refusal, throws: text, delayMs: number })(value, path);
  const given = Object.keys(value as Json).filter((name) => name !== 'delayMs');
  if (given.length === 1) return;
  throw new CommandError(`${path} must have one of result, error and throws`);
};

const options = only({
  era: oneOf('auto', 'legacy', 'modern'),
  probeMs: number,
  connectMs: number,
  requestMs: number,
  restart: off,
  streamRetry: object,
  stop: only({ stdinMs: number, termMs: number }),
  providers: only({
    roots: only({ roots: listOf(object) }, 'roots'),
    sampling: answer,
    elicitation: answer,
  }),
  watch: flag,
  limits: object,
  auth: only({
    redirectUrl: text,
    clientId: text,
    clientSecret: text,
    scope: text,
    storeDir: text,
    wrongState: flag,
  }),
  startupMs: number,
});

const fields: { readonly [name in keyof Command]-?: Check } = {
  op: text,
  ref: text,
  name: text,
  server,
  config: object,
  options,
  tool: text,
  arguments: object,
  method: text,
  params: object,
  uri: text,
  roots: listOf(object),
  refresh: flag,
  timeoutMs: number,
  maxTotalMs: number,
  progress: flag,
  target: text,
  reason: text,
};

/** Required members by `op`. */
const needed: { readonly [op: string]: readonly (keyof Command)[] } = {
  connect: ['name', 'server'],
  manager: ['config'],
  servers: [],
  state: ['name'],
  listTools: [],
  callTool: ['tool'],
  request: ['name', 'method'],
  readResource: ['name', 'uri'],
  subscribe: ['name', 'uri'],
  setRoots: ['name', 'roots'],
  cancel: ['target'],
  stderr: ['name'],
  reconnect: ['name'],
  close: ['name'],
  shutdown: [],
};

/** A command, or an error with the `ref` to report it under. */
export type Reading =
  | { readonly command: Command }
  | { readonly ref: string | null; readonly error: CommandError };

export function readCommand(line: string): Reading {
  let ref: string | null = null;
  try {
    const given = parse(line);
    if (typeof given['ref'] === 'string') ref = given['ref'];
    const { op } = given;
    if (typeof op !== 'string' || !Object.hasOwn(needed, op)) {
      const ops = Object.keys(needed).join(', ');
      throw new CommandError(`There is no op ${JSON.stringify(op)}; there are ${ops}`);
    }
    for (const name of ['ref', ...(needed[op] ?? [])] as const) fields[name](given[name], name);
    for (const [name, value] of Object.entries(given)) {
      if (Object.hasOwn(fields, name)) fields[name as keyof Command](value, name);
    }
    return { command: given as unknown as Command };
  } catch (error) {
    if (error instanceof CommandError) return { ref, error };
    throw error;
  }
}

function parse(line: string): Json {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    // Reported below as JSON that is not an object.
  }
  if (isObject(value)) return value;
  throw new CommandError(`This is no command: ${line.slice(0, 200)}`);
}
