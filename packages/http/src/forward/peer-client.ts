/**
 * The connections to other nodes: keep-alive, with backpressure, and a watch over each node that has requests of
 * ours. What becomes of a request is told in a few facts, by which its owner decides what to do.
 */
import type { Agent as HttpAgent, ClientRequest, IncomingMessage } from 'node:http';
import type { Agent as HttpsAgent } from 'node:https';
import { forwardHeader } from '../nodes/forwarding-protocol.ts';

// Not an import: bundles for the web contain this module too, and cannot resolve Node's.
const http = process.getBuiltinModule('node:http');
const https = process.getBuiltinModule('node:https');

/** The beginning of a node's response. */
export interface PeerResponse {
  readonly status: number;
  /** Names in lower case and values, by turns. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** Said by a node of ours; undefined if something else has answered. */
  readonly outcome: string | undefined;
}

/** Hears what becomes of a forwarded request. */
export interface PeerListener {
  /** Nothing was sent: the node has not got it. */
  unreached(why: Error): void;
  responded(response: PeerResponse): void;
  data(chunk: Uint8Array): void;
  ended(): void;
  /** The connection broke after the request was sent, or the node has gone silent. */
  broken(why: Error): void;
}

/** A request that is on its way to another node, until it has ended. */
export interface PeerRequest {
  pause(): void;
  resume(): void;
  /** Its client has left. The listener hears nothing more. */
  abort(): void;
}

/** A request to another node. */
export interface OutgoingRequest {
  readonly url: string;
  readonly method: string;
  readonly headers: { readonly [name: string]: string };
  readonly body: string;
}

/** How long a connection may take to be made, milliseconds. */
const connectTimeoutMs = 700;

/** How long a connection is kept that nobody uses, milliseconds: less than any server keeps one (Node: 5 s). */
const idleTimeoutMs = 4000;

/** How long a node may say nothing before it is probed, and before its requests are given up, milliseconds. */
const probeAfterMs = 2000;
const silentAfterMs = 6000;

/** Where a node listens. */
interface Target {
  readonly isSecure: boolean;
  readonly host: string;
  readonly port: string;
  readonly path: string;
}

/** A node that requests are forwarded to. */
interface Peer {
  readonly url: string;
  readonly target: Target;
  readonly probe: () => OutgoingRequest;
  readonly requests: Set<SentRequest>;
  /** When it has last given a sign of life. */
  aliveAt: number;
  timer: NodeJS.Timeout | undefined;
}

export class PeerClient {
  readonly #http: HttpAgent;
  readonly #https: HttpsAgent;
  readonly #peers = new Map<string, Peer>();

  /** @param ca certificates that nodes over HTTPS are trusted by, beside those that Node knows */
  constructor(ca?: string | readonly string[]) {
    const options = { keepAlive: true, timeout: idleTimeoutMs, maxFreeSockets: 64 };
    this.#http = new http.Agent(options);
    this.#https = new https.Agent({ ...options, ...(ca ? { ca: ca as string | string[] } : {}) });
  }

  /** @param probe asks the node whether it is there, should it be silent for long */
  send(
    outgoing: OutgoingRequest,
    listener: PeerListener,
    probe: () => OutgoingRequest,
  ): PeerRequest {
    const { url } = outgoing;
    const peer = this.#peers.get(url) ?? this.#watch(url, probe);
    if (peer.requests.size === 0) peer.aliveAt = performance.now();
    const sent = new SentRequest(this.#request(outgoing, peer.target), listener, peer);
    peer.requests.add(sent);
    return sent;
  }

  /** Asks a node whether it is there. @returns what it says; rejects if it says nothing in time */
  probe(outgoing: OutgoingRequest, timeoutMs = silentAfterMs / 2): Promise<PeerResponse> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        sent.abort();
        reject(new Error(`it has not answered for ${timeoutMs} ms`));
      }, timeoutMs);
      const failed = (why: Error): void => {
        clearTimeout(timer);
        reject(why);
      };
      const listener: PeerListener = {
        unreached: failed,
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
      aliveAt: performance.now(),
      timer: undefined,
    };
    this.#peers.set(url, peer);
    peer.timer = setTimeout(() => this.#look(peer), probeAfterMs);
    peer.timer.unref();
    return peer;
  }

  #unwatch(peer: Peer): void {
    clearTimeout(peer.timer);
    if (this.#peers.get(peer.url) === peer) this.#peers.delete(peer.url);
  }

  #look(peer: Peer): void {
    if (peer.requests.size === 0) return this.#unwatch(peer);
    peer.timer = setTimeout(() => this.#look(peer), probeAfterMs);
    peer.timer.unref();
    // Reads first what has come while this process was busy: it was not the node that was silent.
    setImmediate(() => this.#probe(peer));
  }

  #probe(peer: Peer): void {
    const silentMs = performance.now() - peer.aliveAt;
    if (silentMs >= silentAfterMs) {
      const why = new Error(`it has given no sign of life for ${Math.round(silentMs)} ms`);
      for (const request of peer.requests) request.fail(why);
      return;
    }
    if (silentMs < probeAfterMs / 2) return;
    const alive = (): void => void (peer.aliveAt = performance.now());
    this.probe(peer.probe()).then(alive, (error: NodeJS.ErrnoException) => {
      // Its machine answers: the system ends the connections of a process that is no more.
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
  #state: 'connecting' | 'sent' | 'over' = 'connecting';
  #timer: NodeJS.Timeout | undefined = undefined;

  /** @param peer undefined for a request that only asks whether a node is there */
  constructor(request: ClientRequest, listener: PeerListener, peer: Peer | undefined) {
    this.#request = request;
    this.#listener = listener;
    this.#peer = peer;
    request.on('socket', (socket) => {
      if (!socket.connecting) return this.#connected();
      socket.once('encrypted' in socket ? 'secureConnect' : 'connect', () => this.#connected());
      this.#timer = setTimeout(
        // A connection that was made while this process was busy is heard of first.
        () => setImmediate(() => this.#connectionLate()),
        connectTimeoutMs,
      );
    });
    request.on('error', (error) => this.fail(error));
    request.on('response', (response) => this.#responded(response));
    request.on('close', () => {
      // What has come of a response may still wait to be read.
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
    if (this.#over()) this.#request.destroy();
  }

  fail(why: Error): void {
    const isUnsent = this.#state === 'connecting';
    if (!this.#over()) return;
    this.#request.destroy();
    if (isUnsent) this.#listener.unreached(why);
    else this.#listener.broken(why);
  }

  #connected(): void {
    clearTimeout(this.#timer);
    if (this.#state === 'connecting') this.#state = 'sent';
  }

  #connectionLate(): void {
    if (this.#state !== 'connecting') return;
    this.fail(new Error(`no connection was made within ${connectTimeoutMs} ms`));
  }

  #responded(response: IncomingMessage): void {
    if (this.#state === 'over') return;
    this.#response = response;
    this.#alive();
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
      this.#alive();
      if (this.#state !== 'over') this.#listener.data(chunk);
    });
    response.on('end', () => {
      if (!response.complete) return this.fail(new Error('the response was cut off'));
      if (this.#over()) this.#listener.ended();
    });
    response.on('error', (error) => this.fail(error));
    response.on('close', () => {
      // An error costs the copy of the stack.
      if (this.#state !== 'over') this.fail(new Error('the response was cut off'));
    });
  }

  #over(): boolean {
    if (this.#state === 'over') return false;
    this.#state = 'over';
    clearTimeout(this.#timer);
    this.#peer?.requests.delete(this);
    return true;
  }

  /** It has given a sign of life. */
  #alive(): void {
    if (this.#peer) this.#peer.aliveAt = performance.now();
  }
}
