/**
 * Model of two nodes, one client and one fault in every order: the real `Ownership` over the
 * directory's rules. The explorer decides each step: serve a store call, lose its reply, advance
 * time, or send a request.
 */
import type { Clock } from '../../../../src/actors/clock.ts';
import { StoreUnavailable } from '../../src/nodes/stores.ts';
import type {
  StoredEvent,
  StreamEvent,
  SessionRecord,
  Stores,
  WriteResult,
} from '../../src/nodes/stores.ts';
import { OwnedSession } from '../../src/owner/owned-session.ts';
import { Ownership } from '../../src/owner/ownership.ts';
import { DirectoryRules } from '../../../nodes/test/memory-stores.ts';
import type { DirectoryData } from '../../../nodes/test/memory-stores.ts';

const tickMs = 1000;
const leaseMs = 4 * tickMs;
/** Timeout of a store call, ticks. */
const timeoutTicks = 2;
const id = 's1';

const addressOf = (name: string) => ({ url: `http://${name}.example/mcp`, protocol: 1 });

/** The single fault of a run. */
export type Fault = 'none' | 'emptied' | 'older' | 'stopped' | 'killed' | 'slow';

/** Where the session starts: at its first node, or in a handover. */
export type Beginning = 'kept' | 'given';

/** Requests of the client, in order. */
type Request =
  | { readonly kind: 'write'; readonly value: number }
  | { readonly kind: 'read' | 'delete' };

const script: readonly Request[] = [
  { kind: 'write', value: 1 },
  { kind: 'write', value: 2 },
  { kind: 'read' },
  { kind: 'delete' },
  { kind: 'read' },
];

/** A pending store call. */
interface Call {
  readonly node: ModelNode;
  readonly name: string;
  readonly sinceTick: number;
  serve(): void;
  fail(): void;
  lose(): void;
}

class ModelClock implements Clock {
  nowMs = 0;
  readonly timers = new Map<object, { readonly atMs: number; readonly callback: () => void }>();
  readonly #time: () => number;

  constructor(time: () => number) {
    this.#time = time;
  }

  now(): number {
    return this.#time();
  }

  setTimeout(callback: () => void, delayMs: number): object {
    const handle = {};
    this.timers.set(handle, { atMs: this.#time() + Math.max(1, delayMs), callback });
    return handle;
  }

  clearTimeout(handle: object): void {
    this.timers.delete(handle);
  }

  /** Runs due timers. */
  run(): void {
    const due = [...this.timers].filter(([, { atMs }]) => atMs <= this.#time());
    for (const [handle, { callback }] of due) if (this.timers.delete(handle)) callback();
  }
}

/** Event log of the single session. */
class ModelLog {
  entries: readonly StreamEvent[] = [];
  readonly #rules: DirectoryRules;

  constructor(rules: DirectoryRules) {
    this.#rules = rules;
  }

  append(at: Pick<SessionRecord, 'fence'>, entries: readonly StreamEvent[]): WriteResult {
    return this.put(at, [...this.entries, ...entries]);
  }

  put({ fence }: Pick<SessionRecord, 'fence'>, entries: readonly StreamEvent[]): WriteResult {
    const { record } = this.#rules.find(id);
    if (record?.fence !== fence) return record && record.fence > fence ? 'fenced' : 'behind';
    this.entries = entries;
    return 'written';
  }

  read(): readonly StoredEvent[] {
    return this.entries.map((entry) => ({ ...entry, ageMs: 0 }));
  }
}

/** Copied to model a rollback. */
interface ModelData {
  readonly directory: DirectoryData;
  readonly entries: readonly StreamEvent[];
}

class ModelNode {
  readonly name: string;
  readonly world: World;
  readonly clock: ModelClock;
  readonly ownership: Ownership;
  copy: OwnedSession | undefined = undefined;
  loggedEvents: readonly StreamEvent[] = [];
  /** Replies received while stopped. */
  readonly late: (() => void)[] = [];
  isStopped = false;
  isDead = false;
  /** Resolves pending requests when the node dies. */
  readonly #death: Promise<string>;
  #die!: () => void;

  constructor(name: string, world: World) {
    this.name = name;
    this.world = world;
    this.clock = new ModelClock(() => world.nowMs);
    this.#death = new Promise((resolve) => {
      this.#die = () => resolve('unavailable');
    });
    this.ownership = new Ownership(this.#stores(), {
      clock: this.clock,
      report: () => {},
      idleMs: 1e9,
      address: async () => addressOf(name),
      onJoined: () => {},
      // Broadcasts are dropped, because no guarantee depends on them.
      onRemoved: () => {},
      onStoreChanged: async () => {},
      onRenewed: () => {},
    });
  }

  /** Serves a request like the endpoint. */
  async serve(request: Request, isHanded = false): Promise<string> {
    const { ownership } = this;
    if (!this.copy?.isServedHere) {
      const located = await ownership.locate(id, undefined);
      if (located.kind === 'none') return 'none';
      if (located.kind === 'elsewhere') {
        const owner = this.world.nodes.find(
          ({ ownership: { node } }) => node === located.peer.node,
        );
        if (isHanded || !owner || owner.isDead || owner.isStopped) return 'unavailable';
        return Promise.race([owner.serve(request, true), owner.#death]);
      }
      if (!this.copy?.isServedHere) {
        const { record, log } = located.woken;
        this.own(new OwnedSession({ id, principal: undefined }, this, ownership, 0, record));
        this.loggedEvents = log.map(({ ageMs: _, ...entry }) => entry);
      }
    }
    const { copy } = this;
    if (!copy) return 'unavailable';
    if (request.kind === 'write') {
      const entry = { stream: '1', number: request.value, text: 'said' };
      this.loggedEvents = [...this.loggedEvents, entry];
      void copy.append(entry);
      await copy.saveChanges([{ slot: 'level', text: String(request.value) }]);
      return 'written';
    }
    if (request.kind === 'read') return copy.record.facts['level'] ?? '0';
    await copy.remove();
    this.copy = undefined;
    return 'deleted';
  }

  own(session: OwnedSession): void {
    this.copy = session;
    this.ownership.adopt(session);
  }

  abandon(): void {
    this.copy = undefined;
  }

  kill(): void {
    this.isDead = true;
    this.#die();
  }

  get view(): unknown {
    const { ownership, copy, isStopped, isDead } = this;
    const timers = [...this.clock.timers.values()].map(({ atMs }) => atMs - this.world.nowMs);
    return [
      ownership.view(),
      this.loggedEvents,
      copy?.isServedHere,
      isStopped,
      isDead,
      timers,
      this.late.length,
    ];
  }

  #stores(): Stores {
    const { world } = this;
    const call = <T>(name: string, run: () => T): Promise<T> =>
      new Promise<T>((resolve, reject) => world.call(this, name, run, resolve, reject));
    const free = async <T>(answer: T) => answer;
    return {
      leaseMs,
      directory: {
        lease: (node, how, request) =>
          call(`lease ${JSON.stringify(how)}`, () => world.rules.lease(node, how, request)),
        leave: (node) => free(void world.rules.data.leases.delete(node)),
        find: (key) => call('find', () => world.rules.find(key)),
        node: (name) => free({ address: world.rules.address(name), store: world.rules.age }),
        claim: (key, node, read) =>
          call(`claim ${JSON.stringify(read)}`, () => world.rules.claim(key, node, read)),
        put: (record, until) =>
          call(`put ${JSON.stringify(record)} ${until}`, () => world.rules.put(record, until)),
        write: (at, change) =>
          call(`write ${JSON.stringify([at, change])}`, () => world.rules.write(at, change)),
        remove: (key, fence) => call(`remove ${fence}`, () => world.rules.remove(key, fence)),
        rememberRemoved: (ids) =>
          call(`remember ${ids.join()}`, () => world.rules.rememberRemoved(ids)),
        secret: (candidate) => free(candidate),
      },
      log: {
        append: (at, entries) =>
          call(`append ${entries.length}`, () => world.log.append(at, entries)),
        put: (at, entries) => call(`put log`, () => world.log.put(at, entries)),
        read: () => call('read', () => world.log.read()),
      },
      broadcasts: { publish: () => free(undefined), subscribe: () => free(undefined) },
      close: () => free(undefined),
    };
  }
}

/** One run of the exploration. */
class World {
  nowMs = 0;
  readonly rules: DirectoryRules;
  readonly log: ModelLog;
  readonly nodes: readonly ModelNode[];
  readonly violations: string[] = [];
  readonly #fault: Fault;
  #calls: Call[] = [];
  #snapshots: ModelData[] = [];
  #isFaulty = false;
  #next = 0;
  #asking: Request | undefined = undefined;
  #askedAt: ModelNode | undefined = undefined;
  #acknowledged = 0;
  #deletion: 'none' | 'asked' | 'acknowledged' = 'none';

  constructor(fault: Fault) {
    this.#fault = fault;
    this.rules = new DirectoryRules(() => this.nowMs, leaseMs, 1e9);
    this.log = new ModelLog(this.rules);
    this.nodes = [new ModelNode('a', this), new ModelNode('b', this)];
  }

  /** Both nodes have joined, and the first has started a session. */
  static async begun(
    fault: Fault,
    beginning: Beginning,
    breakIt: (world: World) => void,
  ): Promise<World> {
    const world = new World(fault);
    breakIt(world);
    const [a, b] = world.nodes;
    if (!a || !b) throw new Error('There are no two nodes');
    const session = new OwnedSession({ id, principal: undefined }, a, a.ownership, 0);
    const begun = session.begin([{ slot: 'initialize', text: '{}' }]);
    await world.drain();
    await begun;
    a.copy = session;
    if (beginning === 'given') {
      const given = session.handOver(b.ownership.node);
      await world.drain();
      await given;
    }
    world.#snapshots.push(world.#copy());
    return world;
  }

  call<T>(
    node: ModelNode,
    name: string,
    run: () => T,
    resolve: (value: T) => void,
    reject: (error: Error) => void,
  ): void {
    const answer = (deliver: () => void) => {
      this.#calls = this.#calls.filter((each) => each !== call);
      if (node.isStopped) node.late.push(deliver);
      else if (!node.isDead) deliver();
    };
    const unavailable = (fault: 'away' | 'slow') =>
      new StoreUnavailable(fault, fault, { retryAfterMs: 1 });
    const call: Call = {
      node,
      // Paths are replayed in other runs with other node names.
      name: name.replaceAll(/[0-9a-f]{20}/g, 'a node'),
      sinceTick: this.nowMs / tickMs,
      serve: () => {
        const value = run();
        answer(() => resolve(value));
      },
      fail: () => answer(() => reject(unavailable('slow'))),
      lose: () => {
        run();
        answer(() => reject(unavailable('slow')));
      },
    };
    this.#calls.push(call);
    // Leases are renewed in time, except as a fault or while a node is stopped.
    if (name.startsWith('lease') && this.#fault !== 'slow') call.serve();
  }

  /** Names of the possible next steps. */
  get choices(): readonly string[] {
    const choices = this.#calls.map((call) => `serve ${call.node.name} ${call.name}`);
    if (!this.#asking && this.#next < script.length) {
      for (const node of this.nodes) {
        if (!node.isStopped && !node.isDead) choices.push(`ask ${node.name}`);
      }
    }
    // Calls of a stopped node may arrive arbitrarily late.
    const isLate = this.#calls.some(
      ({ node, sinceTick }) => !node.isStopped && this.nowMs / tickMs - sinceTick >= timeoutTicks,
    );
    if (this.nowMs < 9 * tickMs && !isLate) choices.push('tick');
    if (this.#isFaulty) {
      for (const node of this.nodes) if (node.isStopped) choices.push(`go on ${node.name}`);
      return choices;
    }
    if (this.#fault === 'emptied') choices.push('empty');
    if (this.#fault === 'older') choices.push(...this.#snapshots.map((_, n) => `older ${n}`));
    if (this.#fault === 'stopped') choices.push('stop a');
    if (this.#fault === 'killed') choices.push('kill a');
    if (this.#fault === 'slow') {
      choices.push(...this.#calls.flatMap((_, n) => [`lose ${n}`, `fail ${n}`]));
    }
    return choices;
  }

  async take(choice: string): Promise<void> {
    const [what = '', which = ''] = choice.split(' ', 2);
    const [a] = this.nodes;
    const node = this.nodes.find(({ name }) => name === which);
    if (what === 'serve')
      this.#calls.find((c) => `serve ${c.node.name} ${c.name}` === choice)?.serve();
    else if (what === 'tick') this.#tick();
    else if (what === 'ask' && node) this.#ask(node);
    else if (what === 'go' && choice) this.#goOn();
    else {
      this.#isFaulty = true;
      if (what === 'empty') this.#lose(undefined);
      else if (what === 'older') this.#lose(this.#snapshots[Number(which)]);
      else if (what === 'lose') this.#calls[Number(which)]?.lose();
      else if (what === 'fail') this.#calls[Number(which)]?.fail();
      else if (a) this.#take(a, what);
    }
    await settle();
  }

  /** Canonical state, to detect repeated states. */
  get key(): string {
    const { data, store } = this.rules;
    const { nowMs } = this;
    // Normalizes random node names and absolute times.
    const text = JSON.stringify([
      [...data.leases].map(([name, { untilMs }]) => [name, untilMs - nowMs]),
      [...data.removed],
      [...data.records.values()],
      this.log.entries,
      [store.name, Math.max(-10 * leaseMs, store.sinceMs - nowMs)],
      this.nodes.map(({ view }) => view),
      this.#calls.map(({ node, name, sinceTick }) => [node.name, name, sinceTick * tickMs - nowMs]),
      [
        this.#snapshots.length,
        this.#isFaulty,
        this.#next,
        this.#asking,
        this.#acknowledged,
        this.#deletion,
        nowMs,
      ],
    ]);
    const names = new Map<string, string>();
    return text.replaceAll(/[0-9a-f]{20}/g, (name) => {
      const known = names.get(name) ?? `n${names.size}`;
      names.set(name, known);
      return known;
    });
  }

  /** Serves all calls and advances time until everything is answered. */
  async drain(ticks = 0): Promise<void> {
    await settle();
    // Each node renews once more to detect data changes.
    const untilMs = this.nowMs + (ticks > 0 ? leaseMs : 0);
    for (
      let rest = ticks;
      this.#calls.length > 0 || (rest > 0 && (this.#asking || this.nowMs < untilMs));
    ) {
      if (this.#calls.length > 0) this.#calls[0]?.serve();
      else {
        rest--;
        this.#tick();
      }
      await settle();
    }
    if (ticks === 0) return;
    if (this.#asking) this.violations.push(`${this.#asking.kind} was never answered`);
    const owner = this.nodes.find(({ copy, isDead }) => copy?.isServedHere === true && !isDead);
    // A write that failed for its caller is repaired by the next change.
    if (!owner || this.#fault === 'slow') return;
    const is = shown(this.rules.data.records.get(id), this.log.entries);
    const ought = shown(owner.copy?.record, owner.loggedEvents);
    if (is !== ought) this.violations.push(`the owner has ${ought}, and the store ${is}`);
  }

  #copy(): ModelData {
    return { directory: this.rules.copy(), entries: this.log.entries };
  }

  #lose(data: ModelData | undefined): void {
    const { leases, removed, records } = data?.directory ?? {};
    this.rules.lose({
      leases: new Map(leases),
      removed: new Map(removed),
      records: new Map(records),
    });
    this.log.entries = data?.entries ?? [];
  }

  #tick(): void {
    this.nowMs += tickMs;
    for (const { isStopped, isDead, clock } of this.nodes) if (!isStopped && !isDead) clock.run();
  }

  /** Callers of the node get a closed connection or time out. */
  #take(node: ModelNode, what: string): void {
    if (what === 'kill') node.kill();
    else node.isStopped = true;
    if (this.#askedAt === node) this.#asking = undefined;
  }

  #goOn(): void {
    for (const node of this.nodes) {
      if (!node.isStopped) continue;
      node.isStopped = false;
      node.clock.run();
      for (const deliver of node.late.splice(0)) deliver();
    }
  }

  #ask(node: ModelNode): void {
    const request = script[this.#next++];
    if (!request) return;
    const acknowledged = this.#acknowledged;
    const deletion = this.#deletion;
    this.#asking = request;
    this.#askedAt = node;
    if (request.kind === 'delete') this.#deletion = 'asked';
    const told = (answer: string) => {
      if (this.#asking !== request) return;
      this.#asking = undefined;
      this.#judge(request, answer, acknowledged, deletion);
    };
    node.serve(request).then(told, (error: unknown) => {
      if (!(error instanceof StoreUnavailable)) this.violations.push(`a bug: ${String(error)}`);
      told('unavailable');
    });
  }

  #judge(request: Request, answer: string, acknowledged: number, deletion: string): void {
    if (answer === 'unavailable') return;
    if (deletion === 'acknowledged' && answer !== 'none') {
      this.violations.push(
        `${request.kind} was answered with ${answer} after the session was deleted`,
      );
    }
    if (deletion === 'none' && answer === 'none' && request.kind !== 'delete') {
      this.violations.push(`${request.kind} did not find a session that lives`);
    }
    if (request.kind === 'read' && answer !== 'none' && Number(answer) < acknowledged) {
      this.violations.push(`${acknowledged} was acknowledged, and ${answer} was read`);
    }
    if (request.kind === 'write' && answer === 'written') this.#acknowledged = request.value;
    if (answer === 'deleted') this.#deletion = 'acknowledged';
    this.#snapshots.push(this.#copy());
  }
}

function shown(record: SessionRecord | undefined, said: readonly StreamEvent[]): string {
  const { owner, fence, revision, facts = {} } = record ?? {};
  const known = Object.entries(facts).sort(([one], [other]) => one.localeCompare(other));
  return JSON.stringify([owner, fence, revision, known, said]);
}

/** Runs the callbacks of settled promises. */
async function settle(): Promise<void> {
  for (let n = 0; n < 30; n++) await Promise.resolve();
}

export interface Explored {
  readonly states: number;
  /** Violations with their paths. */
  readonly violations: readonly { readonly what: string; readonly way: readonly string[] }[];
}

/**
 * Explores every order, continuing each state once.
 *
 * @param breakIt breaks the world on purpose, to verify that violations are found
 */
export async function explore(
  fault: Fault,
  maxStates = Infinity,
  breakIt: (world: World) => void = () => {},
  beginning: Beginning = 'kept',
): Promise<Explored> {
  const seen = new Set<string>();
  const violations: { what: string; way: readonly string[] }[] = [];
  const ways: (readonly string[])[] = [[]];
  for (
    let way = ways.pop();
    way && seen.size < maxStates && violations.length === 0;
    way = ways.pop()
  ) {
    const world = await World.begun(fault, beginning, breakIt);
    for (const choice of way) await world.take(choice);
    // Continues this run while it reaches new states, and returns for the rest.
    for (let at = way; ;) {
      const { key, choices } = world;
      if (seen.has(key)) break;
      seen.add(key);
      const [next, ...others] = choices;
      for (const other of others) ways.push([...at, other]);
      if (next === undefined) await world.drain(20);
      for (const what of world.violations) violations.push({ what, way: at });
      if (next === undefined || world.violations.length > 0) break;
      await world.take(next);
      at = [...at, next];
    }
  }
  return { states: seen.size, violations };
}
