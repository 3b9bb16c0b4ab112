/**
 * What the page knows: the last dump of every session and connection, and the latest events. Nothing
 * of it is drawn here.
 */
import { headlineOf } from 'mcp-actors';
import type { MachineDefinition } from '../charts/machine-definition.ts';
import type {
  PageConnectionDump,
  PageDump,
  PageEvent,
  PageSessionDump,
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

/** A session or a connection. */
export interface ShownSession {
  readonly id: string;
  /** Its place in the order of arrival, from 1. */
  readonly number: number;
  /** Newest last. A new list with each change. */
  rows: readonly Row[];
  dump: PageDump;
  /** The last dump before the session began to end: what it held. */
  lastOpen: PageDump | undefined;
  /** When the dump came, by `performance.now()`. */
  dumpedAt: number;
  closed: string | undefined;
  /** Whether the end was a failure. */
  isFailure: boolean;
  /** The machines of tools, by the tools' names; that of the last call at the end. */
  readonly machines: Map<string, MachineDefinition>;
  /** How many rows were let go. */
  dropped: number;
  /** By {@link ownerOfEntry}. */
  readonly lastTransitions: Map<string, TransitionEvent>;
}

/** What tells apart whose transition it is, as the timeline calls it. */
export function ownerOfEntry({ machine, task }: Pick<TransitionEvent, 'machine' | 'task'>): string {
  return task === undefined ? machine : `${machine} ${task}`;
}

/** Of a session, tasks come and go. */
function goneTasks({ tasks }: PageSessionDump): (transition: TransitionEvent) => boolean {
  const kept = new Set(tasks.map(({ taskId }) => taskId));
  return ({ task }) => task !== undefined && !kept.has(task);
}

/** Of a connection, processes and streams do. */
function goneActors({ actors }: PageConnectionDump): (transition: TransitionEvent) => boolean {
  const kept = new Set(actors.map(({ id }) => id));
  return ({ machine }) => !kept.has(machine);
}

/** Rows that are kept of a session. */
const maxRows = 2000;
/** Ended sessions that are kept. The server forgets them sooner. */
const maxEnded = 30;

export class Model {
  readonly sessions = new Map<string, ShownSession>();
  /** Updates that the page was too slow for. */
  missed = 0;
  /** Open sessions that the server does not show. */
  omitted = 0;
  /** Where clients are served. */
  places: readonly string[] = [];
  #skips = 0;
  #arrived = 0;

  apply({ sessions, omitted, missed, places }: PageUpdate): void {
    this.missed += missed;
    this.omitted = omitted;
    this.places = places;
    const present = new Set(sessions.map(({ id }) => id));
    for (const { id, closed } of this.sessions.values()) {
      if (closed === undefined && !present.has(id)) this.sessions.delete(id);
    }
    for (const session of sessions) this.#update(session);
    const ended = [...this.sessions.values()].filter(({ closed }) => closed !== undefined);
    for (const { id } of ended.slice(0, -maxEnded)) this.sessions.delete(id);
  }

  #update({ id, dump, closed, isFailure = false, ...update }: SessionUpdate): void {
    const { machines, events, skipped } = update;
    const session = this.sessions.get(id) ?? this.#begin(id, dump);
    if (headlineOf(dump).mood !== 'ended') session.lastOpen = dump;
    session.dump = dump;
    session.dumpedAt = performance.now();
    session.closed = closed;
    session.isFailure = isFailure;
    for (const [tool, machine] of Object.entries(machines)) session.machines.set(tool, machine);
    for (const event of events) {
      if (event.kind === 'transition') session.lastTransitions.set(ownerOfEntry(event), event);
    }
    const isGone = dump.side === 'server' ? goneTasks(dump) : goneActors(dump);
    for (const [owner, transition] of session.lastTransitions) {
      if (isGone(transition)) session.lastTransitions.delete(owner);
    }
    const counted = skipped.length > 0 ? [this.#skipped(skipped)] : [];
    // After a break of the stream what is not answered is told once more.
    const known = new Set(session.rows.map(({ seq }) => seq));
    const fresh = events.filter(({ seq }) => !known.has(seq));
    if (fresh.length + counted.length === 0) return;
    const rows = [...session.rows, ...fresh, ...counted];
    session.dropped += Math.max(0, rows.length - maxRows);
    session.rows = rows.slice(-maxRows);
  }

  #begin(id: string, dump: PageDump): ShownSession {
    this.#arrived += 1;
    const session: ShownSession = {
      id,
      number: this.#arrived,
      rows: [],
      dump,
      lastOpen: undefined,
      dumpedAt: 0,
      closed: undefined,
      isFailure: false,
      machines: new Map(),
      dropped: 0,
      lastTransitions: new Map(),
    };
    this.sessions.set(id, session);
    return session;
  }

  #skipped(counts: readonly Skipped[]): SkippedEvents {
    this.#skips += 1;
    return { kind: 'skipped', seq: `skipped-${this.#skips}`, at: Date.now(), counts };
  }
}

/** The event of this number, if it is still kept. */
export function eventOf({ rows }: ShownSession, seq: number | undefined): PageEvent | undefined {
  return rows.find((row): row is PageEvent => row.kind !== 'skipped' && row.seq === seq);
}

/** The transitions that a frame caused. */
export function causedBy({ rows }: ShownSession, seq: number): readonly TransitionEvent[] {
  return rows.filter(
    (row): row is TransitionEvent => row.kind === 'transition' && row.causedBy === seq,
  );
}

/** The transition that an event is or caused. */
export function movedBy(
  session: ShownSession,
  event: PageEvent | undefined,
): TransitionEvent | undefined {
  if (!event || event.kind === 'transition') return event;
  return causedBy(session, event.seq)[0];
}

/** The frame that answers a request. */
export function answerTo({ rows }: ShownSession, seq: number): PageEvent | undefined {
  return rows.find((row): row is PageEvent => row.kind === 'frame' && row.answers === seq);
}

/** The event that one would look at next: the transition, or the cause, or the answer. */
export function nextOf(session: ShownSession, event: PageEvent): PageEvent | undefined {
  if (event.kind === 'transition') return eventOf(session, event.causedBy);
  const [caused] = causedBy(session, event.seq);
  return caused ?? answerTo(session, event.seq) ?? eventOf(session, event.answers);
}
