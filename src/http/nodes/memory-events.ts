import type { Clock } from '../../actors/clock.ts';
import type { RequestId } from '../../protocol/frames.ts';
import type { EventLimits, EventStore, Followed, Replay, StreamEvent } from './event-store.ts';
import { StreamFollower } from './stream-follower.ts';
import { writerOf } from './names.ts';
import type { EventPlace } from './names.ts';

interface OpenStream {
  unanswered: readonly RequestId[];
  last: number;
}

interface LoggedEvent {
  /** The end of a stream has the number of its last event. */
  readonly kind: 'event' | 'end';
  readonly event: StreamEvent;
  readonly atMs: number;
}

interface SessionLog {
  /** Oldest first. */
  readonly entries: LoggedEvent[];
  bytes: number;
  readonly open: Map<string, OpenStream>;
}

const done = Promise.resolve();

/** Event logs in this process's memory, for all of its nodes. A byte is a UTF-16 unit here. */
export class MemoryEvents implements EventStore {
  readonly #limits: EventLimits;
  readonly #clock: Clock;
  readonly #isAlive: (node: string) => boolean;
  readonly #logs = new Map<string, SessionLog>();
  readonly #followers = new Map<string, Set<StreamFollower>>();
  /** Set while there is something that ages. */
  #sweep: unknown;

  constructor(limits: EventLimits, clock: Clock, isAlive: (node: string) => boolean) {
    this.#limits = limits;
    this.#clock = clock;
    this.#isAlive = isAlive;
  }

  open(session: string, stream: string, requests: readonly RequestId[]): Promise<void> {
    this.#logOf(session).open.set(stream, { unanswered: requests, last: 0 });
    return done;
  }

  append(session: string, event: StreamEvent): Promise<void> {
    const log = this.#logOf(session);
    const { stream, number, answers } = event;
    const open = log.open.get(stream);
    if (open) {
      open.last = number;
      if (answers !== undefined) open.unanswered = open.unanswered.filter((id) => id !== answers);
    }
    this.#add(session, log, { kind: 'event', event, atMs: this.#clock.now() });
    return done;
  }

  end(session: string, last: EventPlace): Promise<void> {
    const log = this.#logOf(session);
    log.open.delete(last.stream);
    this.#add(session, log, { kind: 'end', event: { ...last, text: '' }, atMs: this.#clock.now() });
    return done;
  }

  async replay(session: string, after: EventPlace): Promise<Replay> {
    const log = this.#logs.get(session);
    if (!log) return { events: [], missed: 0, state: { kind: 'unknown' } };
    this.#trim(log);
    const ofStream = log.entries.filter(({ event }) => event.stream === after.stream);
    const events = ofStream
      .filter(({ kind, event }) => kind === 'event' && event.number > after.number)
      .map(({ event }) => event);
    const open = log.open.get(after.stream);
    const latest = ofStream.at(-1);
    const last = open?.last ?? latest?.event.number ?? after.number;
    const missed = Math.max(0, last - after.number - events.length);
    if (open) return { events, missed, state: { kind: 'open', unanswered: open.unanswered } };
    if (!latest) return { events, missed, state: { kind: 'unknown' } };
    if (latest.kind === 'end') return { events, missed, state: { kind: 'ended' } };
    return { events, missed, state: { kind: 'open', unanswered: [] } };
  }

  follow(session: string, after: EventPlace, listener: (followed: Followed) => void): () => void {
    const { stream } = after;
    const follower = new StreamFollower(
      {
        replay: (number) => this.replay(session, { stream, number }),
        isOwnerAlive: async () => this.#isAlive(writerOf(stream)),
      },
      after.number,
      (followed) => {
        if (follower.isEnded) this.#unfollow(session, follower);
        listener(followed);
      },
    );
    const followers = this.#followers.get(session);
    if (followers) followers.add(follower);
    else this.#followers.set(session, new Set([follower]));
    follower.look();
    return () => {
      follower.stop();
      this.#unfollow(session, follower);
    };
  }

  forget(session: string): Promise<void> {
    this.#logs.delete(session);
    this.#lookAgain(session);
    return done;
  }

  /** A node has died: the followers of its streams have to know. */
  nodeDied(): void {
    for (const session of this.#followers.keys()) this.#lookAgain(session);
  }

  /** Drops everything, and clears the timer. */
  close(): void {
    this.#clock.clearTimeout(this.#sweep);
    this.#logs.clear();
    this.#followers.clear();
  }

  #unfollow(session: string, follower: StreamFollower): void {
    const followers = this.#followers.get(session);
    if (followers?.delete(follower) === true && followers.size === 0) {
      this.#followers.delete(session);
    }
  }

  #lookAgain(session: string): void {
    for (const follower of this.#followers.get(session) ?? []) follower.look();
  }

  #logOf(session: string): SessionLog {
    let log = this.#logs.get(session);
    if (!log) this.#logs.set(session, (log = { entries: [], bytes: 0, open: new Map() }));
    return log;
  }

  #add(session: string, log: SessionLog, entry: LoggedEvent): void {
    log.entries.push(entry);
    log.bytes += entry.event.text.length;
    this.#trim(log);
    this.#sweep ??= this.#clock.setTimeout(() => this.#sweepAll(), this.#limits.maxAgeMs);
    this.#lookAgain(session);
  }

  #trim(log: SessionLog): void {
    const { maxEvents, maxBytes, maxAgeMs } = this.#limits;
    const oldestMs = this.#clock.now() - maxAgeMs;
    let dropped = 0;
    for (const { event, atMs } of log.entries) {
      const isFull = log.entries.length - dropped > maxEvents || log.bytes > maxBytes;
      if (!isFull && atMs > oldestMs) break;
      log.bytes -= event.text.length;
      dropped++;
    }
    if (dropped > 0) log.entries.splice(0, dropped);
  }

  /** What nobody adds to or reads ages too. */
  #sweepAll(): void {
    for (const [session, log] of this.#logs) {
      this.#trim(log);
      if (log.entries.length === 0 && log.open.size === 0) this.#logs.delete(session);
    }
    const hasEntries = [...this.#logs.values()].some(({ entries }) => entries.length > 0);
    this.#sweep = hasEntries
      ? this.#clock.setTimeout(() => this.#sweepAll(), this.#limits.maxAgeMs)
      : undefined;
  }
}
