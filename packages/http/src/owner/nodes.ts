/**
 * The nodes that share an endpoint's sessions, as one of them sees the others: it forwards requests to the owners of
 * their sessions, serves what others forward, and tells of what has changed here.
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
  /** The servers that have sessions here. */
  servers(): readonly McpServer[];
  readonly home: ExchangeContext;
  /** Serves a request that another node has checked. */
  serve(exchange: HttpExchange): void;
}

export class Nodes implements ForwardContext {
  readonly ownership: Ownership;
  readonly stores: Stores;
  readonly clock: Clock;
  readonly #options: NodesOptions;
  /** Undefined until it is loaded: no node forwards anything here before. */
  #forwarding: Forwarding | undefined = undefined;
  /** The owners of sessions, as the directory said last. */
  readonly #owners = new Map<string, PeerNode>();
  /** Nodes by their names, as the directory said last. */
  readonly #known = new Map<string, PeerNode>();
  /** The first server that was served here. */
  #first: McpServer | undefined = undefined;
  /** Servers whose changes are told to other nodes. */
  readonly #heard = new WeakSet<McpServer>();
  readonly #changes: ChangeBroadcast;
  /** Requests that other nodes have. */
  readonly #forwarded = new Set<ForwardedRequest>();
  /** Requests whose owners are sought. */
  readonly #seeking = new Set<Promise<void>>();
  /** The URLs of nodes that do not answer, each of which was warned of once. */
  readonly #unreachable = new Set<string>();
  /** Calls back once a request is over. */
  #settled: (() => void) | undefined = undefined;

  constructor(stores: Stores, options: NodesOptions) {
    const { home, server } = options;
    this.stores = stores;
    this.clock = home.clock;
    this.#options = options;
    this.#changes = new ChangeBroadcast({
      report: home.report,
      broadcasts: stores.broadcasts,
      servers: (name) => this.#servers(name),
      removed: (ids) => this.ownership.removedElsewhere(ids),
      left: (node) => this.#left(node),
    });
    this.ownership = new Ownership(stores, {
      clock: home.clock,
      report: home.report,
      idleMs: home.limits.sessionIdleTimeoutMs,
      address: () => this.#address(),
      joined: () => void this.#probeItself(),
      removed: (ids) => this.#changes.remove(ids),
      storeChanged: () => this.#shareSecret(),
      beat: () => this.#changes.catchUp(),
    });
    if (typeof server !== 'function') this.join(server);
  }

  /** A server is served here: what changes at it is told to all that have its name. */
  join(server: McpServer): void {
    if (this.#heard.has(server)) return;
    this.#heard.add(server);
    if (!this.#first && !hasKeys(server)) {
      formatReport(this.report, 'warning', 'stateKeys.missing', keysMissing);
    }
    this.#first ??= server;
    const { name } = server.definition;
    changesOf(server)?.listen((method, uri) => {
      this.#changes.add({ server: name, method, uri }, server);
    });
  }

  get node(): string {
    return this.ownership.node;
  }

  get report(): HttpReport {
    return this.#options.home.report;
  }

  get limits(): ExchangeContext['limits'] {
    return this.#options.home.limits;
  }

  // Requests that other nodes forward to this one.

  /**
   * Takes a request that another node has forwarded.
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
        // The name cannot be guessed: another node has it from the store, and has other keys.
        if (verified.to !== this.node) return false;
        exchange.answer(misdirected('refused', 'The signature has none of the keys of this node'));
        return true;
      case 'unknown':
        exchange.answer(misdirected('refused', 'The forwarding protocol has another version here'));
        return true;
      case 'signed':
        this.#take(exchange, verified.head);
        return true;
    }
  }

  #take(exchange: HttpExchange, head: ForwardedHead): void {
    const isOld = Math.abs(this.ownership.storeNow - head.timeMs) > maxSignatureAgeMs;
    if (head.to !== this.node) {
      return exchange.answer(misdirected('moved', 'The node has another name by now'));
    }
    if (isOld) return exchange.answer(misdirected('refused', 'The signature is too old'));
    if (head.method === probeMethod) return exchange.answer(probed);
    const digestOf = this.#forwarding!.digestOf;
    this.#options.serve(new ForwardedExchange(exchange, head, digestOf, this.clock.now()));
  }

  // Requests that this node forwards.

  /** The node that had a session when the directory was asked last; undefined if it is to be asked. */
  known(id: string, { answerMoved }: HttpExchange): PeerNode | undefined {
    return answerMoved ? undefined : this.#owners.get(id);
  }

  /** The session was not where it was. */
  forget(id: string): void {
    this.#owners.delete(id);
  }

  /**
   * Finds out who has the session of a request.
   * @throws {StoreUnavailable}
   */
  async locate(id: string, { principal }: HttpExchange): Promise<Location> {
    const located = await this.ownership.locate(id, principal?.id);
    if (located.kind === 'elsewhere') remember(this.#owners, id, located.peer);
    return located;
  }

  /** Forwards a request to the node that owns its session, unless that was tried. */
  forward(peer: PeerNode, forward: Forward): void {
    try {
      if (forward.tried.includes(peer.node)) {
        const message = 'the node that has the session does not answer';
        throw new StoreUnavailable('away', message, { retryAfterMs: 1000 });
      }
      new ForwardedRequest(forward, peer, this);
    } catch (error) {
      forward.exchange.answer(unavailable(error, this.report));
    }
  }

  /**
   * Forwards the retry of a call to the node that alone can resume it.
   * @param serve serves it here: that node is this one, or is no more
   */
  forwardHome(home: string, forward: Omit<Forward, 'tried' | 'again'>, serve: () => void): void {
    const { exchange } = forward;
    if (exchange.forwardedBy !== undefined || home === this.node || !isNodeName(home))
      return serve();
    const again = (tried: readonly string[]) => {
      this.#known.delete(home);
      this.#seekHome(home, { ...forward, tried, again }, serve);
    };
    const known = this.#known.get(home);
    if (known) this.forward(known, { ...forward, tried: [], again });
    else again([]);
  }

  #seekHome(home: string, forward: Forward, serve: () => void): void {
    const { exchange } = forward;
    const sought = this.#home(home).then(
      (peer) => {
        if (exchange.isDisconnected) return;
        if (peer) this.forward(peer, forward);
        else serve();
      },
      (error: unknown) => exchange.answer(unavailable(error, this.report)),
    );
    this.track(sought);
  }

  /** Where a node is; undefined if it is no more. @throws {StoreUnavailable} */
  async #home(node: string): Promise<PeerNode | undefined> {
    await this.ownership.ready();
    const { address, store } = await this.stores.directory.node(node);
    if (address) {
      const peer = { node, address };
      remember(this.#known, node, peer);
      return peer;
    }
    if (store.ageMs >= this.stores.leaseMs) return undefined;
    const message = 'the store has lost data, and the node of a call may come back';
    throw new StoreUnavailable('away', message, { retryAfterMs: 1000 });
  }

  send(peer: PeerNode, forward: Forward, listener: PeerListener): PeerRequest {
    const { node } = this;
    const self = { node, timeMs: this.ownership.storeNow, now: this.clock.now() };
    return this.#forwarding!.send(peer, forward, self, listener);
  }

  reached({ address }: PeerNode): void {
    if (this.#unreachable.size > 0) this.#unreachable.delete(address.url);
  }

  unreachable({ node, address: { url } }: PeerNode, why: Error): void {
    if (this.#unreachable.has(url)) return;
    this.#unreachable.add(url);
    const own = this.#forwarding?.address.url;
    const message = `The node ${this.node} at ${own} does not reach the node ${node} at ${url}: ${why.message}`;
    formatReport(this.report, 'warning', 'nodes.unreachable', message);
  }

  began(request: ForwardedRequest): void {
    this.#forwarded.add(request);
  }

  ended(request: ForwardedRequest): void {
    this.#forwarded.delete(request);
    this.#settled?.();
  }

  // The end of the node.

  /**
   * Settles once what other nodes have still to answer here has been answered.
   * @param timeoutMs how long that may take
   */
  async drain(timeoutMs: number): Promise<void> {
    const untilMs = this.clock.now() + timeoutMs;
    let timer: unknown = undefined;
    const late = new Promise<void>((resolve) => {
      timer = this.clock.setTimeout(resolve, timeoutMs);
    });
    // A request whose owner is still sought is forwarded later.
    while (this.#forwarded.size + this.#seeking.size > 0 && this.clock.now() < untilMs) {
      for (const request of [...this.#forwarded]) request.close();
      if (this.#forwarded.size + this.#seeking.size === 0) break;
      const one = new Promise<void>((resolve) => {
        this.#settled = resolve;
      });
      const sought = this.#seeking.size > 0 ? [Promise.allSettled(this.#seeking)] : [];
      await Promise.race([one, late, ...sought]);
    }
    this.clock.clearTimeout(timer);
    const why = new Error('this node has ended');
    for (const request of [...this.#forwarded]) request.broken(why);
  }

  /** The owner of a request's session is sought. */
  track(seeking: Promise<void>): void {
    this.#seeking.add(seeking);
    const found = () => this.#seeking.delete(seeking);
    seeking.then(found, found);
  }

  /** Leaves the others. */
  async close(): Promise<void> {
    for (const server of this.#servers()) changesOf(server)?.listen(undefined);
    await this.ownership.leave();
    await this.#changes.leave(this.node);
    await this.stores.close();
    this.#forwarding?.close();
  }

  // What it has of its own.

  /** Settles once other nodes can forward requests to this one. */
  async #address(): Promise<NodeAddress> {
    if (!this.#forwarding) {
      const forwarding = await Forwarding.load(this.#options.node);
      const { server } = this.#options;
      const given = typeof server === 'function' ? undefined : server.definition.stateKeys;
      const secrets = given ??
        environmentKeys() ?? [
          await this.stores.directory.secret(crypto.randomUUID() + crypto.randomUUID()),
        ];
      this.#madeSecret = given || environmentKeys() ? undefined : secrets[0];
      forwarding.trust(secrets);
      this.#forwarding = forwarding;
    }
    return this.#forwarding.address;
  }

  /** The key that was made in the store, if the nodes have none in common. */
  #madeSecret: string | undefined = undefined;

  /** A store that has lost its data may have another key by now: until all know both, each signs with both. */
  async #shareSecret(): Promise<void> {
    const made = this.#madeSecret;
    if (made !== undefined) this.#forwarding?.trust([await this.stores.directory.secret(made)]);
  }

  /** A node that does not reach itself is reached by no other. */
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
        if (this.ownership.isLeaving || node !== this.node) return;
        failed = error;
        // A server that starts may not take requests yet.
        await new Promise<void>((resolve) => {
          this.clock.setTimeout(resolve, 1000);
        });
      }
    }
    if (this.ownership.isLeaving) return;
    const why = failed instanceof Error ? failed.message : String(failed);
    const message = `This node does not reach itself at ${address.url}, so other nodes do not either (${why}): set node.url, or --node-url`;
    formatReport(this.report, 'warning', 'nodes.unreachable', message);
  }

  /** Servers that are one to their clients, wherever these are served. */
  #servers(name?: string): Iterable<McpServer> {
    const { server, servers } = this.#options;
    if (typeof server !== 'function') return [server];
    return new Set(
      servers().filter(({ definition }) => definition.name === (name ?? definition.name)),
    );
  }

  #left(node: string): void {
    this.#known.delete(node);
    for (const [id, peer] of this.#owners) if (peer.node === node) this.#owners.delete(id);
  }
}

/** How many sessions and nodes are remembered. */
const maxRemembered = 10_000;

function remember(known: Map<string, PeerNode>, key: string, peer: PeerNode): void {
  known.delete(key);
  known.set(key, peer);
  const [oldest] = known.size > maxRemembered ? known.keys() : [];
  if (oldest !== undefined) known.delete(oldest);
}

/** Whether it seals the states of 2026-07-28 with a key that other nodes have, too. */
const hasKeys = ({ definition }: McpServer): boolean =>
  (definition.stateKeys ?? environmentKeys()) !== undefined;

const keysMissing =
  'Nodes share their sessions, but each seals the states of calls with a key of its own: set stateKeys of the server, or MCP_STATE_KEYS, to the same for all';
