/** A server behind a `node:http` server of its own. */
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

/** Where an endpoint listens, beside what any endpoint has. */
export interface ServeHttpOptions extends Omit<HttpOptions, 'node'> {
  /** 0 for any free port. */
  readonly port: number;
  /** The address or the name to listen on; by default `127.0.0.1`, which only this machine reaches. */
  readonly host?: string;
  /** The path of the endpoint; by default `/mcp`. */
  readonly path?: string;
  /**
   * The names that clients may reach it by, beside those of this machine; `any` if a proxy in front
   * checks it. With authorization any name will do: a page that is led here has no token.
   */
  readonly allowedHosts?: readonly string[] | 'any';
  /** Listens where others can reach it, though everybody who does may use it. */
  readonly insecure?: boolean;
  /**
   * Answers `GET /healthz` while the process works, and `GET /readyz` with 200 until it is told to
   * end, then with 503; or under paths of your own.
   */
  readonly health?: boolean | HealthPaths;
  /**
   * How the other nodes reach this one beside `stores`. Without a `url` it is the address that it listens on or, if it
   * listens on all, the one that it reaches the store from.
   */
  readonly node?: Partial<NodeOptions>;
  /** Bounds of its sockets; what is left out is as in {@link defaultServedConnectionLimits}. */
  readonly connections?: Partial<ServedConnectionLimits>;
}

/** Where the health of the process is asked for. */
export interface HealthPaths {
  /** 200 while the process works. */
  readonly live: string;
  /** 200 until it is told to end, then 503. */
  readonly ready: string;
}

/** A server that is being served over HTTP. */
export interface HttpServing extends AsyncDisposable {
  /** Where the endpoint is. */
  readonly url: URL;
  /** The sessions that are open. */
  readonly sessions: readonly McpSession[];
  /**
   * Ends it: no more sessions begin, calls in flight get the drain time to finish, streams end,
   * then all connections do. Repeating it waits for the same end.
   *
   * @param drainTimeoutMs a shorter drain time than the limit of the sessions, milliseconds
   */
  close(drainTimeoutMs?: number): Promise<void>;
}

/** How long other nodes may take to hear that this one has left, milliseconds. */
const lastForwardsMs = 100;

/** How long answers that have been ended may take to be sent when the server closes. */
const lastWordsMs = 250;

/** @throws {TypeError} an option is wrong; {AddressError} the address is not available */
export async function listenHttp(
  server: ServerFactory,
  options: ServeHttpOptions,
): Promise<HttpServing> {
  const { port, host = '127.0.0.1', path = '/mcp', health = false, connections } = options;
  const { stores, node: given, ...http } = options;
  refuseOpenAddress(host, options);
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
    // Nobody knows this node yet.
    if (stores) await handler.close(0);
    throw error;
  }
  if (stores) known(nodeUrl(serving.url, host, stores));
  return serving;
}

/** Where other nodes reach what listens here. */
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
        // If nothing is sent to a peer that is gone without a word, nobody else notices.
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
    // Until then it listens: who asks whether it is ready, or opens a session, gets an answer.
    await this.#handler.close(drainTimeoutMs);
    // Other nodes were told that this one has left: what is on its way from them is still answered.
    if (this.#isShared) await delay(lastForwardsMs);
    const closed = new Promise((resolve) => this.#http.close(resolve));
    // A connection whose last answer is still on its way is not idle yet.
    const idle = setInterval(() => this.#http.closeIdleConnections(), 10);
    const rest = setTimeout(() => this.#http.closeAllConnections(), lastWordsMs);
    await closed;
    clearInterval(idle);
    clearTimeout(rest);
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    // A client that goes on with a connection would keep the process from ending.
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

/** Anyone who reaches a server without authentication may use it, and what it can reach. */
function refuseOpenAddress(
  host: string,
  { insecure = false, authorization }: ServeHttpOptions,
): void {
  if (insecure || authorization || isLoopback(host)) return;
  throw new TypeError(
    `Others can reach ${host}, and this server asks nobody who they are: listen on 127.0.0.1, give it an authorization, or say that it is meant to be insecure`,
  );
}

/** The names by which clients may reach it, without ports. */
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

/** A host as a URL has it. */
function nameOf(host: string): string {
  return isIP(host) === 6 ? `[${host}]` : host;
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));
}
