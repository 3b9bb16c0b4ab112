/**
 * What the page knows: every session's last dump and its latest events. Nothing of it is drawn
 * here.
 */
import type {
  PageDump,
  PageEvent,
  PageUpdate,
  SessionUpdate,
  Skipped,
  TransitionEvent,
} from '../page-messages.ts';

/** What passed at a moment and was only counted. */
export interface SkippedEvents {
  readonly kind: 'skipped';
  readonly seq: string;
  readonly at: number;
  readonly counts: readonly Skipped[];
}

export type Row = PageEvent | SkippedEvents;

export interface ShownSession {
  readonly id: string;
  /** Newest last. */
  readonly rows: Row[];
  dump: PageDump;
  /** When the dump came, by `performance.now()`. */
  dumpedAt: number;
  closed: string | undefined;
  /** How many rows were let go. */
  dropped: number;
  /** By {@link ownerOf}. */
  readonly lastTransitions: Map<string, TransitionEvent>;
}

/** What tells apart whose transition it is, as the timeline calls it. */
export function ownerOf({ machine, task }: Pick<TransitionEvent, 'machine' | 'task'>): string {
  return task === undefined ? machine : `${machine} ${task}`;
}

/** Rows that are kept of a session. */
const maxRows = 2000;

export class Model {
  readonly sessions = new Map<string, ShownSession>();
  /** Updates that the page was too slow for. */
  missed = 0;
  #skips = 0;

  apply({ sessions, missed }: PageUpdate): void {
    this.missed += missed;
    const present = new Set(sessions.map(({ id }) => id));
    for (const id of this.sessions.keys()) if (!present.has(id)) this.sessions.delete(id);
    for (const session of sessions) this.#update(session);
  }

  /** What a row answers or is caused by, as far as it is still kept. */
  find(session: ShownSession, seq: number | undefined): PageEvent | undefined {
    const found = seq === undefined ? undefined : session.rows.find((row) => row.seq === seq);
    return found?.kind === 'skipped' ? undefined : found;
  }

  /** The transitions that a frame caused. */
  causedBy(session: ShownSession, seq: number): TransitionEvent[] {
    return session.rows.filter(
      (row): row is TransitionEvent => row.kind === 'transition' && row.causedBy === seq,
    );
  }

  /** The frame that answers a request. */
  answerTo(session: ShownSession, seq: number): PageEvent | undefined {
    return session.rows.find(
      (row): row is PageEvent => row.kind === 'frame' && row.answers === seq,
    );
  }

  #update({ id, dump, closed, events, skipped }: SessionUpdate): void {
    const dumpedAt = performance.now();
    let session = this.sessions.get(id);
    if (!session) {
      const lastTransitions = new Map<string, TransitionEvent>();
      session = { id, rows: [], dump, dumpedAt, closed, dropped: 0, lastTransitions };
      this.sessions.set(id, session);
    }
    session.dump = dump;
    session.dumpedAt = dumpedAt;
    session.closed = closed;
    for (const event of events) {
      session.rows.push(event);
      if (event.kind === 'transition') session.lastTransitions.set(ownerOf(event), event);
    }
    const kept = new Set(dump.tasks.map(({ taskId }) => taskId));
    for (const [owner, { task }] of session.lastTransitions) {
      if (task !== undefined && !kept.has(task)) session.lastTransitions.delete(owner);
    }
    if (skipped.length > 0) {
      this.#skips += 1;
      const seq = `skipped-${this.#skips}`;
      session.rows.push({ kind: 'skipped', seq, at: Date.now(), counts: skipped });
    }
    const excess = session.rows.length - maxRows;
    if (excess > 0) {
      session.rows.splice(0, excess);
      session.dropped += excess;
    }
  }
}
