/** What the options about HTTP ask for. */
import type { AuthorizationOptions, HttpLimits } from '../../http/index.ts';
import { UsageError } from '../command.ts';
import { httpLimitOptions, httpOptions } from './http-options.ts';
import type { Values } from './parse-options.ts';

/** How to serve over HTTP. */
export interface HttpWish {
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
  /** Where sessions are shared; undefined if they are this process's alone. */
  readonly redis: string | undefined;
  /** Only the limits that were given. */
  readonly limits: Partial<HttpLimits>;
}

type Given = Values<typeof httpOptions> & { readonly chdir: boolean };

/**
 * Reads the options about HTTP; undefined without `--http`.
 *
 * @throws {UsageError} one of them is wrong, or means nothing without another one or beside it
 */
export function httpWish(values: Given): HttpWish | undefined {
  const limits = limitsIn(values);
  if (values.http === undefined) {
    refuseWithoutHttp(values);
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
    allowedHosts: values['allow-host'],
    allowedOrigins: values['allow-origin'].map(originOf),
    authorization: authorizationOf(values),
    limits,
  };
}

/** Nobody gives such an option for nothing. */
function refuseWithoutHttp(values: Given): void {
  const names = [...Object.keys(httpOptions), ...Object.keys(httpLimitOptions)];
  const given = names.find((name) => {
    const value: unknown = values[name as keyof Given];
    return value !== undefined && value !== false && !(Array.isArray(value) && value.length === 0);
  });
  if (given === undefined) return;
  throw new UsageError(`--${given} is about HTTP: add --http PORT`);
}

/** `PORT` or `HOST:PORT`; a host of IPv6 stands in brackets. */
function addressOf(text: string): Pick<HttpWish, 'port' | 'host'> {
  const [, inBrackets, name, digits] = /^(?:(?:\[([^\]]+)\]|([^:]*)):)?(\d{1,5})$/.exec(text) ?? [];
  const port = Number(digits);
  if (digits !== undefined && port <= 65_535) {
    return { port, host: inBrackets ?? (name || undefined) };
  }
  throw new UsageError(
    `--http: ${JSON.stringify(text)} is not a port, such as 3000, or an address, such as 0.0.0.0:3000 or [::1]:3000`,
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
  if (issuer !== undefined && audience !== undefined) {
    return { issuer, audience, requiredScopes: scopes };
  }
  if (issuer !== undefined) {
    throw new UsageError(
      '--auth-issuer needs --auth-audience: the URL of this server in the tokens',
    );
  }
  const left = audience === undefined ? scopes.length > 0 && '--auth-scope' : '--auth-audience';
  if (left) throw new UsageError(`${left} needs --auth-issuer: whose tokens they are`);
  return undefined;
}

function limitsIn(values: { readonly [name: string]: unknown }): Partial<HttpLimits> {
  const limits: { -readonly [K in keyof HttpLimits]?: number } = {};
  for (const [name, { httpLimit }] of Object.entries(httpLimitOptions)) {
    const value = values[name];
    if (typeof value === 'number') limits[httpLimit] = value;
  }
  return limits;
}
