/**
 * A session that several nodes serve, as one of them sees it: each has a replica, a session actor
 * that was fed with what the client has said so far. What a message changes for all of them goes
 * into the journal, and to the others, before the message is accepted.
 */
import { closingChart } from '../../machines/closing.machine.ts';
import { classifyMessage } from '../../protocol/classify.ts';
import type { InboundFrame, JsonObject, OutboundFrame } from '../../protocol/frames.ts';
import { Method } from '../../protocol/methods.ts';
import type { SessionEnvironment } from '../../session/session-environment.ts';
import type { Letter, RemovalReason } from '../nodes/mailbox.ts';
import type { SessionRecord } from '../nodes/session-store.ts';
import { StoreUnavailable } from '../nodes/stores.ts';
import { Journal, changeBy, frameOf, rootsSlot } from './journal.ts';
import type { Change } from './journal.ts';
import { passOn } from './passing.ts';
import type { PassOutcome } from './passing.ts';
import { ReplicatedEvents } from './replicated-events.ts';
import type { WritingHome } from './replicated-events.ts';
import { ReplicatedPushes } from './replicated-pushes.ts';
import type { PushWriter } from './replicated-pushes.ts';
import { SessionGone, reportUnavailable } from './unavailable.ts';
import { readRootsResult } from '../../protocol/roots.ts';
import { plainEnvironment } from '../../session/session-environment.ts';
import { requestIdEnd } from '../nodes/names.ts';

/** The session actor of this node, and its streams. */
export interface Replica extends PushWriter {
  /** The revision that was negotiated. */
  readonly dialect: { readonly version: string } | undefined;
  /** Takes a message as if the client had sent it here. */
  receive(frame: InboundFrame): void;
  /** The client has resumed a stream of this node's elsewhere. */
  letGo(stream: string): void;
  /** It is over for all nodes. */
  delete(): void;
}

/** What the sessions of a node have in common. */
export interface SharingHome extends WritingHome {
  /** A number that no other stream of this node has. */
  nextSerial(): number;
  /** Looks whether the session is still there. @throws {StoreUnavailable} */
  verify(session: ReplicatedSession): Promise<void>;
  /** Sessions were removed to make room. */
  evicted(ids: readonly string[]): void;
}

export class ReplicatedSession {
  readonly id: string;
  readonly principalId: string | undefined;
  readonly home: SharingHome;
  readonly environment: SessionEnvironment;
  readonly pushes: ReplicatedPushes;
  readonly events: ReplicatedEvents;
  readonly #journal = new Journal();
  #replica: Replica | undefined = undefined;
  /** How often the client has said that its roots have changed. */
  #rootsChanges = 0;
  #refreshing: Promise<void> | undefined = undefined;
  #closing = closingChart.begun;

  constructor(
    id: string,
    principalId: string | undefined,
    home: SharingHome,
    environment?: SessionEnvironment,
  ) {
    this.id = id;
    this.principalId = principalId;
    this.home = home;
    this.pushes = new ReplicatedPushes(id, home.stores.mailbox, () => this.replica);
    this.events = new ReplicatedEvents(id, home);
    this.environment = replicatedEnvironment(
      home.stores.node,
      { known: () => this.#knownRoots(), asking: () => this.#askingRoots() },
      environment,
    );
  }

  get replica(): Replica {
    if (!this.#replica) throw new Error('The session has no replica yet');
    return this.#replica;
  }

  get version(): number {
    return this.#journal.version;
  }

  get isOver(): boolean {
    return this.#closing.value === 'closed';
  }

  get record(): SessionRecord {
    const { id, principalId: principal, version } = this;
    const revision = this.replica.dialect?.version ?? '';
    return { id, principal, revision, version, journal: this.#journal.entries };
  }

  /** @param record what the store has of it; undefined for a session that begins here */
  attach(replica: Replica, record?: SessionRecord): void {
    this.#replica = replica;
    if (record) this.#feed(this.#journal.take(record));
  }

  // What the client posts here.

  /** Hands on what is for other nodes, too; undefined if there is nothing of the kind. */
  pass(frame: InboundFrame): Promise<PassOutcome> | undefined {
    return passOn(frame, this);
  }

  /**
   * Notes what a request has changed, before its response goes out; undefined if that is nothing.
   * It rejects if it could not be noted.
   */
  noting(request: InboundFrame, response: OutboundFrame): Promise<void> | undefined {
    if (request.kind === 'request') {
      if (!('result' in response)) return undefined;
      if (request.method === Method.initialize) return this.#create(request.params ?? {});
      const change = changeBy(request);
      return change && this.note(change);
    }
    if (request.kind !== 'batch' || !Array.isArray(response)) return undefined;
    const served = new Set(
      response.flatMap((each: object) => ('result' in each && 'id' in each ? [each.id] : [])),
    );
    const changes = request.messages.flatMap((message) => {
      const part = classifyMessage(message);
      const change = part.kind === 'request' && served.has(part.id) ? changeBy(part) : undefined;
      return change ? [change] : [];
    });
    return changes.length === 0 ? undefined : this.#noteAll(changes);
  }

  // What other nodes tell.

  letter(letter: Letter): void {
    switch (letter.kind) {
      case 'answer':
        return this.replica.receive(classifyMessage(JSON.parse(letter.text)));
      case 'notification':
        return this.#notified(classifyMessage(JSON.parse(letter.text)));
      case 'updated':
        return this.#updated(letter.version, { slot: letter.slot, text: letter.text });
      case 'removed':
        return this.end();
      case 'resumed':
        return this.replica.letGo(letter.stream);
    }
  }

  /** Brings the replica up to what the store has. */
  refresh(): Promise<void> {
    return (this.#refreshing ??= this.#refresh().finally(() => {
      this.#refreshing = undefined;
    }));
  }

  /** It is over at all nodes: ends the replica here. */
  end(): void {
    if (this.isOver) return;
    this.#closing = closingChart.next(this.#closing, { type: 'close.done' });
    this.replica.delete();
  }

  /** Ends it for all nodes. @throws {StoreUnavailable} */
  async remove(reason: RemovalReason): Promise<void> {
    const { sessions, events, mailbox } = this.home.stores;
    await sessions.remove(this.id);
    this.end();
    const told = mailbox.broadcast({ kind: 'removed', session: this.id, reason });
    await Promise.all([told, events.forget(this.id)]);
    await mailbox.forget(this.id);
  }

  /** This node serves it no more; others may. */
  leave(): void {
    if (this.isOver) return;
    this.#closing = closingChart.next(this.#closing, { type: 'close.done' });
    const { mailbox } = this.home.stores;
    const failed = reportUnavailable(this.home.report, 'A session was not let go');
    mailbox.leave(this.id).catch(failed);
  }

  async #create(params: JsonObject): Promise<void> {
    const { sessions, mailbox } = this.home.stores;
    const { id, principalId: principal } = this;
    const initialize = JSON.stringify(params);
    const revision = this.replica.dialect?.version ?? '';
    try {
      const creation = await sessions.create({ id, principal, revision, initialize });
      if (creation.kind === 'full') {
        const message = 'as many sessions are open as may be, and none of them is idle';
        throw new StoreUnavailable('full', message, creation);
      }
      this.#journal.set(1, { slot: 'initialize', text: initialize });
      this.home.evicted(creation.evicted);
      await mailbox.join(id);
    } catch (error) {
      this.end();
      throw error;
    }
  }

  async #noteAll(changes: readonly Change[]): Promise<void> {
    for (const change of changes) await this.note(change);
  }

  /**
   * Notes a change for all nodes.
   * @throws {StoreUnavailable | SessionGone}
   */
  async note(change: Change): Promise<void> {
    const { sessions, mailbox } = this.home.stores;
    const { id: session } = this;
    let update = await sessions.update(session, change.slot, change.text);
    if (update.kind === 'gone') {
      await this.home.verify(this);
      if (!this.isOver) update = await sessions.update(session, change.slot, change.text);
    }
    if (update.kind === 'gone') {
      this.end();
      throw new SessionGone(`The session ${session} has ended`);
    }
    if (update.kind === 'full') {
      const message = `what is kept of a session may have ${update.maxBytes} bytes`;
      throw new StoreUnavailable('full', message, { retryAfterMs: 10_000 });
    }
    const { version } = update;
    if (version === this.version + 1) this.#journal.set(version, change);
    else if (version > this.version) await this.refresh();
    await mailbox.broadcast({ kind: 'updated', session, version, ...change });
  }

  #notified(frame: InboundFrame): void {
    if (frame.kind === 'notification' && frame.method === Method.rootsListChanged) {
      this.distrustRoots();
    }
    this.replica.receive(frame);
  }

  #updated(version: number, change: Change): void {
    if (version <= this.version) return;
    if (version === this.version + 1 && !this.#refreshing) {
      this.#journal.set(version, change);
      // That they have changed is told by a letter of its own; a list is new to nobody.
      if (change.slot !== rootsSlot) this.#feed([change]);
      return;
    }
    this.refresh().catch(reportUnavailable(this.home.report, 'A replica is behind'));
  }

  async #refresh(): Promise<void> {
    const record = await this.home.stores.sessions.load(this.id);
    if (this.isOver) return;
    if (record) this.#feed(this.#journal.take(record));
    else await this.home.verify(this);
  }

  #feed(changes: readonly Change[]): void {
    for (const change of changes) {
      const frame = frameOf(change);
      if (frame) this.replica.receive(frame);
    }
  }

  #knownRoots(): JsonObject | undefined {
    const text = this.#journal.text(rootsSlot);
    return text === undefined ? undefined : (JSON.parse(text) as JsonObject);
  }

  #askingRoots(): (result: JsonObject) => void {
    const changes = this.#rootsChanges;
    return ({ roots }) => {
      if (changes !== this.#rootsChanges || this.isOver) return;
      const noted = this.note({ slot: rootsSlot, text: JSON.stringify({ roots }) });
      noted.catch(reportUnavailable(this.home.report, 'The roots of a client were not shared'));
    };
  }

  /** What the client has listed must not be used from now on. */
  distrustRoots(): void {
    this.#rootsChanges++;
    this.#journal.distrust(rootsSlot);
  }
}

/** The client's roots, as all nodes know them. */
export interface ReplicatedRoots {
  /** What the client has listed, as far as it has not changed since; undefined if nobody knows. */
  known(): JsonObject | undefined;
  /** Notes what the client is asked from now on. @returns takes its list */
  asking(): (result: JsonObject) => void;
}

/**
 * What a session that has several nodes gets from outside: its requests to the client have ids that
 * tell which node asks, and a client that has listed its roots to one node is asked by no other.
 */
function replicatedEnvironment(
  node: string,
  roots: ReplicatedRoots,
  inner: SessionEnvironment = plainEnvironment,
): SessionEnvironment {
  return {
    clock: (clock) => inner.clock(clock),
    begin: (session) => inner.begin(session),
    handlers: (handlers) => inner.handlers(handlers),
    transport: (transport) => inner.transport(transport),
    timeOfDay: () => inner.timeOfDay?.(),
    randomId: (of, make) => {
      const ownMake = of === 'request' ? () => requestIdEnd(node) : make;
      return inner.randomId?.(of, ownMake) ?? ownMake();
    },
    sealer: (sealer) => inner.sealer(sealer),
    resolveRoots: (resolve) => inner.resolveRoots(resolve),
    listRoots: async (ask) => {
      const known = roots.known();
      if (known) return known;
      const listed = roots.asking();
      const result = await inner.listRoots(ask);
      if (readRootsResult(result).ok) listed(result);
      return result;
    },
    notify: (...notification) => inner.notify(...notification),
    notice: (...change) => inner.notice(...change),
    shutdown: (...shutdown) => inner.shutdown(...shutdown),
    ping: (...ping) => inner.ping(...ping),
    listener: (...call) => inner.listener(...call),
    closed: (cause) => inner.closed(cause),
  };
}
