/** What the options about OpenAPI ask for. */
import { UsageError } from '../command.ts';
import type { HttpSettings } from './http-settings.ts';
import type { Values } from './parse-options.ts';
import type { options } from './serve-options.ts';

/** Which operations to serve. */
export interface OpenApiSettings {
  /** A file or a URL. */
  readonly document: string;
  readonly server: string | undefined;
  /** Of each request to the API. */
  readonly headers: { readonly [name: string]: string };
  /** Parameters in the query of each request to the API. */
  readonly query: { readonly [name: string]: string };
  /** The name of the API at the issuer of the callers' tokens, if these are exchanged for it. */
  readonly exchange: string | undefined;
  readonly include: readonly string[];
  readonly exclude: readonly string[];
  /** False to keep responses that break their schema. */
  readonly checkResponses: boolean;
}

/**
 * Reads the options about OpenAPI; undefined without `--openapi`.
 *
 * @param http how the server is reached: tokens come over HTTP only
 * @throws {UsageError} one of them is wrong, or means nothing without another one
 */
export function openApiWish(
  values: Values<typeof options>,
  environment: Environment,
  http: HttpSettings | undefined,
): OpenApiSettings | undefined {
  const {
    openapi: document,
    'openapi-server': server,
    'openapi-header': headers,
    'openapi-query': query,
    'openapi-exchange': exchange,
    'openapi-include': include,
    'openapi-exclude': exclude,
    'openapi-unchecked': isUnchecked,
  } = values;
  if (document === undefined) {
    const others = {
      'openapi-server': server,
      'openapi-header': headers[0],
      'openapi-query': query[0],
      'openapi-exchange': exchange,
      'openapi-unchecked': isUnchecked || undefined,
    };
    const all = { ...others, 'openapi-include': include[0], 'openapi-exclude': exclude[0] };
    const [lonely] = Object.entries(all).find(([, value]) => value !== undefined) ?? [];
    if (lonely === undefined) return undefined;
    throw new UsageError(`--${lonely} is about an API: add --openapi FILE_OR_URL`);
  }
  if (exchange !== undefined && !http?.authorization?.tokenExchange) {
    throw new UsageError('--openapi-exchange needs --auth-client-id: who exchanges the tokens');
  }
  return {
    document,
    server,
    headers: Object.fromEntries(headers.map((text) => headerOf(text, environment))),
    query: Object.fromEntries(query.map((text) => parameterOf(text, environment))),
    exchange,
    include,
    exclude,
    checkResponses: !isUnchecked,
  };
}

function headerOf(text: string, environment: Environment): [string, string] {
  const [, name, value] = /^([!#$%&'*+.^_`|~\w-]+):\s*(.*)$/s.exec(text) ?? [];
  if (name === undefined || value === undefined) {
    throw new UsageError(
      "--openapi-header is written as 'NAME: VALUE', such as 'Authorization: Bearer ${API_TOKEN}'",
    );
  }
  // A variable that is read from a file often ends with a line feed.
  return [name, filledIn(value, '--openapi-header', environment).trim()];
}

function parameterOf(text: string, environment: Environment): [string, string] {
  const at = text.indexOf('=');
  if (at < 1) {
    throw new UsageError(
      "--openapi-query is written as 'NAME=VALUE', such as 'api_key=${API_KEY}'",
    );
  }
  const value = filledIn(text.slice(at + 1), '--openapi-query', environment);
  return [text.slice(0, at), value.trim()];
}

interface Environment {
  readonly [name: string]: string | undefined;
}

function filledIn(text: string, option: string, environment: Environment): string {
  return text.replaceAll(/\$\{(\w+)\}/g, (_, variable: string) => {
    const found = environment[variable];
    if (found !== undefined) return found;
    throw new UsageError(`${option}: the environment has no variable ${variable}`);
  });
}
