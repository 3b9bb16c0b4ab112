/**
 * An HTTP server for one person on this machine. It refuses what another site could try from that
 * person's browser: a foreign Host (a name rebound to this address), a foreign Origin, and any
 * request without the token, which only the page's own address contains.
 */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { listenOn } from 'mcp-actors/internal';

/** Answers a request that was admitted. `path` follows the token, without a leading slash. */
type Answer = (path: string, request: IncomingMessage, response: ServerResponse) => void;

export interface LoopbackServer {
  /** The address, with the token. */
  readonly url: string;
  /** Ends every connection; those that wait for the end of their answer a little later. */
  close(): Promise<void>;
}

/** How many connections may be open, without the token and with it. */
export interface LoopbackLimits {
  /**
   * Connections that have not shown the token. One more closes the oldest of them, so that
   * strangers cannot lock the owner out.
   */
  readonly maxStrangers: number;
  /** Connections that have shown the token. One more is refused. */
  readonly maxGuests: number;
  /** How long a request's headers may take, from the connection's start, milliseconds. */
  readonly headersTimeoutMs: number;
}

/** How long an answer that has been ended may take to be sent when the server closes. */
const lastWordsMs = 250;

const defaultLimits: LoopbackLimits = { maxStrangers: 32, maxGuests: 64, headersTimeoutMs: 5000 };

const address = '127.0.0.1';

/**
 * No other origin may use, frame or cache anything. The page loads only from here, and no text
 * becomes a script.
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
 * Listens on 127.0.0.1.
 *
 * @param port 0 for any free port
 * @throws {Error} the port is not available; its `code` is Node's own, such as EADDRINUSE
 */
export async function serveLoopback(
  port: number,
  answer: Answer,
  limits: LoopbackLimits = defaultLimits,
): Promise<LoopbackServer> {
  const token = randomBytes(24).toString('base64url');
  const expected = digest(token);
  let hosts: readonly string[] = [];

  /** Returns the path after the token, or the status of a refusal. */
  const admit = ({ method, url = '/', headers }: IncomingMessage): string | number => {
    const { host = '', origin } = headers;
    if (!hosts.includes(host)) return 421;
    if (origin !== undefined && origin !== `http://${host}`) return 403;
    if (method !== 'GET') return 405;
    const [, given = '', path = ''] = /^\/([^/?]*)\/?([^?]*)/.exec(url) ?? [];
    // Compare digests, so that every text takes the same time, whatever its length.
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
    if (!connections.take(request, response)) return;
    const admitted = admit(request);
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
    if (typeof admitted === 'number') refuseRequest(response, admitted);
    else if (connections.welcome(request)) answer(admitted, request, response);
    else refuseRequest(response, 503);
  });
  server.on('connection', (socket) => connections.open(socket));
  const chosen = await listenOn(server, port, address);
  hosts = [`${address}:${chosen}`, `localhost:${chosen}`];
  return {
    url: `http://${address}:${chosen}/${token}/`,
    close: () =>
      new Promise((resolve) => {
        const end = setTimeout(() => server.closeAllConnections(), lastWordsMs);
        server.close(() => {
          clearTimeout(end);
          resolve();
        });
        connections.closeStrangers();
      }),
  };
}

/** The open connections: strangers have not shown the token, guests have. */
class Connections {
  readonly #limits: LoopbackLimits;
  /** Oldest first. */
  readonly #strangers = new Set<Socket>();
  readonly #guests = new Set<Socket>();
  readonly #last = new WeakMap<Socket, ServerResponse>();

  constructor(limits: LoopbackLimits) {
    this.#limits = limits;
  }

  open(socket: Socket): void {
    this.#strangers.add(socket);
    socket.once('close', () => {
      this.#strangers.delete(socket);
      this.#guests.delete(socket);
    });
    if (this.#strangers.size <= this.#limits.maxStrangers) return;
    const [oldest] = this.#strangers;
    oldest?.destroy();
  }

  closeStrangers(): void {
    for (const socket of this.#strangers) socket.destroy();
  }

  /**
   * Takes one request at a time from each connection. No browser sends the next one before the last
   * is answered; behind a stream, which never ends, thousands could wait.
   *
   * @returns false if the connection was closed because it sent another one
   */
  take({ socket }: IncomingMessage, response: ServerResponse): boolean {
    const last = this.#last.get(socket);
    if (last && !last.writableFinished) {
      socket.destroy();
      return false;
    }
    this.#last.set(socket, response);
    return true;
  }

  /**
   * Makes the connection of a request with the token a guest.
   *
   * @returns false if there are too many guests already
   */
  welcome({ socket }: IncomingMessage): boolean {
    if (this.#guests.has(socket)) return true;
    if (this.#guests.size >= this.#limits.maxGuests) return false;
    this.#strangers.delete(socket);
    this.#guests.add(socket);
    return true;
  }
}

const reasons: { readonly [status: number]: string } = {
  403: 'Forbidden: open the whole address that was printed, with its token\n',
  404: 'Not found\n',
  405: 'Only GET is answered\n',
  503: 'Too many connections look already: close a page\n',
  421: 'Misdirected: this server answers to 127.0.0.1 and localhost alone\n',
};

/** Answers with a status and its reason, and closes the connection. */
export function refuseRequest(response: ServerResponse, status: number): void {
  const type = { 'content-type': 'text/plain; charset=utf-8' };
  response.writeHead(status, { ...type, connection: 'close' });
  response.end(reasons[status]);
}
