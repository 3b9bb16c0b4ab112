/**
 * Connections to other nodes: keep-alive, with backpressure, and probes of nodes with open
 * requests. Reports what happens to each request; its owner decides what to do.
 */
import type { Agent as HttpAgent, ClientRequest, IncomingMessage } from 'node:http';
import type { Agent as HttpsAgent } from 'node:https';
import { forwardHeader } from '../nodes/forwarding-protocol.ts';

// No static import, because web bundles include this module and cannot resolve Node's.
const http = process.getBuiltinModule('node:http');
const https = process.getBuiltinModule('node:https');

/** Head of a node's response. */
export interface PeerResponse {
  readonly status: number;
  /** Pairs of name and value; names in lower case. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** Outcome reported by a node of the cluster; undefined if something else answered. */
  readonly outcome: string | undefined;
}

/** Callbacks of a forwarded request. */
export interface PeerListener {
  /** The connection failed before anything was sent. */
  unreachable(why: Error): void;
  responded(response: PeerResponse): void;
  data(chunk: Uint8Array): void;
  ended(): void;
  /** The connection broke after the request was sent, or the node stopped responding. */
  broken(why: Error): void;
}

/** A request sent to another node. */
export interface PeerRequest {
  pause(): void;
  resume(): void;
  /** Aborts the request. The listener is not called again. */
  abort(): void;
}

/** A request to another node. */
export interface OutgoingRequest {
  readonly url: string;
  readonly method: string;
  readonly headers: { readonly [name: string]: string };
  readonly body: string;
}

/** Connection timeout, milliseconds. */
const connectTimeoutMs = 700;

/** Idle timeout of a connection, milliseconds: shorter than that of any server (Node: 5 s). */
const idleTimeoutMs = 4000;

/** Silence after which a node is probed, and after which its requests fail, milliseconds. */
const probeAfterMs = 2000;
const silentAfterMs = 6000;

/** Address of a node. */
interface Target {
  readonly isSecure: boolean;
  readonly host: string;
  readonly port: string;
  readonly path: string;
}

/** A node with open requests. */
interface Peer {
  readonly url: string;
  readonly target: Target;
  readonly probe: () => OutgoingRequest;
  readonly requests: Set<SentRequest>;
  /** Time of its last response, monotonic ms. */
  lastAliveAt: number;
  timer: NodeJS.Timeout | undefined;
}

export class PeerClient {
  readonly #http: HttpAgent;
  readonly #https: HttpsAgent;
  readonly #peers = new Map<string, Peer>();

  /** @param ca CA certificates for nodes over HTTPS, replacing Node's defaults */
  constructor(ca?: string | readonly string[]) {
    const options = { keepAlive: true, timeout: idleTimeoutMs, maxFreeSockets: 64 };
    this.#http = new http.Agent(options);
    this.#https = new https.Agent({ ...options, ...(ca ? { ca: ca as string | string[] } : {}) });
  }

  /** @param probe creates a probe, for a node that has been silent too long */
  send(
    outgoing: OutgoingRequest,
    listener: PeerListener,
    probe: () => OutgoingRequest,
  ): PeerRequest {
    const { url } = outgoing;
    const peer = this.#peers.get(url) ?? this.#watch(url, probe);
    if (peer.requests.size === 0) peer.lastAliveAt = performance.now();
    const sent = new SentRequest(this.#request(outgoing, peer.target), listener, peer);
    peer.requests.add(sent);
    return sent;
  }

  /**
   * Probes a node.
   *
   * @returns its response; rejects without one in time
   */
  probe(outgoing: OutgoingRequest, timeoutMs = silentAfterMs / 2): Promise<PeerResponse> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        sent.abort();
        reject(new Error(`no answer for ${timeoutMs} ms`));
      }, timeoutMs);
      const failed = (why: Error): void => {
        clearTimeout(timer);
        reject(why);
      };
      const listener: PeerListener = {
        unreachable: failed,
        broken: failed,
        responded: (response) => {
          clearTimeout(timer);
          resolve(response);
        },
        data: () => {},
        ended: () => {},
      };
      const sent: SentRequest = new SentRequest(
        this.#request(outgoing, targetOf(outgoing.url)),
        listener,
        undefined,
      );
    });
  }

  close(): void {
    for (const peer of this.#peers.values()) this.#unwatch(peer);
    this.#http.destroy();
    this.#https.destroy();
  }

  #request({ method, headers, body }: OutgoingRequest, target: Target): ClientRequest {
    const { isSecure, host, port, path } = target;
    const sent =
      body === '' && method !== 'POST'
        ? headers
        : { ...headers, 'content-length': String(Buffer.byteLength(body)) };
    const options = { host, port, path, method, headers: sent };
    const request = isSecure
      ? https.request({ ...options, agent: this.#https })
      : http.request({ ...options, agent: this.#http });
    request.end(body);
    return request;
  }

  #watch(url: string, probe: () => OutgoingRequest): Peer {
    const peer: Peer = {
      url,
      target: targetOf(url),
      probe,
      requests: new Set(),
      lastAliveAt: performance.now(),
      timer: undefined,
    };
    this.#peers.set(url, peer);
    peer.timer = setTimeout(() => this.#checkPeer(peer), probeAfterMs);
    peer.timer.unref();
    return peer;
  }

  #unwatch(peer: Peer): void {
    clearTimeout(peer.timer);
    if (this.#peers.get(peer.url) === peer) this.#peers.delete(peer.url);
  }

  #checkPeer(peer: Peer): void {
    if (peer.requests.size === 0) return this.#unwatch(peer);
    peer.timer = setTimeout(() => this.#checkPeer(peer), probeAfterMs);
    peer.timer.unref();
    // Reads pending input first: this process may have been busy, not the peer silent.
    setImmediate(() => this.#probe(peer));
  }

  #probe(peer: Peer): void {
    const silentMs = performance.now() - peer.lastAliveAt;
    if (silentMs >= silentAfterMs) {
      const why = new Error(`no response for ${Math.round(silentMs)} ms`);
      for (const request of peer.requests) request.fail(why);
      return;
    }
    if (silentMs < probeAfterMs / 2) return;
    const alive = (): void => void (peer.lastAliveAt = performance.now());
    this.probe(peer.probe()).then(alive, (error: NodeJS.ErrnoException) => {
      // The host is up: its system resets connections of a dead process.
      if (error.code === 'ECONNREFUSED' || error.code === 'ECONNRESET') alive();
    });
  }
}

function targetOf(text: string): Target {
  const { protocol, hostname, port, pathname } = new URL(text);
  const host = hostname.replace(/^\[(.*)\]$/, '$1');
  return { isSecure: protocol === 'https:', host, port, path: pathname };
}

class SentRequest implements PeerRequest {
  readonly #request: ClientRequest;
  readonly #listener: PeerListener;
  readonly #peer: Peer | undefined;
  #response: IncomingMessage | undefined = undefined;
  #state: 'connecting' | 'sent' | 'ended' = 'connecting';
  #timer: NodeJS.Timeout | undefined = undefined;

  /** @param peer undefined for a probe */
  constructor(request: ClientRequest, listener: PeerListener, peer: Peer | undefined) {
    this.#request = request;
    this.#listener = listener;
    this.#peer = peer;
    request.on('socket', (socket) => {
      if (!socket.connecting) return this.#connected();
      socket.once('encrypted' in socket ? 'secureConnect' : 'connect', () => this.#connected());
      this.#timer = setTimeout(
        // Handles a pending connect event first: this process may have been busy.
        () => setImmediate(() => this.#connectionLate()),
        connectTimeoutMs,
      );
    });
    request.on('error', (error) => this.fail(error));
    request.on('response', (response) => this.#responded(response));
    request.on('close', () => {
      // Received data of a response may still be unread.
      if (!this.#response) this.fail(new Error('the connection was closed'));
    });
  }

  pause(): void {
    this.#response?.pause();
  }

  resume(): void {
    this.#response?.resume();
  }

  abort(): void {
    if (this.#finish()) this.#request.destroy();
  }

  fail(why: Error): void {
    const isUnsent = this.#state === 'connecting';
    if (!this.#finish()) return;
    this.#request.destroy();
    if (isUnsent) this.#listener.unreachable(why);
    else this.#listener.broken(why);
  }

  #connected(): void {
    clearTimeout(this.#timer);
    if (this.#state === 'connecting') this.#state = 'sent';
  }

  #connectionLate(): void {
    if (this.#state !== 'connecting') return;
    this.fail(new Error(`not connected within ${connectTimeoutMs} ms`));
  }

  #responded(response: IncomingMessage): void {
    if (this.#state === 'ended') return;
    this.#response = response;
    this.#markAlive();
    const { rawHeaders, statusCode: status = 502 } = response;
    const headers: (readonly [string, string])[] = [];
    let outcome: string | undefined;
    for (let at = 0; at < rawHeaders.length; at += 2) {
      const name = rawHeaders[at]?.toLowerCase() ?? '';
      const value = rawHeaders[at + 1] ?? '';
      if (name === forwardHeader) outcome = value;
      else headers.push([name, value]);
    }
    this.#listener.responded({ status, headers, outcome });
    response.on('data', (chunk: Buffer) => {
      this.#markAlive();
      if (this.#state !== 'ended') this.#listener.data(chunk);
    });
    response.on('end', () => {
      if (!response.complete) return this.fail(new Error('the response was cut off'));
      if (this.#finish()) this.#listener.ended();
    });
    response.on('error', (error) => this.fail(error));
    response.on('close', () => {
      // Checked first, because creating an error captures a stack.
      if (this.#state !== 'ended') this.fail(new Error('the response was cut off'));
    });
  }

  #finish(): boolean {
    if (this.#state === 'ended') return false;
    this.#state = 'ended';
    clearTimeout(this.#timer);
    this.#peer?.requests.delete(this);
    return true;
  }

  /** Records that the peer is alive. */
  #markAlive(): void {
    if (this.#peer) this.#peer.lastAliveAt = performance.now();
  }
}
