/** Target servers of a command: a file, one URL, or a command after `--`. */
import { basename, dirname, join, resolve } from 'node:path';
import { readHosts, readHostsFile } from 'mcp-actors/client';
import type { HostsConfig, RegisteredClient } from 'mcp-actors/client';
import { quoted } from 'mcp-actors/internal';
import { UsageError } from '../command.ts';
import { lockName } from '../options/bridge-options.ts';

/** Target on the command line. */
export interface Target {
  /** File, which can be watched, or a configuration built from the command line. */
  readonly source: { readonly file: string } | { readonly config: HostsConfig };
  /** Arguments after the target. */
  readonly rest: readonly string[];
}

/** Parts of a command line that determine the target. */
export interface TargetLine {
  /** Positional arguments before `--`. */
  readonly positionals: readonly string[];
  /** The arguments after `--`; undefined without them. */
  readonly launched: readonly string[] | undefined;
  readonly values: TargetOptions;
}

/** Options of a target. */
export interface TargetOptions extends LoginLine {
  /** Headers for a URL: `NAME:VALUE`. */
  readonly header: readonly string[];
  /** Names of variables that a command inherits. */
  readonly env: readonly string[];
}

/** Login options on the command line. */
export interface LoginLine {
  readonly login: boolean;
  readonly 'client-id': string | undefined;
  readonly 'client-secret-env': string | undefined;
  readonly 'client-metadata-url': string | undefined;
  readonly 'callback-port': number | undefined;
}

const clientOfLogin = [
  'client-id',
  'client-secret-env',
  'client-metadata-url',
  'callback-port',
] as const;

/**
 * Registered client for a login, in the form of a file's entry.
 *
 * @throws {UsageError} if logins are not enabled or the variable of the secret is unset
 */
export function clientOf(line: LoginLine): RegisteredClient | undefined {
  const [first] = clientOfLogin.filter((name) => line[name] !== undefined);
  if (first === undefined) return undefined;
  if (!line.login) throw new UsageError(`--${first} needs --login`);
  const variable = line['client-secret-env'];
  const secret = variable === undefined ? undefined : process.env[variable];
  if (variable !== undefined && !secret) {
    throw new UsageError(`--client-secret-env: the variable ${quoted(variable)} is not set`);
  }
  const { 'client-id': clientId, 'client-metadata-url': clientMetadataUrl } = line;
  return {
    ...(clientId === undefined ? {} : { clientId }),
    ...(secret === undefined ? {} : { clientSecret: secret }),
    ...(clientMetadataUrl === undefined ? {} : { clientMetadataUrl }),
    ...(line['callback-port'] === undefined ? {} : { callbackPort: line['callback-port'] }),
  };
}

/** Rejects options that need a URL target. */
function rejectUrlOptions(values: TargetOptions): void {
  if (values.header.length > 0) throw new UsageError('--header needs a URL target');
  const [first] = clientOfLogin.filter((name) => values[name] !== undefined);
  if (first === undefined) return;
  throw new UsageError(`--${first} needs a URL target. In a file, set it in the server's "oauth"`);
}

/**
 * Reads the target from the command line.
 *
 * @param command such as `mcp-actors call`, for messages
 * @throws {UsageError} if there is no target or it conflicts with other arguments
 */
export function readTarget(command: string, line: TargetLine): Target {
  const { positionals, launched, values } = line;
  const { env } = values;
  const [first, ...rest] = positionals;
  if (launched !== undefined) {
    const [program, ...args] = launched;
    if (program === undefined) {
      throw new UsageError(`${command} needs a server's command after --`);
    }
    if (isUrl(program)) {
      throw new UsageError(
        `${command} needs a command after --, got a URL. Omit the --, as in ${command} ${withoutQuery(program)}`,
      );
    }
    rejectUrlOptions(values);
    for (const name of env) assertSet(name);
    return {
      source: singleServer(nameOf(program, args), { command: program, args }),
      rest: positionals,
    };
  }
  if (env.length > 0) {
    throw new UsageError(
      '--env needs a command after --; for a server in a file, set "env" in its entry',
    );
  }
  if (first === undefined) {
    throw new UsageError(
      `${command} needs a file of servers, a URL, or a server's command after --, as in ${command} mcp.json`,
    );
  }
  if (!isUrl(first)) {
    rejectUrlOptions(values);
    return { source: { file: first }, rest };
  }
  if (!URL.canParse(first))
    throw new UsageError(`${command}: target must be a valid http or https URL`);
  const oauth = clientOf(values);
  const entry = {
    url: first,
    headers: Object.fromEntries(values.header.map(readHeader)),
    ...(oauth ? { oauth } : {}),
  };
  return { source: singleServer(nameOfHost(new URL(first)), entry), rest };
}

/** @throws {UsageError} if the variable is not set */
function assertSet(name: string): void {
  if (name.includes('=')) {
    throw new UsageError(
      '--env must be a variable name without a value; the value comes from your environment',
    );
  }
  if (process.env[name] === undefined) {
    throw new UsageError(`--env ${quoted(name)}: the variable is not set in your environment`);
  }
}

const isUrl = (text: string): boolean => /^https?:\/\//i.test(text);

/** Removes query, user name and password, which may contain secrets. */
export function withoutQuery(text: string): string {
  return text.replace(/[?#].*$/s, '').replace(/(?<=:\/\/)[^/]*@/, '');
}

/**
 * Builds a configuration of one server. Escapes `${`, because the shell has already expanded
 * variables.
 */
function singleServer(name: string, entry: object): { readonly config: HostsConfig } {
  const text = JSON.stringify({ mcpServers: { [name]: entry } });
  return { config: readHosts(JSON.parse(text.replaceAll('${', () => '$${'))) };
}

/**
 * Reads a target's configuration.
 *
 * @throws {RuntimeError} CONFIG_INVALID
 */
export function configOf({ source }: Target): HostsConfig | Promise<HostsConfig> {
  return 'file' in source ? readHostsFile(source.file) : source.config;
}

/** Path of a target's lock file, for a bridge. */
export function lockFileOf({ source }: Target, given: string | undefined): string {
  if (given !== undefined) return resolve(given);
  return join('file' in source ? dirname(resolve(source.file)) : process.cwd(), lockName);
}

/** Derives a server's name from its script or package, otherwise from its program. */
function nameOf(program: string, args: readonly string[]): string {
  const runs = /^(?:node|npx|bunx?|deno|tsx|uvx?|python3?|pipx)$/.test(basename(program));
  const words = runs ? args.filter((arg) => !arg.startsWith('-')) : [];
  const script = words.find((word) => /[/.]/.test(word)) ?? words[0];
  return basename(script ?? program).replace(/\.\w+$/, '') || program;
}

/**
 * Derives a server's name with only characters allowed in tool names, so that no tool is renamed.
 */
function nameOfHost({ hostname }: URL): string {
  return hostname.replaceAll(/[^\w-]+/g, '-').replaceAll(/^-+|-+$/g, '') || 'server';
}

/** Parses a header. Messages omit the text, which may be a secret. */
function readHeader(text: string): readonly [string, string] {
  const [, name = '', value = ''] = /^([^:\s]+):(.*)$/s.exec(text) ?? [];
  if (name === '' || value.trim() === '') {
    throw new UsageError('--header must be NAME:VALUE, as in "Authorization: Bearer …"');
  }
  return [name, value.trim()];
}
