/** What the options about OpenAPI ask for. */
import { UsageError } from '../command.ts';
import type { HttpWish } from './http-wish.ts';
import type { Values } from './parse-options.ts';
import type { options } from './serve-options.ts';

/** Which operations to serve. */
export interface OpenApiWish {
  /** A file or a URL. */
  readonly document: string;
  readonly server: string | undefined;
  /** Of each request to the API. */
  readonly headers: { readonly [name: string]: string };
  /** The name of the API at the issuer of the callers' tokens, if these are exchanged for it. */
  readonly exchange: string | undefined;
  readonly include: readonly string[];
  readonly exclude: readonly string[];
}

/**
 * Reads the options about OpenAPI; undefined without `--openapi`.
 *
 * @param http how the server is reached: tokens come over HTTP only
 * @throws {UsageError} one of them is wrong, or means nothing without another one
 */
export function openApiWish(
  values: Values<typeof options>,
  environment: { readonly [name: string]: string | undefined },
  http: HttpWish | undefined,
): OpenApiWish | undefined {
  const {
    openapi: document,
    'openapi-server': server,
    'openapi-header': headers,
    'openapi-exchange': exchange,
    'openapi-include': include,
    'openapi-exclude': exclude,
  } = values;
  if (document === undefined) {
    const others = {
      'openapi-server': server,
      'openapi-header': headers[0],
      'openapi-exchange': exchange,
    };
    const all = { ...others, 'openapi-include': include[0], 'openapi-exclude': exclude[0] };
    const [lonely] = Object.entries(all).find(([, value]) => value !== undefined) ?? [];
    if (lonely === undefined) return undefined;
    throw new UsageError(`--${lonely} is about an API: add --openapi FILE_OR_URL`);
  }
  if (exchange !== undefined && !http?.authorization?.tokenExchange) {
    throw new UsageError('--openapi-exchange needs --auth-client-id: who exchanges the tokens');
  }
  const entries = headers.map((header) => headerOf(header, environment));
  return { document, server, headers: Object.fromEntries(entries), exchange, include, exclude };
}

function headerOf(
  text: string,
  environment: { readonly [name: string]: string | undefined },
): [string, string] {
  const [, name, value] = /^([!#$%&'*+.^_`|~\w-]+):\s*(.*)$/.exec(text) ?? [];
  if (name === undefined || value === undefined) {
    throw new UsageError(
      "--openapi-header is written as 'NAME: VALUE', such as 'Authorization: Bearer ${API_TOKEN}'",
    );
  }
  const filled = value.replaceAll(/\$\{(\w+)\}/g, (_, variable: string) => {
    const found = environment[variable];
    if (found !== undefined) return found;
    throw new UsageError(`--openapi-header: the environment has no variable ${variable}`);
  });
  return [name, filled];
}
