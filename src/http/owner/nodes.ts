/**
 * The nodes that share an endpoint's sessions, as one of them sees the others: it hands requests to
 * the owners of their sessions, serves what is handed to it, and tells of what has changed here.
 */
import { changesOf } from '../../server/changes.ts';
import type { McpServer } from '../../server/create-server.ts';
import { environmentKeys } from '../../server/server-core.ts';
import type { Clock } from '../../actors/clock.ts';
import type { ExchangeHome, HttpExchange } from '../http-exchange.ts';
import { StoreUnavailable, isNodeName } from '../nodes/stores.ts';
import type { NodeInboxListener, Stores } from '../nodes/stores.ts';
import type { ServerOf } from '../options.ts';
import { reportInWords } from '../facts.ts';
import type { HttpReport } from '../facts.ts';
import { ChangeLetters } from './change-letters.ts';
import { HandedExchange } from './handed-exchange.ts';
import { readPost } from './letters.ts';
import type { ChangedLetter, Letter } from './letters.ts';
import { Ownership } from './ownership.ts';
import type { Location } from './ownership.ts';
import { Passage } from './passage.ts';
import type { Handing } from './passage.ts';
import { Peer } from './peer.ts';
import type { PeerHome } from './peer.ts';
import { unavailable } from './unavailable.ts';

export interface NodesOptions {
  readonly server: ServerOf;
  /** Those that have sessions here. */
  servers(): readonly McpServer[];
  readonly home: ExchangeHome;
  /** Serves a request that another node has checked. */
  serve(exchange: HttpExchange): void;
}

export class Nodes implements PeerHome, NodeInboxListener {
  readonly ownership: Ownership;
  readonly stores: Stores;
  readonly clock: Clock;
  readonly #options: NodesOptions;
  readonly #peers = new Map<string, Peer>();
  /** Who has had which session: it need not be so still. */
  readonly #owners = new Map<string, string>();
  /** The first server that was served here. */
  #first: McpServer | undefined = undefined;
  /** Servers whose changes are heard. */
  readonly #heard = new WeakSet<McpServer>();
  readonly #changes: ChangeLetters;
  /** Requests whose owners are sought. */
  readonly #seeking = new Set<Promise<void>>();
  #pipes = 0;
  #numbers = 0;

  constructor(stores: Stores, options: NodesOptions) {
    const { home, server } = options;
    this.stores = stores;
    this.clock = home.clock;
    this.#options = options;
    this.ownership = new Ownership(stores, {
      clock: home.clock,
      report: home.report,
      idleMs: home.limits.sessionIdleTimeoutMs,
      inbox: this,
      lapsed: () => this.#lapsed(),
      lettersLost: () => {
        for (const peer of this.#peers.values()) peer.ask();
        this.#changes.lost();
      },
      beat: () => {
        for (const peer of this.#peers.values()) peer.look();
        if (!this.ownership.isStoreYoung) this.#changes.beat();
      },
    });
    this.#changes = new ChangeLetters({
      clock: home.clock,
      report: home.report,
      others: () => this.#others(),
      mayLackOthers: () => this.ownership.isStoreYoung,
      tellHere: (letter, at) => this.#told(letter, at),
      post: (to, letter) => this.#peer(to).post(letter),
    });
    if (typeof server !== 'function') this.join(server);
  }

  /** A server is served here: what changes at it is told to all that have its name. */
  join(server: McpServer): void {
    if (this.#heard.has(server)) return;
    this.#heard.add(server);
    if (!this.#first && !hasKeys(server)) {
      reportInWords(this.#options.home.report, 'warning', 'stateKeys.missing', keysMissing);
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

  get storeName(): string | undefined {
    return this.ownership.storeName;
  }

  async mayReopen(): Promise<boolean> {
    const { store } = await this.stores.directory.find('');
    return store.ageMs < this.stores.leaseMs;
  }

  isStill(node: string): boolean {
    return this.ownership.holds && node === this.node;
  }

  nextNumber(): number {
    return ++this.#numbers;
  }

  /** The node that had a session when it was heard of last; undefined if that is to be found out. */
  known(id: string, { notHere }: HttpExchange): string | undefined {
    return notHere ? undefined : this.#owners.get(id);
  }

  /** It was not where it was. */
  forget(id: string): void {
    this.#owners.delete(id);
  }

  /**
   * Finds out who has the session of a request.
   * @throws {StoreUnavailable}
   */
  async locate(id: string, { principal }: HttpExchange): Promise<Location> {
    const located = await this.ownership.locate(id, principal?.id);
    if (located.kind === 'elsewhere') this.#owners.set(id, located.node);
    const [oldest] = this.#owners.size > maxOwners ? this.#owners.keys() : [];
    if (oldest !== undefined) this.#owners.delete(oldest);
    return located;
  }

  /** Hands a request to the node that owns its session. */
  hand(node: string, handing: Handing): void {
    // The lease may have ended since it was asked who has the session: nothing is sent under its name.
    if (!this.ownership.holds) return handing.again(handing.sinceMs ?? this.clock.now());
    new Passage(++this.#pipes, handing, this.#peer(node), this.#options.home);
  }

  /**
   * Hands the retry of a call to the node that alone can go on with it.
   * @param serve serves it here: that node is this one, or is no more
   */
  handHome(home: string, handing: Handing, serve: () => void): void {
    const { exchange } = handing;
    if (exchange.handedBy !== undefined || home === this.node || !isNodeName(home)) return serve();
    const sought = this.#reads(home).then(
      (isThere) => {
        if (exchange.isGone) return;
        if (isThere) this.hand(home, handing);
        else serve();
      },
      (error: unknown) => exchange.answer(unavailable(error, this.#options.home.report)),
    );
    this.track(sought);
  }

  /** Whether a node still takes what it is told. @throws {StoreUnavailable} */
  async #reads(node: string): Promise<boolean> {
    await this.ownership.ready();
    if ((await this.stores.inbox.send(node, '')) !== undefined) return true;
    if (!(await this.mayReopen())) return false;
    const message = 'the store has lost data, and the node of a call may come back';
    throw new StoreUnavailable('away', message, { retryAfterMs: 1000 });
  }

  received(texts: readonly string[], withdrawn: ReadonlySet<string>): void {
    if (!this.ownership.holds) return;
    for (const text of texts) {
      const { from, number, letters } = readPost(text);
      const peer = this.#peer(from);
      if (number <= peer.heard) continue;
      peer.heard = number;
      for (const letter of letters) this.#read(letter, peer, withdrawn);
    }
  }

  gone(peer: Peer): void {
    for (const [id, node] of this.#owners) if (node === peer.node) this.#owners.delete(id);
    void this.#drop(peer, lingerMs).then(() => {
      if (this.#peers.get(peer.node) === peer) this.#peers.delete(peer.node);
    });
  }

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
    const pending = () =>
      [...this.#peers.values()].flatMap(({ passages }) => [...passages.values()]);
    // A request whose owner is still sought is handed on later.
    while (pending().length + this.#seeking.size > 0 && this.clock.now() < untilMs) {
      for (const passage of pending()) passage.close();
      const settled = [...this.#seeking, ...pending().map(({ over }) => over)];
      await Promise.race([Promise.allSettled(settled), late]);
    }
    this.clock.clearTimeout(timer);
  }

  /** The owner of a request's session is sought. */
  track(seeking: Promise<void>): void {
    this.#seeking.add(seeking);
    const found = () => this.#seeking.delete(seeking);
    seeking.then(found, found);
  }

  /** Leaves the others, once they have been told all. */
  async close(): Promise<void> {
    for (const server of this.#servers()) changesOf(server)?.listen(undefined);
    // What has not been read goes to the node that claims the session.
    await this.stores.inbox.close(this.node).catch(() => undefined);
    await this.ownership.settled();
    await Promise.allSettled([...this.#peers.values()].map((peer) => peer.flushed()));
    await this.ownership.close();
    this.#lapsed();
  }

  async #others(): Promise<readonly string[]> {
    await this.ownership.ready();
    const { node } = this;
    const others = await this.stores.inbox.others(node);
    // Nothing is sent under a name that was given up meanwhile.
    if (this.isStill(node)) return others;
    const message = 'the lease of this node has ended meanwhile';
    throw new StoreUnavailable('away', message, { retryAfterMs: 1000 });
  }

  #peer(node: string): Peer {
    const known = this.#peers.get(node);
    if (known) return known;
    const peer = new Peer(node, this);
    this.#peers.set(node, peer);
    return peer;
  }

  #read(letter: Letter, peer: Peer, withdrawn: ReadonlySet<string>): void {
    switch (letter.kind) {
      case 'request': {
        const { pipe, request } = letter;
        if (withdrawn.has(`${peer.node}:${pipe}`)) return;
        const exchange = new HandedExchange(pipe, request, peer, this.#options.home);
        peer.exchanges.set(pipe, exchange);
        return this.#options.serve(exchange);
      }
      case 'left':
        return peer.exchanges.get(letter.pipe)?.left();
      case 'taken':
        return peer.exchanges.get(letter.pipe)?.taken(letter.bytes);
      case 'asked': {
        const { pipe } = letter;
        return peer.post({ kind: 'sent', pipe, parts: peer.exchanges.get(pipe)?.parts });
      }
      case 'part': {
        const passage = peer.passages.get(letter.pipe);
        if (passage) return passage.part(letter);
        // That it is over here may have been lost with data of the store.
        return letter.isLast ? undefined : peer.post({ kind: 'left', pipe: letter.pipe });
      }
      case 'answer':
        return peer.passages.get(letter.pipe)?.answer(letter);
      case 'sent':
        return peer.passages.get(letter.pipe)?.sent(letter.parts);
      case 'cut':
        return peer.passages.get(letter.pipe)?.cut();
      case 'moved':
        return peer.passages.get(letter.pipe)?.moved();
      case 'changed':
        return peer.isNews(letter.serial) ? this.#told(letter) : undefined;
    }
  }

  /** @param at the server that knows it already */
  #told({ server: name, method, uri }: ChangedLetter, at?: McpServer): void {
    for (const server of this.#servers(name)) {
      if (server !== at) changesOf(server)?.tell(method, uri);
    }
  }

  /** Those that are one to their clients, wherever these are served. */
  #servers(name?: string): Iterable<McpServer> {
    const { server, servers } = this.#options;
    if (typeof server !== 'function') return [server];
    return new Set(
      servers().filter(({ definition }) => definition.name === (name ?? definition.name)),
    );
  }

  #lapsed(): void {
    const peers = [...this.#peers.values()];
    this.#peers.clear();
    this.#owners.clear();
    this.#changes.lapsed();
    for (const peer of peers) void this.#drop(peer, 0);
  }

  async #drop({ exchanges, passages }: Peer, afterMs: number): Promise<void> {
    for (const exchange of [...exchanges.values()]) exchange.left();
    await Promise.all([...passages.values()].map((passage) => passage.lost(afterMs)));
  }
}

/** Of how many sessions it is known where they were. */
const maxOwners = 10_000;

/** How long what a node has said before it left may be on its way, milliseconds. */
const lingerMs = 1000;

/** Whether it seals the states of 2026-07-28 with a key that other nodes have, too. */
const hasKeys = ({ definition }: McpServer): boolean =>
  (definition.stateKeys ?? environmentKeys()) !== undefined;

const keysMissing =
  'Nodes share their sessions, but each seals the states of calls with a key of its own: set stateKeys of the server, or MCP_STATE_KEYS, to the same for all';
