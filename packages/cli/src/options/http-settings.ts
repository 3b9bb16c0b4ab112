/** What the options about HTTP ask for. */
import type { AuthorizationOptions, HttpLimits } from 'mcp-actors/http';
import { quoted } from 'mcp-actors/internal';
import { UsageError } from '../command.ts';
import { flagsOfLimits, httpOptions } from './serve-options.ts';
import type { Values } from './parse-options.ts';

/** How to serve over HTTP. */
export interface HttpSettings {
  readonly port: number;
  /** By default this machine's own. */
  readonly host: string | undefined;
  readonly insecure: boolean;
  readonly health: boolean;
  /** Whether the deprecated HTTP+SSE is served as well. */
  readonly sse: boolean;
  readonly allowedHosts: readonly string[];
  readonly allowedOrigins: readonly string[];
  readonly authorization: AuthorizationOptions | undefined;
  /** Where sessions are shared; undefined if they stay in this process. */
  readonly redis: string | undefined;
  /** Where the other processes reach this one, if that was given. */
  readonly nodeUrl: string | undefined;
  /** Only the limits that were given. */
  readonly limits: Partial<HttpLimits>;
}

type Given = Values<typeof httpOptions> & { readonly chdir: boolean };

/**
 * Reads the options about HTTP; undefined without `--http`.
 *
 * @param limits those of the endpoint that were given
 * @throws {UsageError} one of them is wrong, or means nothing without another one or beside it
 */
export function httpWish(values: Given, limits: Partial<HttpLimits>): HttpSettings | undefined {
  if (values.http === undefined) {
    refuseWithoutHttp(values, limits);
    return undefined;
  }
  if (values.chdir) {
    throw new UsageError('--chdir is about one session, and --http serves many: give one of them');
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

/** An option about HTTP has no effect over stdio, so its author forgot `--http`. */
function refuseWithoutHttp(values: Given, limits: Partial<HttpLimits>): void {
  const isGiven = (value: unknown): boolean =>
    Array.isArray(value) ? value.length > 0 : value !== undefined && value !== false;
  const [option] = Object.keys(httpOptions).filter((name) => isGiven(values[name as keyof Given]));
  const [limit] = Object.keys(limits).map((name) => {
    const [flag] = Object.entries(flagsOfLimits).find(([, each]) => each === `http.${name}`) ?? [];
    return flag ?? `limit http.${name}`;
  });
  const given = option ?? limit;
  if (given === undefined) return;
  throw new UsageError(`--${given} is about HTTP: add --http PORT`);
}

/** `PORT` or `HOST:PORT`; an IPv6 host is in brackets. */
function addressOf(text: string): Pick<HttpSettings, 'port' | 'host'> {
  const [, inBrackets, name, digits] = /^(?:(?:\[([^\]]+)\]|([^:]*)):)?(\d{1,5})$/.exec(text) ?? [];
  const port = Number(digits);
  if (digits !== undefined && port <= 65_535) {
    return { port, host: inBrackets ?? (name || undefined) };
  }
  throw new UsageError(
    `--http: ${JSON.stringify(text)} is not a port, such as 3000, or an address, such as 0.0.0.0:3000 or [::1]:3000`,
  );
}

function nodeUrlOf({ 'node-url': url, redis }: Given): string | undefined {
  if (url === undefined) return undefined;
  if (redis === undefined)
    throw new UsageError('--node-url needs --redis: nobody else asks for it');
  if (URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)) return url;
  throw new UsageError(
    `--node-url must be an http or https URL, such as http://10.0.0.7:3000/mcp, got ${JSON.stringify(url.slice(0, 100))}`,
  );
}

/** A browser sends no more than this of a page's address. */
function originOf(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url !== undefined && url.origin !== 'null' && url.href === `${url.origin}/`)
    return url.origin;
  throw new UsageError(
    `--allow-origin: ${JSON.stringify(text)} is not an origin, such as https://app.example`,
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
      '--auth-issuer needs --auth-audience: the URL of this server in the tokens',
    );
  }
  const other = (scopes.length > 0 && '--auth-scope') || (tokenExchange && '--auth-client-id');
  const left = audience === undefined ? other : '--auth-audience';
  if (left) throw new UsageError(`${left} needs --auth-issuer: whose tokens they are`);
  return undefined;
}

/** The client with which tokens are exchanged. Its secret is not on the command line, which others may read. */
function exchangeOf(values: Given): AuthorizationOptions['tokenExchange'] {
  const { 'auth-client-id': clientId, 'auth-client-secret-env': variable } = values;
  if (clientId === undefined && variable === undefined) return undefined;
  if (clientId === undefined || variable === undefined) {
    throw new UsageError('--auth-client-id and --auth-client-secret-env go together');
  }
  const clientSecret = process.env[variable];
  if (clientSecret) return { clientId, clientSecret };
  throw new UsageError(`--auth-client-secret-env: the variable ${quoted(variable)} is not set`);
}
