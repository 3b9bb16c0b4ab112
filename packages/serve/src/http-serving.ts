/** Serves MCP through its own `node:http` server. */
import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { isIP } from 'node:net';
import { hostname, networkInterfaces } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { nodeHandler } from '../../http/src/node/index.ts';
import type { NodeHandler } from '../../http/src/node/index.ts';
import type { HttpOptions, NodeOptions, ServerFactory, Stores } from '../../http/src/index.ts';
import { listenOn } from '../../../src/transports/listen-on.ts';
import { defaultServedConnectionLimits } from './served-connection-limits.ts';
import type { ServedConnectionLimits } from './served-connection-limits.ts';
import type { McpSession } from '../../../src/server/session.ts';

/** Options of an HTTP endpoint with its listening address. */
export interface ServeHttpOptions extends Omit<HttpOptions, 'node'> {
  /** Port; 0 for any free one. */
  readonly port: number;
  /** Address or name to listen on. Default: `127.0.0.1`, reachable only from this machine. */
  readonly host?: string;
  /** Path of the endpoint. Default: `/mcp`. */
  readonly path?: string;
  /**
   * Additional host names by which clients may reach the server; `any` if a proxy checks them. With
   * authorization any name is allowed, because a page misled to this server has no token.
   */
  readonly allowedHosts?: readonly string[] | 'any';
  /** Allows an address reachable from other machines without authorization. */
  readonly insecure?: boolean;
  /**
   * Answers `GET /healthz` with 200 while the process runs, and `GET /readyz` with 200 until
   * shutdown begins, then 503. Paths can be changed.
   */
  readonly health?: boolean | HealthPaths;
  /**
   * Address for other nodes, with `stores`. Default `url`: the listening address or, when listening
   * on all addresses, the one used to reach the store.
   */
  readonly node?: Partial<NodeOptions>;
  /** Limits of its sockets. Default: {@link defaultServedConnectionLimits}. */
  readonly connections?: Partial<ServedConnectionLimits>;
}

/** Paths of the health endpoints. */
export interface HealthPaths {
  /** Path that answers 200 while the process runs. */
  readonly live: string;
  /** Path that answers 200 until shutdown begins, then 503. */
  readonly ready: string;
}

/** A server running over HTTP. */
export interface HttpServing extends AsyncDisposable {
  /** URL of the endpoint. */
  readonly url: URL;
  /** Open sessions. */
  readonly sessions: readonly McpSession[];
  /**
   * Shuts down: rejects new sessions, lets running calls finish within the drain timeout, ends
   * streams, then closes all connections. Repeated calls wait for the same shutdown.
   *
   * @param drainTimeoutMs shorter drain timeout than the sessions' limit, milliseconds
   */
  close(drainTimeoutMs?: number): Promise<void>;
}

/** Time for other nodes to learn that this one has left. */
const lastForwardsMs = 100;

/** Time for finished responses to be sent at shutdown. */
const lastWordsMs = 250;

/**
 * @throws {TypeError} if an option is invalid
 * @throws {AddressError} if the address is unavailable
 */
export async function listenHttp(
  server: ServerFactory,
  options: ServeHttpOptions,
): Promise<HttpServing> {
  const { port, host = '127.0.0.1', path = '/mcp', health = false, connections } = options;
  const { stores, node: given, ...http } = options;
  rejectOpenAddress(host, options);
  const allowedHosts = hostsOf(host, options);
  let known: (url: string | Promise<string>) => void = () => {};
  const own = new Promise<string>((resolve) => {
    known = resolve;
  });
  const shared = stores ? { stores, node: { url: own, ...given } } : {};
  const handler = nodeHandler(server, { ...http, ...shared, path, allowedHosts });
  const serving = new Serving(handler, path, { health: healthPaths(health), connections, stores });
  try {
    await serving.listen(port, host);
  } catch (error) {
    // No other node knows this one yet.
    if (stores) await handler.close(0);
    throw error;
  }
  if (stores) known(nodeUrl(serving.url, host, stores));
  return serving;
}

/** URL at which other nodes reach this server. */
async function nodeUrl(url: URL, host: string, { localAddress }: Stores): Promise<string> {
  if (host !== '::' && host !== '0.0.0.0') return url.href;
  const address = (await localAddress?.()) ?? '127.0.0.1';
  return new URL(`http://${nameOf(address)}:${url.port}${url.pathname}`).href;
}

class Serving implements HttpServing {
  readonly #handler: NodeHandler;
  readonly #path: string;
  readonly #health: HealthPaths | undefined;
  readonly #http: Server;
  readonly #isShared: boolean;
  #url: URL | undefined = undefined;
  #closed: Promise<void> | undefined = undefined;

  constructor(
    handler: NodeHandler,
    path: string,
    {
      health,
      connections,
      stores,
    }: {
      readonly health: HealthPaths | undefined;
      readonly connections: Partial<ServedConnectionLimits> | undefined;
      readonly stores: Stores | undefined;
    },
  ) {
    this.#handler = handler;
    this.#path = path;
    this.#health = health;
    this.#isShared = stores !== undefined;
    const limits = { ...defaultServedConnectionLimits, ...connections };
    this.#http = createServer(
      {
        headersTimeout: limits.headersTimeoutMs,
        requestTimeout: limits.requestTimeoutMs,
        keepAliveTimeout: limits.keepAliveTimeoutMs,
        connectionsCheckingInterval: Math.min(1000, limits.headersTimeoutMs),
        // Only keepalive probes detect a vanished peer on an idle connection.
        keepAlive: true,
        keepAliveInitialDelay: 60_000,
      },
      (request, response) => this.#answer(request, response),
    );
    this.#http.maxConnections = limits.maxConnections;
  }

  get url(): URL {
    if (!this.#url) throw new Error('It does not listen yet');
    return this.#url;
  }

  get sessions(): readonly McpSession[] {
    return this.#handler.sessions;
  }

  async listen(port: number, host: string): Promise<void> {
    const bound = await listenOn(this.#http, port, host);
    this.#url = new URL(`http://${nameOf(host)}:${bound}${this.#path}`);
  }

  close(drainTimeoutMs?: number): Promise<void> {
    return (this.#closed ??= this.#close(drainTimeoutMs));
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(drainTimeoutMs: number | undefined): Promise<void> {
    // Keep listening until then, so that readiness checks and new sessions get an answer.
    await this.#handler.close(drainTimeoutMs);
    // Requests from other nodes may still be on their way.
    if (this.#isShared) await delay(lastForwardsMs);
    const closed = new Promise((resolve) => this.#http.close(resolve));
    // Connections become idle only after their last response is sent.
    const idle = setInterval(() => this.#http.closeIdleConnections(), 10);
    const rest = setTimeout(() => this.#http.closeAllConnections(), lastWordsMs);
    await closed;
    clearInterval(idle);
    clearTimeout(rest);
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    // Otherwise keep-alive clients would delay the exit.
    if (this.#closed) response.setHeader('connection', 'close');
    const { live, ready } = this.#health ?? {};
    const [path] = (request.url ?? '').split('?', 1);
    if (path !== undefined && (path === live || path === ready)) {
      const isUp = path === live || this.#closed === undefined;
      return answerHealth(request, response, isUp);
    }
    this.#handler(request, response);
  }
}

function answerHealth(request: IncomingMessage, response: ServerResponse, isUp: boolean): void {
  const isAsked = request.method === 'GET' || request.method === 'HEAD';
  const [status, text] = !isAsked ? [405, 'GET'] : isUp ? [200, 'ok'] : [503, 'closing'];
  const headers = { 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-store' };
  response.writeHead(status, isAsked ? headers : { ...headers, allow: 'GET, HEAD' });
  response.end(`${text}\n`);
}

function healthPaths(health: boolean | HealthPaths): HealthPaths | undefined {
  if (typeof health === 'object') return health;
  return health ? { live: '/healthz', ready: '/readyz' } : undefined;
}

/**
 * Rejects an address reachable from other machines without authorization, because everyone could
 * use the server.
 */
function rejectOpenAddress(
  host: string,
  { insecure = false, authorization }: ServeHttpOptions,
): void {
  if (insecure || authorization || isLoopback(host)) return;
  throw new TypeError(
    `${host} is reachable from other machines and this server has no authorization: listen on 127.0.0.1, set \`authorization\`, or set \`insecure: true\``,
  );
}

/** Host names by which clients may reach the server, without ports. */
function hostsOf(
  host: string,
  { allowedHosts, authorization }: ServeHttpOptions,
): readonly string[] | 'any' {
  if (allowedHosts === 'any' || (authorization && !allowedHosts)) return 'any';
  const names = ['localhost', '127.0.0.1', '[::1]', nameOf(host)];
  if (!isLoopback(host)) {
    const addresses = Object.values(networkInterfaces()).flatMap((each) => each ?? []);
    names.push(hostname(), ...addresses.map(({ address }) => nameOf(address)));
  }
  return [...names, ...(allowedHosts ?? [])].map((name) => name.toLowerCase());
}

/** Formats a host for a URL. */
function nameOf(host: string): string {
  return isIP(host) === 6 ? `[${host}]` : host;
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));
}
