/**
 * An HTTP server for one person on this machine. What a page of somebody else's could try from a browser is refused: another Host is
 * how a name is rebound to this address, another Origin is who asks, and the token is what only those know who were given the address.
 */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';

/** Answers a request that may be answered. `path` is what follows the token, without a slash before it. */
type Answer = (path: string, request: IncomingMessage, response: ServerResponse) => void;

export interface LoopbackServer {
  /** With the token. */
  readonly url: string;
  /** Ends every connection. */
  close(): Promise<void>;
}

/** What anybody on this machine may take before they show the token, and what those with the token may. */
export interface LoopbackLimits {
  /** Connections that have not shown the token. One more closes the oldest of them, so that nobody can hold the door against its owner. */
  readonly maxStrangers: number;
  /** Connections that have shown it. One more is refused. */
  readonly maxGuests: number;
  /** How long the headers of a request may take from its connection's begin, milliseconds. */
  readonly headersTimeoutMs: number;
}

const defaultLimits: LoopbackLimits = { maxStrangers: 32, maxGuests: 64, headersTimeoutMs: 5000 };

const address = '127.0.0.1';

/** No other origin may use, frame or keep anything; nothing is loaded but from here, and no text becomes a script. */
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
 * @param port 0 for one that is free
 * @throws {Error} Node's own, with `code` EADDRINUSE or EACCES, where the port cannot be had
 */
export async function serveLoopback(
  port: number,
  answer: Answer,
  limits: LoopbackLimits = defaultLimits,
): Promise<LoopbackServer> {
  const token = randomBytes(24).toString('base64url');
  const expected = digest(token);
  let hosts: readonly string[] = [];

  /** The path behind the token; a number is the status of a refusal. */
  const admit = ({ method, url = '/', headers }: IncomingMessage): string | number => {
    const { host = '', origin } = headers;
    if (!hosts.includes(host)) return 421;
    if (origin !== undefined && origin !== `http://${host}`) return 403;
    if (method !== 'GET') return 405;
    const [, given = '', path = ''] = /^\/([^/?]*)\/?([^?]*)/.exec(url) ?? [];
    // By digest, so that the comparison takes the same time for every text and length.
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
    if (typeof admitted === 'number') refuse(response, admitted);
    else if (connections.welcome(request)) answer(admitted, request, response);
    else refuse(response, 503);
  });
  server.on('connection', (socket) => connections.open(socket));
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, address, resolve);
  });
  const { port: chosen } = server.address() as AddressInfo;
  hosts = [`${address}:${chosen}`, `localhost:${chosen}`];
  return {
    url: `http://${address}:${chosen}/${token}/`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** Who is connected, told apart by whether they have shown the token. */
class Connections {
  readonly #limits: LoopbackLimits;
  /** The oldest first. */
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

  /**
   * Takes one request at a time of each connection. No browser sends one before the last is answered, and behind a stream, which never ends, thousands could wait.
   *
   * @returns false if the connection has been closed for it
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
   * The request has shown the token.
   *
   * @returns false if too many others have
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
export function refuse(response: ServerResponse, status: number): void {
  const type = { 'content-type': 'text/plain; charset=utf-8' };
  response.writeHead(status, { ...type, connection: 'close' });
  response.end(reasons[status]);
}
