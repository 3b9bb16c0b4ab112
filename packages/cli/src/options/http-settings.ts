/** Settings from the HTTP options. */
import type { AuthorizationOptions, HttpLimits } from 'mcp-actors/http';
import { quoted } from 'mcp-actors/internal';
import { UsageError } from '../command.ts';
import { flagsOfLimits, httpOptions } from './serve-options.ts';
import type { Values } from './parse-options.ts';

/** Settings for serving over HTTP. */
export interface HttpSettings {
  readonly port: number;
  /** Default: 127.0.0.1. */
  readonly host: string | undefined;
  readonly insecure: boolean;
  readonly health: boolean;
  /** True to serve the deprecated HTTP+SSE transport, too. */
  readonly sse: boolean;
  readonly allowedHosts: readonly string[];
  readonly allowedOrigins: readonly string[];
  readonly authorization: AuthorizationOptions | undefined;
  /** Redis URL for sharing sessions; undefined to keep them in this process. */
  readonly redis: string | undefined;
  /** URL at which other nodes reach this one, if given. */
  readonly nodeUrl: string | undefined;
  /** Explicitly set limits. */
  readonly limits: Partial<HttpLimits>;
}

type Given = Values<typeof httpOptions> & { readonly chdir: boolean };

/**
 * Reads the HTTP options; undefined without `--http`.
 *
 * @param limits explicitly set limits of the endpoint
 * @throws {UsageError} if an option is invalid, lacks one that it needs, or conflicts with another
 */
export function readHttpSettings(
  values: Given,
  limits: Partial<HttpLimits>,
): HttpSettings | undefined {
  if (values.http === undefined) {
    rejectWithoutHttp(values, limits);
    return undefined;
  }
  if (values.chdir) {
    throw new UsageError('--chdir must not be combined with --http, which serves many sessions');
  }
  return {
    ...addressOf(values.http),
    insecure: values.insecure,
    health: values.health,
    sse: values.sse,
    redis: values.redis,
    nodeUrl: nodeUrlOf(values),
    allowedHosts: values['allow-host'],
    allowedOrigins: values['allow-origin'].map(originOf),
    authorization: authorizationOf(values),
    limits,
  };
}

/** Rejects HTTP options without `--http`, because they would have no effect. */
function rejectWithoutHttp(values: Given, limits: Partial<HttpLimits>): void {
  const isGiven = (value: unknown): boolean =>
    Array.isArray(value) ? value.length > 0 : value !== undefined && value !== false;
  const [option] = Object.keys(httpOptions).filter((name) => isGiven(values[name as keyof Given]));
  const [limit] = Object.keys(limits).map((name) => {
    const [flag] = Object.entries(flagsOfLimits).find(([, each]) => each === `http.${name}`) ?? [];
    return flag ?? `limit http.${name}`;
  });
  const given = option ?? limit;
  if (given === undefined) return;
  throw new UsageError(`--${given} needs --http PORT`);
}

/** `PORT` or `HOST:PORT`; an IPv6 host is in brackets. */
function addressOf(text: string): Pick<HttpSettings, 'port' | 'host'> {
  const [, inBrackets, name, digits] = /^(?:(?:\[([^\]]+)\]|([^:]*)):)?(\d{1,5})$/.exec(text) ?? [];
  const port = Number(digits);
  if (digits !== undefined && port <= 65_535) {
    return { port, host: inBrackets ?? (name || undefined) };
  }
  throw new UsageError(
    `--http must be a port such as 3000 or an address such as 0.0.0.0:3000 or [::1]:3000, got ${JSON.stringify(text)}`,
  );
}

function nodeUrlOf({ 'node-url': url, redis }: Given): string | undefined {
  if (url === undefined) return undefined;
  if (redis === undefined) throw new UsageError('--node-url needs --redis');
  if (URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)) return url;
  throw new UsageError(
    `--node-url must be an http or https URL, such as http://10.0.0.7:3000/mcp, got ${JSON.stringify(url.slice(0, 100))}`,
  );
}

/** Parses an origin, the part of a page's URL that browsers send. */
function originOf(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url !== undefined && url.origin !== 'null' && url.href === `${url.origin}/`)
    return url.origin;
  throw new UsageError(
    `--allow-origin must be an origin such as https://app.example, got ${JSON.stringify(text)}`,
  );
}

function authorizationOf(values: Given): AuthorizationOptions | undefined {
  const { 'auth-issuer': issuer, 'auth-audience': audience, 'auth-scope': scopes } = values;
  const tokenExchange = exchangeOf(values);
  if (issuer !== undefined && audience !== undefined) {
    const checked = { issuer, audience, requiredScopes: scopes };
    return tokenExchange ? { ...checked, tokenExchange } : checked;
  }
  if (issuer !== undefined) {
    throw new UsageError(
      '--auth-issuer needs --auth-audience, the URL of this server in the tokens',
    );
  }
  const other = (scopes.length > 0 && '--auth-scope') || (tokenExchange && '--auth-client-id');
  const left = audience === undefined ? other : '--auth-audience';
  if (left) throw new UsageError(`${left} needs --auth-issuer, the issuer of the tokens`);
  return undefined;
}

/**
 * Client for token exchange. Its secret comes from the environment, because other users can read
 * command lines.
 */
function exchangeOf(values: Given): AuthorizationOptions['tokenExchange'] {
  const { 'auth-client-id': clientId, 'auth-client-secret-env': variable } = values;
  if (clientId === undefined && variable === undefined) return undefined;
  if (clientId === undefined || variable === undefined) {
    throw new UsageError('--auth-client-id and --auth-client-secret-env must be used together');
  }
  const clientSecret = process.env[variable];
  if (clientSecret) return { clientId, clientSecret };
  throw new UsageError(`--auth-client-secret-env: the variable ${quoted(variable)} is not set`);
}
