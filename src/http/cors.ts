/**
 * What browsers have to be told before a page of another origin may use the endpoint. Only origins
 * that are allowed come as far as this.
 *
 * @see the Fetch standard, "CORS protocol"
 */
import { isOwnLoopbackOrigin } from './checks.ts';
import type { HttpAnswer, HttpExchange } from './http-exchange.ts';
import type { HttpOptions } from './options.ts';

/** What a page may read of an answer: a client needs them. */
const exposed = 'Mcp-Session-Id, MCP-Protocol-Version, Retry-After, WWW-Authenticate';

/** How long a browser need not ask again, seconds; browsers take no more. */
const maxAgeSeconds = 7200;

/** Headers of every answer; undefined if pages of other origins are not served. */
export function corsHeaders(
  exchange: HttpExchange,
  origin: string | undefined,
  options: HttpOptions,
): { readonly [name: string]: string } | undefined {
  if (options.allowedOrigins === undefined) {
    if (origin === undefined || !isOwnLoopbackOrigin(exchange, origin, options)) return undefined;
  }
  if (origin === undefined) return { vary: 'Origin' };
  return {
    vary: 'Origin',
    'access-control-allow-origin': origin,
    'access-control-expose-headers': exposed,
  };
}

/** The answer to a browser's question before it sends a request; undefined if it is none. */
export function preflightAnswer(exchange: HttpExchange): HttpAnswer | undefined {
  const method = exchange.header('access-control-request-method');
  if (exchange.method !== 'OPTIONS' || method === undefined) return undefined;
  // Any header: clients repeat parameters of tools in headers, under names that the tools choose.
  const names = exchange.header('access-control-request-headers')?.split(',') ?? [];
  const known = names
    .map((name) => name.trim())
    .filter((name) => /^[\w!#$%&'*+.^`|~-]+$/.test(name));
  const isPrivate = exchange.header('access-control-request-private-network') === 'true';
  return {
    status: 204,
    headers: {
      vary: 'Origin, Access-Control-Request-Headers, Access-Control-Request-Private-Network',
      'access-control-allow-methods': 'GET, POST, DELETE',
      'access-control-max-age': String(maxAgeSeconds),
      ...(known.length === 0 ? {} : { 'access-control-allow-headers': known.join(', ') }),
      ...(isPrivate ? { 'access-control-allow-private-network': 'true' } : {}),
    },
  };
}
