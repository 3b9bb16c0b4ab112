/**
 * What is wrong with a request before anything of it is read.
 *
 * @see MCP 2025-11-25, basic/transports, "Security Warning"
 */
import { addressParty } from '../../../src/protocol/address-party.ts';
import { inspectValue } from '../../../src/protocol/classify.ts';
import { ErrorCode, errorResponse, textOfError } from '../../../src/protocol/errors.ts';
import type { InboundRequestId, WireError } from '../../../src/protocol/frames.ts';
import type { HttpReport } from './facts.ts';
import type { HttpAnswer, HttpExchange, RequestHead } from './http-exchange.ts';
import type { HttpOptions } from './options.ts';

/**
 * An answer that is a JSON-RPC error.
 * @param id of the request that it answers; undefined if it answers none, or the id cannot be read
 */
export function errorAnswer(error: WireError, id?: InboundRequestId, status = 400): HttpAnswer {
  const headers = { 'content-type': 'application/json' };
  return { status, headers, body: JSON.stringify(errorResponse(id, error)) };
}

/**
 * An answer that says what was wrong, as a JSON-RPC error without an id: whatever the status, a
 * client of the protocol can read it.
 *
 * @see MCP 2025-11-25, basic/transports, "Sending Messages to the Server"
 */
export function httpError(
  status: number,
  message: string,
  headers?: HttpAnswer['headers'],
): HttpAnswer {
  const isOurs = status >= 500 && status !== 501;
  const code = isOurs ? ErrorCode.serverUnavailable : ErrorCode.invalidRequest;
  const answer = errorAnswer({ code, message }, undefined, status);
  return { ...answer, headers: { ...headers, ...answer.headers } };
}

/** The answer to a POST whose response cannot be read. @param why what is wrong with it */
export function malformedResponse(why: string): HttpAnswer {
  return httpError(400, `The response is malformed: ${why}`);
}

/** Reports that the host's code failed to make a server, and answers the request that needed it. */
export function answerFailure(
  exchange: HttpExchange,
  {
    error,
    needed,
    report,
  }: {
    readonly error: unknown;
    readonly needed: 'session' | 'request';
    readonly report: HttpReport;
  },
): void {
  const message = `No server was made for a ${needed}: ${textOfError(error)}`;
  report({ level: 'error', name: 'server.failed', message, details: { error } });
  exchange.answer(httpError(500, `No server could be made for this ${needed}`));
}

/** Another node may take the request, and so may this one after its restart. */
export const closing = httpError(503, 'The server is closing; try again', { 'retry-after': '1' });

/** Refuses what another site could try from a browser: a name rebound to this address. */
export function rejectOrigin(exchange: HttpExchange, options: HttpOptions): HttpAnswer | undefined {
  const { allowedHosts = loopbackNames, allowedOrigins = [] } = options;
  const { host, origin } = exchange.head;
  // No host has a comma: these are several.
  if (host?.includes(',')) {
    return httpError(400, 'The header Host was sent more than once');
  }
  if (allowedHosts !== 'any') {
    if (host === undefined) {
      return httpError(403, 'The header Host is missing, and has to name this server');
    }
    if (!allowsHost(allowedHosts, host)) {
      return httpError(403, `The host ${inspectValue(host)} is not one of this server's`);
    }
  }
  if (origin === undefined || allowsOrigin(allowedOrigins, origin)) return undefined;
  if (host !== undefined && (origin === `http://${host}` || origin === `https://${host}`)) {
    return undefined;
  }
  if (isOwnLoopbackOrigin(exchange, origin, options)) return undefined;
  return httpError(403, `The origin ${inspectValue(origin)} is not allowed here`);
}

/** Allowed with any port. */
const loopbackNames: readonly string[] = ['localhost', '127.0.0.1', '[::1]'];

/**
 * Whether a page comes from this endpoint's own port under another name of loopback: to a browser
 * `http://localhost:3000` and `http://127.0.0.1:3000` are two origins. Only of an endpoint that serves
 * this machine: behind other names such a page would be the visitor's.
 */
function isOwnLoopbackOrigin(
  exchange: HttpExchange,
  origin: string,
  { allowedHosts = loopbackNames }: HttpOptions,
): boolean {
  const isLocal =
    exchange.remoteAddress === '::1' || addressParty(exchange.remoteAddress).startsWith('127.');
  const isServedHere =
    allowedHosts === 'any' || allowedHosts.every((name) => loopbackNames.includes(name));
  if (!isLocal || !isServedHere) return false;
  const [, authority = ''] = /^https?:\/\/([^/]+)$/.exec(origin) ?? [];
  const { host = '' } = exchange.head;
  const [own, theirs] = [host, authority].map(loopbackPort);
  return own !== undefined && own === theirs && host !== authority;
}

/** The port of a host of loopback, empty for the scheme's own; undefined for any other host. */
function loopbackPort(host: string): string | undefined {
  const port = /:\d+$/.exec(host)?.[0] ?? '';
  const name = host.slice(0, host.length - port.length).toLowerCase();
  return loopbackNames.includes(name) ? port : undefined;
}

/** The host that was allowed last: most requests name the same one. */
let lastAllowed: { readonly host: string; readonly by: readonly string[] } | undefined = undefined;

function allowsHost(allowed: readonly string[], host: string): boolean {
  if (lastAllowed?.host === host && lastAllowed.by === allowed) return true;
  const name = host.toLowerCase();
  const isAllowed = allowed.includes(name) || allowed.includes(name.replace(/:\d+$/, ''));
  if (isAllowed) lastAllowed = { host, by: allowed };
  return isAllowed;
}

/** Whether a page of this origin may use the endpoint. */
function allowsOrigin(
  allowed: NonNullable<HttpOptions['allowedOrigins']>,
  origin: string,
): boolean {
  return allowed === 'any' || allowed.includes(origin);
}

/**
 * True if an `Accept` header takes the type; without one everything is taken. Of its ranges the most
 * specific one counts.
 *
 * @see RFC 9110, 12.5.1
 */
export function accepts(accept: string | undefined, type: string): boolean {
  if (accept === undefined) return true;
  const [kind] = type.split('/');
  const ranges = new Map(
    accept.split(',').map((part) => {
      const [range = '', ...params] = part.toLowerCase().split(';');
      const isRefused = params.some((param) => /^\s*q=0(\.0*)?\s*$/.test(param));
      return [range.trim(), isRefused ? 'refused' : 'taken'] as const;
    }),
  );
  const range = [type, `${kind}/*`, '*/*'].find((each) => ranges.has(each));
  return range !== undefined && ranges.get(range) === 'taken';
}

/** The headers that were fit last: a client sends the same ones with each of its messages. */
let lastFit: {
  readonly types: readonly string[];
  readonly contentType: string | undefined;
  readonly encoding: string | undefined;
  readonly accept: string | undefined;
} = { types: [], contentType: undefined, encoding: undefined, accept: undefined };

/** What is wrong with the headers of a POST. @param types what its client has to take */
export function checkHeaders(
  { contentType, contentEncoding: encoding, accept }: RequestHead,
  types: readonly string[],
): HttpAnswer | undefined {
  if (
    types === lastFit.types &&
    contentType === lastFit.contentType &&
    encoding === lastFit.encoding &&
    accept === lastFit.accept
  ) {
    return undefined;
  }
  const [mediaType = ''] = contentType?.split(';') ?? [];
  if (mediaType.trim().toLowerCase() !== 'application/json') {
    return httpError(
      415,
      `The Content-Type must be application/json, this is ${inspectValue(contentType)}`,
    );
  }
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') {
    return httpError(415, `The Content-Encoding ${inspectValue(encoding)} is not supported`);
  }
  if (!types.every((type) => accepts(accept, type))) {
    return httpError(
      406,
      `Accept must have ${types.join(' and ')}, this is ${inspectValue(accept)}`,
    );
  }
  lastFit = { types, contentType, encoding, accept };
  return undefined;
}

/** What a page may read of an answer: a client needs them. */
const exposed = 'Mcp-Session-Id, MCP-Protocol-Version, Retry-After, WWW-Authenticate';

/** How long a browser need not ask again, seconds; browsers take no more. */
const maxAgeSeconds = 7200;

/** Headers of every answer; undefined if pages of other origins are not served. */
export function corsHeaders(
  exchange: HttpExchange,
  options: HttpOptions,
): { readonly [name: string]: string } | undefined {
  const { origin } = exchange.head;
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

/** The answer to what a browser asks before it sends a request; undefined for other requests. */
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
