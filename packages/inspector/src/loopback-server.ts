/**
 * Single-user HTTP server on the loopback interface. It rejects attacks from other sites in the
 * user's browser: a foreign Host (DNS rebinding), a foreign Origin, and any request without the
 * token in the page's URL.
 */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { listenOn } from 'mcp-actors/internal';

/**
 * Handles an authenticated request. `path` is the part after the token, without a leading slash.
 */
type Handler = (path: string, request: IncomingMessage, response: ServerResponse) => void;

export interface LoopbackServer {
  /** Base URL including the token. */
  readonly url: string;
  /** Closes every connection. Responses already ended get a short grace period to be sent. */
  close(): Promise<void>;
}

/** Connection limits, before and after authentication. */
export interface LoopbackLimits {
  /**
   * Connections that have not presented the token. One more evicts the oldest, so that strangers
   * cannot lock the owner out.
   */
  readonly maxUnauthenticated: number;
  /** Connections that have presented the token. One more is refused. */
  readonly maxAuthenticated: number;
  /** Timeout for a request's headers, counted from the start of the connection, ms. */
  readonly headersTimeoutMs: number;
}

/** Grace period on close for sending responses that have already ended, ms. */
const closeGraceMs = 250;

const defaultLimits: LoopbackLimits = {
  maxUnauthenticated: 32,
  maxAuthenticated: 64,
  headersTimeoutMs: 5000,
};

const address = '127.0.0.1';

/**
 * Other origins may not use, frame or cache anything. The page loads resources only from this
 * server, and text never becomes a script.
 */
const headers = {
  'cache-control': 'no-store',
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; '),
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
};

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();

/**
 * Starts listening on 127.0.0.1.
 *
 * @param port 0 for any free port
 * @throws {Error} if the port is unavailable; `code` is Node's, such as EADDRINUSE
 */
export async function serveLoopback(
  port: number,
  answer: Handler,
  limits: LoopbackLimits = defaultLimits,
): Promise<LoopbackServer> {
  const token = randomBytes(24).toString('base64url');
  const expected = digest(token);
  let hosts: readonly string[] = [];

  /** Returns the path after the token, or the HTTP status of a rejection. */
  const admit = ({ method, url = '/', headers }: IncomingMessage): string | number => {
    const { host = '', origin } = headers;
    if (!hosts.includes(host)) return 421;
    if (origin !== undefined && origin !== `http://${host}`) return 403;
    if (method !== 'GET') return 405;
    const [, given = '', path = ''] = /^\/([^/?]*)\/?([^?]*)/.exec(url) ?? [];
    // Comparing digests takes the same time for inputs of every length.
    return timingSafeEqual(digest(given), expected) ? path : 403;
  };

  const { headersTimeoutMs: headersTimeout } = limits;
  const times = {
    headersTimeout,
    requestTimeout: headersTimeout,
    connectionsCheckingInterval: Math.min(headersTimeout, 1000),
  };
  const connections = new Connections(limits);
  const server = createServer(times, (request, response) => {
    if (!connections.accept(request, response)) return;
    const admitted = admit(request);
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
    if (typeof admitted === 'number') refuseRequest(response, admitted);
    else if (connections.authenticate(request)) answer(admitted, request, response);
    else refuseRequest(response, 503);
  });
  server.on('connection', (socket) => connections.open(socket));
  const chosen = await listenOn(server, port, address);
  hosts = [`${address}:${chosen}`, `localhost:${chosen}`];
  return {
    url: `http://${address}:${chosen}/${token}/`,
    close: () =>
      new Promise((resolve) => {
        const end = setTimeout(() => server.closeAllConnections(), closeGraceMs);
        server.close(() => {
          clearTimeout(end);
          resolve();
        });
        connections.closeUnauthenticated();
      }),
  };
}

/** Open connections, before and after they present the token. */
class Connections {
  readonly #limits: LoopbackLimits;
  /** Oldest first. */
  readonly #unauthenticated = new Set<Socket>();
  readonly #authenticated = new Set<Socket>();
  readonly #last = new WeakMap<Socket, ServerResponse>();

  constructor(limits: LoopbackLimits) {
    this.#limits = limits;
  }

  open(socket: Socket): void {
    this.#unauthenticated.add(socket);
    socket.once('close', () => {
      this.#unauthenticated.delete(socket);
      this.#authenticated.delete(socket);
    });
    if (this.#unauthenticated.size <= this.#limits.maxUnauthenticated) return;
    const [oldest] = this.#unauthenticated;
    oldest?.destroy();
  }

  closeUnauthenticated(): void {
    for (const socket of this.#unauthenticated) socket.destroy();
  }

  /**
   * Accepts a request unless the previous one on its connection is unanswered. Browsers do not
   * pipeline, and behind an endless stream thousands of requests could pile up.
   *
   * @returns false if the connection was closed for pipelining
   */
  accept({ socket }: IncomingMessage, response: ServerResponse): boolean {
    const last = this.#last.get(socket);
    if (last && !last.writableFinished) {
      socket.destroy();
      return false;
    }
    this.#last.set(socket, response);
    return true;
  }

  /**
   * Marks the connection of a request as authenticated.
   *
   * @returns false if too many connections are authenticated already
   */
  authenticate({ socket }: IncomingMessage): boolean {
    if (this.#authenticated.has(socket)) return true;
    if (this.#authenticated.size >= this.#limits.maxAuthenticated) return false;
    this.#unauthenticated.delete(socket);
    this.#authenticated.add(socket);
    return true;
  }
}

const reasons: { readonly [status: number]: string } = {
  403: 'Forbidden: open the complete URL that was printed, including the token\n',
  404: 'Not found\n',
  405: 'Only GET is supported\n',
  503: 'Too many open pages: close one and reload\n',
  421: 'Misdirected: use 127.0.0.1 or localhost as the host name\n',
};

/** Responds with an error status and its explanation, and closes the connection. */
export function refuseRequest(response: ServerResponse, status: number): void {
  const type = { 'content-type': 'text/plain; charset=utf-8' };
  response.writeHead(status, { ...type, connection: 'close' });
  response.end(reasons[status]);
}
