/** Settings from the OpenAPI options. */
import { UsageError } from '../command.ts';
import type { HttpSettings } from './http-settings.ts';
import type { Values } from './parse-options.ts';
import type { options } from './serve-options.ts';

/** Settings for serving an OpenAPI document. */
export interface OpenApiSettings {
  /** File or URL of the document. */
  readonly document: string;
  readonly server: string | undefined;
  /** Headers of each request to the API. */
  readonly headers: { readonly [name: string]: string };
  /** Query parameters of each request to the API. */
  readonly query: { readonly [name: string]: string };
  /** Audience of the API at the issuer, if callers' tokens are exchanged. */
  readonly exchange: string | undefined;
  readonly include: readonly string[];
  readonly exclude: readonly string[];
  /** False to pass on responses that violate their schema. */
  readonly checkResponses: boolean;
}

/**
 * Reads the OpenAPI options; undefined without `--openapi`.
 *
 * @param http HTTP settings, needed for token exchange
 * @throws {UsageError} if an option is invalid or lacks one that it needs
 */
export function readOpenApiSettings(
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
    throw new UsageError(`--${lonely} needs --openapi FILE_OR_URL`);
  }
  if (exchange !== undefined && !http?.authorization?.tokenExchange) {
    throw new UsageError(
      '--openapi-exchange needs --auth-client-id, the client that exchanges the tokens',
    );
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
      "--openapi-header must be 'NAME: VALUE', such as 'Authorization: Bearer ${API_TOKEN}'",
    );
  }
  // Variables read from files often end with a line feed.
  return [name, filledIn(value, '--openapi-header', environment).trim()];
}

function parameterOf(text: string, environment: Environment): [string, string] {
  const at = text.indexOf('=');
  if (at < 1) {
    throw new UsageError("--openapi-query must be 'NAME=VALUE', such as 'api_key=${API_KEY}'");
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
    throw new UsageError(`${option}: the environment variable ${variable} is not set`);
  });
}
