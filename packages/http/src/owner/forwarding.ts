/** Sends and verifies forwarded requests: keys, connections and the node's own URL. */
import type * as forwardModule from '../forward/index.ts';
import type {
  OutgoingRequest,
  PeerClient,
  PeerListener,
  PeerRequest,
} from '../forward/peer-client.ts';
import { secretHeaders } from '../http-exchange.ts';
import type { HttpExchange } from '../http-exchange.ts';
import {
  forwardHeader,
  maxSignatureBytes,
  probeMethod,
  protocolVersions,
} from '../nodes/forwarding-protocol.ts';
import type { ForwardedHead } from '../nodes/forwarding-protocol.ts';
import { StoreUnavailable } from '../nodes/stores.ts';
import type { NodeAddress } from '../nodes/stores.ts';
import type { NodeOptions } from '../options.ts';
import type { Forward, PeerNode } from './forwarded-request.ts';

/** Loaded only for shared sessions, because it needs Node's modules. */
type ForwardModule = typeof forwardModule;

/** Headers that are not forwarded: credentials, and those of a single connection. */
const unforwardedHeaders = new Set([
  ...secretHeaders,
  ...['connection', 'keep-alive', 'transfer-encoding', 'upgrade', 'te', 'trailer', 'expect'],
  ...['host', 'origin', 'content-length', 'proxy-connection'],
]);

export class Forwarding {
  readonly address: NodeAddress;
  readonly #module: ForwardModule;
  readonly #client: PeerClient;
  readonly #isAllowed: ((url: string) => boolean) | undefined;
  /** Addresses that passed the check against `node.peers`. */
  readonly #allowedAddresses = new WeakSet<NodeAddress>();
  readonly #secrets = new Set<string>();
  #keys: ReturnType<ForwardModule['keysFrom']> = [];

  private constructor(module: ForwardModule, url: string, { ca, peers }: NodeOptions) {
    this.address = { url, protocol: protocolVersions.newest };
    this.#module = module;
    this.#client = new module.PeerClient(ca);
    this.#isAllowed = peers && module.allowedPeers(peers);
  }

  /** @throws {TypeError} if an option is invalid */
  static async load(options: NodeOptions): Promise<Forwarding> {
    const module = await import('../forward/index.ts');
    return new Forwarding(module, nodeUrl(await options.url), options);
  }

  /** Adds shared secrets: requests are signed with all of them, and any of them is accepted. */
  trust(secrets: readonly string[]): void {
    for (const secret of secrets) this.#secrets.add(secret);
    this.#keys = this.#module.keysFrom([...this.#secrets]);
  }

  verify(header: string): ReturnType<ForwardModule['verify']> {
    return this.#module.verify(header, this.#keys);
  }

  readonly digestOf = (body: string): string => this.#module.digestOf(body);

  /**
   * @param self this node's signature data
   * @throws {StoreUnavailable} if the peer is not allowed, speaks another protocol version, or the
   *   request cannot be signed
   */
  send(
    peer: PeerNode,
    { exchange, body }: Forward,
    self: { readonly node: string; readonly timeMs: number; readonly now: number },
    listener: PeerListener,
  ): PeerRequest {
    const { method, target, remoteAddress, principal, tokenValidity, head } = exchange;
    const until = tokenValidity?.until ?? Infinity;
    const signed = this.#sign(peer, {
      from: self.node,
      timeMs: self.timeMs,
      method,
      target,
      sessionId: head.sessionId,
      digest: this.digestOf(body),
      remoteAddress,
      host: head.host,
      origin: head.origin,
      principal,
      tokenValidMs: until < Infinity ? Math.max(0, until - self.now) : undefined,
    });
    const { url } = peer.address;
    const headers = { ...forwardedHeaders(exchange), [forwardHeader]: signed };
    const probe = () => this.#probeRequest(peer, self.node, self.timeMs);
    return this.#client.send({ url, method, headers, body }, listener, probe);
  }

  /** Checks that a node is reachable. Rejects if there is no answer, or another node answers. */
  async probe(peer: PeerNode, node: string, timeMs: number): Promise<void> {
    const { status, outcome } = await this.#client.probe(this.#probeRequest(peer, node, timeMs));
    if (outcome !== 'served')
      throw new Error(`another program answers there, with status ${status}`);
  }

  close(): void {
    this.#client.close();
  }

  #probeRequest(peer: PeerNode, from: string, timeMs: number): OutgoingRequest {
    const none = { sessionId: undefined, remoteAddress: undefined, host: undefined };
    const more = { origin: undefined, principal: undefined, tokenValidMs: undefined };
    const head = { from, timeMs, method: probeMethod, target: '', digest: '', ...none, ...more };
    const headers = { [forwardHeader]: this.#sign(peer, head) };
    return { url: peer.address.url, method: 'POST', headers, body: '' };
  }

  #checkAllowed(address: NodeAddress): void {
    const { url } = address;
    if (!isHttpUrl(url) || this.#isAllowed?.(url) === false) {
      const message = "the owner of the session is not in this node's node.peers";
      throw new StoreUnavailable('refused', message, { retryAfterMs: 10_000 });
    }
    this.#allowedAddresses.add(address);
  }

  #sign({ node, address }: PeerNode, head: Omit<ForwardedHead, 'to'>): string {
    const version = versionFor(address);
    if (version === undefined) {
      const message = `the owner of the session uses version ${address.protocol} of the forwarding protocol, but this node supports ${protocolVersions.oldest} to ${protocolVersions.newest}`;
      throw new StoreUnavailable('refused', message, { retryAfterMs: 1000 });
    }
    if (!this.#allowedAddresses.has(address)) this.#checkAllowed(address);
    const signed = this.#module.sign({ ...head, to: node }, this.#keys, version);
    if (signed.length <= maxSignatureBytes) return signed;
    const message = `the forwarded token claims of a request take ${signed.length} bytes, more than the limit of ${maxSignatureBytes}`;
    throw new StoreUnavailable('refused', message, { retryAfterMs: 10_000 });
  }
}

/** The client's headers, without those that are never forwarded. */
function forwardedHeaders(exchange: HttpExchange): { [name: string]: string } {
  const headers: { [name: string]: string } = {};
  for (const name of exchange.headerNames()) {
    if (unforwardedHeaders.has(name)) continue;
    const value = exchange.header(name);
    if (value !== undefined) headers[name] = value;
  }
  return headers;
}

/** Protocol version to use with a node; undefined if there is no common one. */
function versionFor({ protocol }: NodeAddress): number | undefined {
  const version = Math.min(protocol, protocolVersions.newest);
  return version >= protocolVersions.oldest ? version : undefined;
}

function isHttpUrl(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol);
}

/** @throws {TypeError} if the URL cannot be reached by other nodes */
function nodeUrl(url: string): string {
  if (isHttpUrl(url)) return url;
  const got = JSON.stringify(url.slice(0, 100));
  throw new TypeError(
    `node.url must be an http or https URL at which other nodes reach this endpoint, got ${got}`,
  );
}
