/** Which servers a command is about: a file of them, one URL, or a command after `--`. */
import { basename, dirname, join, resolve } from 'node:path';
import { readHosts, readHostsFile } from 'mcp-actors/client';
import type { HostsConfig, RegisteredClient } from 'mcp-actors/client';
import { quoted } from 'mcp-actors/internal';
import { UsageError } from '../command.ts';
import { lockName } from '../options/bridge-options.ts';

/** The target on the command line. */
export interface Target {
  /** A file, which is watched on request, or a configuration made from the command line. */
  readonly source: { readonly file: string } | { readonly config: HostsConfig };
  /** The arguments behind the target. */
  readonly rest: readonly string[];
}

/** What of a command line the target is read from. */
export interface TargetLine {
  /** Those before `--`, without options. */
  readonly positionals: readonly string[];
  /** The arguments after `--`; undefined without them. */
  readonly launched: readonly string[] | undefined;
  readonly values: TargetOptions;
}

/** The options about a target. */
export interface TargetOptions extends LoginLine {
  /** Of a URL: `NAME:VALUE`. */
  readonly header: readonly string[];
  /** Of a command: the names of variables that it is to inherit. */
  readonly env: readonly string[];
}

/** The options of a login on the command line. */
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
 * The client that a person logs in with, as an entry of a file has it.
 *
 * @throws {UsageError} no login is allowed, or the variable of the secret is not set
 */
export function clientOf(line: LoginLine): RegisteredClient | undefined {
  const [first] = clientOfLogin.filter((name) => line[name] !== undefined);
  if (first === undefined) return undefined;
  if (!line.login) throw new UsageError(`--${first} is about a login: add --login`);
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

/** Refuses options about a URL if no URL is given. */
function refuseUrlOptions(values: TargetOptions): void {
  if (values.header.length > 0) throw new UsageError('--header is about a URL, and none is given');
  const [first] = clientOfLogin.filter((name) => values[name] !== undefined);
  if (first === undefined) return;
  throw new UsageError(
    `--${first} is about a URL, and none is given. In a file it stands in "oauth" of the server`,
  );
}

/**
 * Takes the target from the command line.
 *
 * @param command such as `mcp-actors call`, for messages
 * @throws {UsageError} there is no target, or it does not fit the other arguments
 */
export function readTarget(command: string, line: TargetLine): Target {
  const { positionals, launched, values } = line;
  const { env } = values;
  const [first, ...rest] = positionals;
  if (launched !== undefined) {
    const [program, ...args] = launched;
    if (program === undefined) {
      throw new UsageError(`${command}: a server's command is missing after --`);
    }
    if (isUrl(program)) {
      throw new UsageError(
        `${command}: after -- stands the command of a server, and this is a URL. Write it without the --, as in ${command} ${withoutQuery(program)}`,
      );
    }
    refuseUrlOptions(values);
    for (const name of env) refuseUnset(name);
    return { source: only(nameOf(program, args), { command: program, args }), rest: positionals };
  }
  if (env.length > 0) {
    throw new UsageError(
      '--env is about a command behind --; for a server of a file write "env" into its entry',
    );
  }
  if (first === undefined) {
    throw new UsageError(
      `${command} needs a file of servers, a URL, or a server's command after --, as in ${command} mcp.json`,
    );
  }
  if (!isUrl(first)) {
    refuseUrlOptions(values);
    return { source: { file: first }, rest };
  }
  if (!URL.canParse(first)) throw new UsageError(`${command}: that is no URL of http or https`);
  const oauth = clientOf(values);
  const entry = {
    url: first,
    headers: Object.fromEntries(values.header.map(readHeader)),
    ...(oauth ? { oauth } : {}),
  };
  return { source: only(nameOfHost(new URL(first)), entry), rest };
}

/** @throws {UsageError} there is nothing to hand on */
function refuseUnset(name: string): void {
  if (name.includes('=')) {
    throw new UsageError('--env takes the name of a variable: its value is taken from your own');
  }
  if (process.env[name] === undefined) {
    throw new UsageError(`--env ${quoted(name)}: there is no such variable in your environment`);
  }
}

const isUrl = (text: string): boolean => /^https?:\/\//i.test(text);

/** The query may contain a secret, and so may a user name and a password. */
export function withoutQuery(text: string): string {
  return text.replace(/[?#].*$/s, '').replace(/(?<=:\/\/)[^/]*@/, '');
}

/** A configuration of one server. What is written on a command line, the shell has expanded. */
function only(name: string, entry: object): { readonly config: HostsConfig } {
  const text = JSON.stringify({ mcpServers: { [name]: entry } });
  return { config: readHosts(JSON.parse(text.replaceAll('${', () => '$${'))) };
}

/** Reads a target's configuration. @throws {RuntimeError} CONFIG_INVALID */
export function configOf({ source }: Target): HostsConfig | Promise<HostsConfig> {
  return 'file' in source ? readHostsFile(source.file) : source.config;
}

/** Where the lock of a target is, for a bridge. */
export function lockFileOf({ source }: Target, given: string | undefined): string {
  if (given !== undefined) return resolve(given);
  return join('file' in source ? dirname(resolve(source.file)) : process.cwd(), lockName);
}

/** What people call a server: its script or package, else its program. */
function nameOf(program: string, args: readonly string[]): string {
  const runs = /^(?:node|npx|bunx?|deno|tsx|uvx?|python3?|pipx)$/.test(basename(program));
  const words = runs ? args.filter((arg) => !arg.startsWith('-')) : [];
  const script = words.find((word) => /[/.]/.test(word)) ?? words[0];
  return basename(script ?? program).replace(/\.\w+$/, '') || program;
}

/** Of characters that the names of tools may have, so that no tool is renamed. */
function nameOfHost({ hostname }: URL): string {
  return hostname.replaceAll(/[^\w-]+/g, '-').replaceAll(/^-+|-+$/g, '') || 'server';
}

/** The messages do not repeat what was written: it may be a secret. */
function readHeader(text: string): readonly [string, string] {
  const [, name = '', value = ''] = /^([^:\s]+):(.*)$/s.exec(text) ?? [];
  if (name === '' || value.trim() === '') {
    throw new UsageError('--header: write NAME:VALUE, as in "Authorization: Bearer …"');
  }
  return [name, value.trim()];
}
