/**
 * The cluster as seen by one node: forwards requests to the owners of their sessions, serves
 * requests that others forward, and broadcasts changes.
 */
import { changesOf } from '../../../../src/server/changes.ts';
import type { McpServer } from '../../../../src/server/create-server.ts';
import { environmentKeys } from '../../../../src/server/server-core.ts';
import type { Clock } from '../../../../src/actors/clock.ts';
import type { PeerListener, PeerRequest } from '../forward/peer-client.ts';
import type { ExchangeContext, HttpExchange } from '../http-exchange.ts';
import { forwardHeader, maxSignatureAgeMs, probeMethod } from '../nodes/forwarding-protocol.ts';
import type { ForwardedHead } from '../nodes/forwarding-protocol.ts';
import { StoreUnavailable, isNodeName } from '../nodes/stores.ts';
import type { NodeAddress, Stores } from '../nodes/stores.ts';
import type { NodeOptions, ServerFactory } from '../options.ts';
import { formatReport } from '../facts.ts';
import type { HttpReport } from '../facts.ts';
import { ChangeBroadcast } from './change-broadcast.ts';
import { ForwardedExchange, misdirected, probed } from './forwarded-exchange.ts';
import { ForwardedRequest } from './forwarded-request.ts';
import type { Forward, ForwardContext, PeerNode } from './forwarded-request.ts';
import { Forwarding } from './forwarding.ts';
import { Ownership } from './ownership.ts';
import type { Location } from './ownership.ts';
import { unavailable } from './store-errors.ts';

export interface NodesOptions {
  readonly server: ServerFactory;
  readonly node: NodeOptions;
  /** Servers with sessions at this node. */
  servers(): readonly McpServer[];
  readonly endpoint: ExchangeContext;
  /** Serves a request that another node has already checked. */
  serve(exchange: HttpExchange): void;
}

export class Nodes implements ForwardContext {
  readonly ownership: Ownership;
  readonly stores: Stores;
  readonly clock: Clock;
  readonly #options: NodesOptions;
  /** Undefined until loaded. No other node knows this one before. */
  #forwarding: Forwarding | undefined = undefined;
  /** Cached owners of sessions. */
  readonly #cachedOwners = new Map<string, PeerNode>();
  /** Cached nodes, by name. */
  readonly #cachedNodes = new Map<string, PeerNode>();
  /** The first server served here. */
  #firstServer: McpServer | undefined = undefined;
  /** Servers whose changes are broadcast. */
  readonly #watchedServers = new WeakSet<McpServer>();
  readonly #changes: ChangeBroadcast;
  /** Requests forwarded to other nodes and still open. */
  readonly #forwarded = new Set<ForwardedRequest>();
  /** Lookups of owners in progress. */
  readonly #locating = new Set<Promise<void>>();
  /** URLs of unreachable nodes that were already reported. */
  readonly #unreachable = new Set<string>();
  /** Called when a forwarded request ends. */
  #onRequestEnded: (() => void) | undefined = undefined;

  constructor(stores: Stores, options: NodesOptions) {
    const { endpoint, server } = options;
    this.stores = stores;
    this.clock = endpoint.clock;
    this.#options = options;
    this.#changes = new ChangeBroadcast({
      report: endpoint.report,
      broadcasts: stores.broadcasts,
      servers: (name) => this.#servers(name),
      onRemoved: (ids) => this.ownership.removedElsewhere(ids),
      onNodeLeft: (node) => this.#onNodeLeft(node),
    });
    this.ownership = new Ownership(stores, {
      clock: endpoint.clock,
      report: endpoint.report,
      idleMs: endpoint.limits.sessionIdleTimeoutMs,
      address: () => this.#address(),
      onJoined: () => void this.#probeItself(),
      onRemoved: (ids) => this.#changes.remove(ids),
      onStoreChanged: () => this.#shareSecret(),
      onRenewed: () => this.#changes.catchUp(),
    });
    if (typeof server !== 'function') this.join(server);
  }

  /** Registers a server: its changes are broadcast to all servers of the same name. */
  join(server: McpServer): void {
    if (this.#watchedServers.has(server)) return;
    this.#watchedServers.add(server);
    if (!this.#firstServer && !this.stores.isOneMachine && !hasKeys(server)) {
      formatReport(this.report, 'warning', 'stateKeys.missing', keysMissing);
    }
    this.#firstServer ??= server;
    const { name } = server.definition;
    changesOf(server)?.listen((method, uri) => {
      this.#changes.add({ server: name, method, uri }, server);
    });
  }

  get node(): string {
    return this.ownership.node;
  }

  get report(): HttpReport {
    return this.#options.endpoint.report;
  }

  get limits(): ExchangeContext['limits'] {
    return this.#options.endpoint.limits;
  }

  // Incoming forwarded requests.

  /**
   * Serves the request if another node forwarded it.
   *
   * @returns false if it comes from a client
   */
  receive(exchange: HttpExchange): boolean {
    const header = exchange.header(forwardHeader);
    if (header === undefined || !this.#forwarding) return false;
    const verified = this.#forwarding.verify(header);
    switch (verified.kind) {
      case 'foreign':
        return false;
      case 'unsigned':
        // The name cannot be guessed, so another node read it from the store but has other keys.
        if (verified.to !== this.node) return false;
        exchange.answer(misdirected('refused', "The signature matches none of this node's keys"));
        return true;
      case 'unknown':
        exchange.answer(
          misdirected(
            'refused',
            'This node does not support this version of the forwarding protocol',
          ),
        );
        return true;
      case 'signed':
        this.#serveForwarded(exchange, verified.head);
        return true;
    }
  }

  #serveForwarded(exchange: HttpExchange, head: ForwardedHead): void {
    const isOld = Math.abs(this.ownership.storeNow - head.timeMs) > maxSignatureAgeMs;
    if (head.to !== this.node) {
      return exchange.answer(misdirected('moved', 'The node has rejoined under another name'));
    }
    if (isOld) return exchange.answer(misdirected('refused', 'The signature is too old'));
    if (head.method === probeMethod) return exchange.answer(probed);
    const digestOf = this.#forwarding!.digestOf;
    this.#options.serve(new ForwardedExchange(exchange, head, digestOf, this.clock.now()));
  }

  // Outgoing forwarded requests.

  /** The cached owner of a session; undefined if the directory must be read. */
  cachedOwner(id: string, { answerMoved }: HttpExchange): PeerNode | undefined {
    return answerMoved ? undefined : this.#cachedOwners.get(id);
  }

  /** Forgets the cached owner of a session. */
  forgetOwner(id: string): void {
    this.#cachedOwners.delete(id);
  }

  /**
   * Looks up the owner of a request's session.
   *
   * @throws {StoreUnavailable}
   */
  async locate(id: string, { principal }: HttpExchange): Promise<Location> {
    const located = await this.ownership.locate(id, principal?.id);
    if (located.kind === 'elsewhere') setCached(this.#cachedOwners, id, located.peer);
    return located;
  }

  /** Forwards a request to the owner of its session, unless that node was already tried. */
  forward(peer: PeerNode, forward: Forward): void {
    try {
      if (forward.tried.includes(peer.node)) {
        const message = 'the owner of the session does not answer';
        throw new StoreUnavailable('away', message, { retryAfterMs: 1000 });
      }
      new ForwardedRequest(forward, peer, this);
    } catch (error) {
      forward.exchange.answer(unavailable(error, this.report));
    }
  }

  /**
   * Forwards the retry of a suspended call to the only node that can resume it.
   *
   * @param serve serves the retry here: that node is this one, or is gone
   */
  forwardToNode(node: string, forward: Omit<Forward, 'tried' | 'retry'>, serve: () => void): void {
    const { exchange } = forward;
    if (exchange.forwardedBy !== undefined || node === this.node || !isNodeName(node))
      return serve();
    const retry = (tried: readonly string[]) => {
      this.#cachedNodes.delete(node);
      this.#locateNode(node, { ...forward, tried, retry }, serve);
    };
    const cached = this.#cachedNodes.get(node);
    if (cached) this.forward(cached, { ...forward, tried: [], retry });
    else retry([]);
  }

  #locateNode(node: string, forward: Forward, serve: () => void): void {
    const { exchange } = forward;
    const sought = this.#findNode(node).then(
      (peer) => {
        if (exchange.isDisconnected) return;
        if (peer) this.forward(peer, forward);
        else serve();
      },
      (error: unknown) => exchange.answer(unavailable(error, this.report)),
    );
    this.trackLocating(sought);
  }

  /**
   * Looks up a node; undefined if it is gone.
   *
   * @throws {StoreUnavailable}
   */
  async #findNode(node: string): Promise<PeerNode | undefined> {
    await this.ownership.ready();
    const { address, store } = await this.stores.directory.node(node);
    if (address) {
      const peer = { node, address };
      setCached(this.#cachedNodes, node, peer);
      return peer;
    }
    if (store.ageMs >= this.stores.leaseMs) return undefined;
    const message = 'the store lost data, and the node of the call may rejoin';
    throw new StoreUnavailable('away', message, { retryAfterMs: 1000 });
  }

  send(peer: PeerNode, forward: Forward, listener: PeerListener): PeerRequest {
    const { node } = this;
    const self = { node, timeMs: this.ownership.storeNow, now: this.clock.now() };
    return this.#forwarding!.send(peer, forward, self, listener);
  }

  onReachable({ address }: PeerNode): void {
    if (this.#unreachable.size > 0) this.#unreachable.delete(address.url);
  }

  onUnreachable({ node, address: { url } }: PeerNode, why: Error): void {
    if (this.#unreachable.has(url)) return;
    this.#unreachable.add(url);
    const own = this.#forwarding?.address.url;
    const message = `The node ${this.node} at ${own} cannot reach the node ${node} at ${url}: ${why.message}`;
    formatReport(this.report, 'warning', 'nodes.unreachable', message);
  }

  onStarted(request: ForwardedRequest): void {
    this.#forwarded.add(request);
  }

  onEnded(request: ForwardedRequest): void {
    this.#forwarded.delete(request);
    this.#onRequestEnded?.();
  }

  // Shutdown.

  /**
   * Resolves once all forwarded requests have ended.
   *
   * @param timeoutMs maximum wait; the remaining requests fail then
   */
  async drain(timeoutMs: number): Promise<void> {
    const untilMs = this.clock.now() + timeoutMs;
    let timer: unknown = undefined;
    const late = new Promise<void>((resolve) => {
      timer = this.clock.setTimeout(resolve, timeoutMs);
    });
    // Requests still looking up their owner are forwarded later.
    while (this.#forwarded.size + this.#locating.size > 0 && this.clock.now() < untilMs) {
      for (const request of [...this.#forwarded]) request.close();
      if (this.#forwarded.size + this.#locating.size === 0) break;
      const one = new Promise<void>((resolve) => {
        this.#onRequestEnded = resolve;
      });
      const sought = this.#locating.size > 0 ? [Promise.allSettled(this.#locating)] : [];
      await Promise.race([one, late, ...sought]);
    }
    this.clock.clearTimeout(timer);
    const why = new Error('this node has closed');
    for (const request of [...this.#forwarded]) request.broken(why);
  }

  /** Tracks the lookup of an owner, for the drain. */
  trackLocating(seeking: Promise<void>): void {
    this.#locating.add(seeking);
    const found = () => this.#locating.delete(seeking);
    seeking.then(found, found);
  }

  /** Leaves the cluster. */
  async close(): Promise<void> {
    for (const server of this.#servers()) changesOf(server)?.listen(undefined);
    await this.ownership.leave();
    await this.#changes.leave(this.node);
    await this.stores.close();
    this.#forwarding?.close();
  }

  // Identity of this node.

  /** Resolves with this node's address once it can verify forwarded requests. */
  async #address(): Promise<NodeAddress> {
    if (!this.#forwarding) {
      const forwarding = await Forwarding.load(this.#options.node);
      const { server } = this.#options;
      const given = typeof server === 'function' ? undefined : server.definition.stateKeys;
      const secrets = given ??
        environmentKeys() ?? [
          await this.stores.directory.secret(crypto.randomUUID() + crypto.randomUUID()),
        ];
      this.#generatedSecret = given || environmentKeys() ? undefined : secrets[0];
      forwarding.trust(secrets);
      this.#forwarding = forwarding;
    }
    return this.#forwarding.address;
  }

  /** The key generated in the store; undefined if the nodes have a configured one. */
  #generatedSecret: string | undefined = undefined;

  /**
   * After the store lost its data it may hold another key. Nodes sign with both, so that either is
   * accepted.
   */
  async #shareSecret(): Promise<void> {
    const made = this.#generatedSecret;
    if (made !== undefined) this.#forwarding?.trust([await this.stores.directory.secret(made)]);
  }

  /** Probes this node's own URL: if that fails, no other node can reach it either. */
  async #probeItself(): Promise<void> {
    const forwarding = this.#forwarding;
    if (!forwarding) return;
    const { node } = this;
    const { address } = forwarding;
    let failed: unknown = undefined;
    for (let attempt = 0; attempt < 3; attempt++) {
      try {
        return await forwarding.probe({ node, address }, node, this.ownership.storeNow);
      } catch (error) {
        if (this.ownership.hasLeft || node !== this.node) return;
        failed = error;
        // A starting server may not accept requests yet.
        await new Promise<void>((resolve) => {
          this.clock.setTimeout(resolve, 1000);
        });
      }
    }
    if (this.ownership.hasLeft) return;
    const why = failed instanceof Error ? failed.message : String(failed);
    const message = `This node cannot reach itself at ${address.url}, so other nodes cannot either (${why}): set node.url, or --node-url`;
    formatReport(this.report, 'warning', 'nodes.unreachable', message);
  }

  /** Servers that are the same to clients, at whichever node. */
  #servers(name?: string): Iterable<McpServer> {
    const { server, servers } = this.#options;
    if (typeof server !== 'function') return [server];
    return new Set(
      servers().filter(({ definition }) => definition.name === (name ?? definition.name)),
    );
  }

  #onNodeLeft(node: string): void {
    this.#cachedNodes.delete(node);
    for (const [id, peer] of this.#cachedOwners)
      if (peer.node === node) this.#cachedOwners.delete(id);
  }
}

/** Maximum cached owners, and cached nodes. */
const maxCached = 10_000;

function setCached(known: Map<string, PeerNode>, key: string, peer: PeerNode): void {
  known.delete(key);
  known.set(key, peer);
  const [oldest] = known.size > maxCached ? known.keys() : [];
  if (oldest !== undefined) known.delete(oldest);
}

/** True if the server seals request states of 2026-07-28 with a key shared by all nodes. */
const hasKeys = ({ definition }: McpServer): boolean =>
  (definition.stateKeys ?? environmentKeys()) !== undefined;

const keysMissing =
  "Nodes share their sessions, but each encrypts request states with its own key: set the server's stateKeys, or MCP_STATE_KEYS, to the same value on all nodes";
