/**
 * Data of the page: the latest dump of every session and connection, and recent events. No
 * rendering.
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

/** Events that were only counted in one interval. */
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
  /** Order of arrival, from 1. */
  readonly number: number;
  /** Newest last. Replaced, never mutated. */
  rows: readonly Row[];
  dump: PageDump;
  /** Last dump before the session began to close. */
  lastOpen: PageDump | undefined;
  /** Arrival time of the dump on the `performance.now()` clock. */
  dumpedAt: number;
  closed: string | undefined;
  /** True if the session ended with a failure. */
  isFailure: boolean;
  /** Tool machines by tool name; the most recently called tool is last. */
  readonly machines: Map<string, MachineDefinition>;
  /** Number of old rows dropped. */
  dropped: number;
  /** Keyed by {@link transitionKey}. */
  readonly lastTransitions: Map<string, TransitionEvent>;
}

/** Key that identifies the machine of a transition, as labelled in the timeline. */
export function transitionKey({
  machine,
  task,
}: Pick<TransitionEvent, 'machine' | 'task'>): string {
  return task === undefined ? machine : `${machine} ${task}`;
}

/** Matches transitions of tasks that no longer exist. */
function goneTasks({ tasks }: PageSessionDump): (transition: TransitionEvent) => boolean {
  const kept = new Set(tasks.map(({ taskId }) => taskId));
  return ({ task }) => task !== undefined && !kept.has(task);
}

/** Matches transitions of a connection's processes and streams that no longer exist. */
function goneActors({ actors }: PageConnectionDump): (transition: TransitionEvent) => boolean {
  const kept = new Set(actors.map(({ id }) => id));
  return ({ machine }) => !kept.has(machine);
}

/** Rows kept per session. */
const maxRows = 2000;
/** Ended sessions kept. The server forgets them sooner. */
const maxEnded = 30;

export class Model {
  readonly sessions = new Map<string, ShownSession>();
  /** Updates dropped because the page was too slow. */
  missed = 0;
  /** Open sessions that the server does not send. */
  omitted = 0;
  /** URLs at which clients can connect. */
  endpoints: readonly string[] = [];
  #skips = 0;
  #arrived = 0;

  apply({ sessions, omitted, missed, endpoints }: PageUpdate): void {
    this.missed += missed;
    this.omitted = omitted;
    this.endpoints = endpoints;
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
      if (event.kind === 'transition') session.lastTransitions.set(transitionKey(event), event);
    }
    const isGone = dump.side === 'server' ? goneTasks(dump) : goneActors(dump);
    for (const [owner, transition] of session.lastTransitions) {
      if (isGone(transition)) session.lastTransitions.delete(owner);
    }
    const counted = skipped.length > 0 ? [this.#skipped(skipped)] : [];
    // After a reconnect, the server repeats unanswered requests: skip known ones.
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

/** Finds an event by its number. */
export function eventOf({ rows }: ShownSession, seq: number | undefined): PageEvent | undefined {
  return rows.find((row): row is PageEvent => row.kind !== 'skipped' && row.seq === seq);
}

/** Transitions caused by a frame. */
export function causedBy({ rows }: ShownSession, seq: number): readonly TransitionEvent[] {
  return rows.filter(
    (row): row is TransitionEvent => row.kind === 'transition' && row.causedBy === seq,
  );
}

/** The event itself if it is a transition, otherwise the first transition it caused. */
export function transitionOf(
  session: ShownSession,
  event: PageEvent | undefined,
): TransitionEvent | undefined {
  if (!event || event.kind === 'transition') return event;
  return causedBy(session, event.seq)[0];
}

/** The response to a request. */
export function answerTo({ rows }: ShownSession, seq: number): PageEvent | undefined {
  return rows.find((row): row is PageEvent => row.kind === 'frame' && row.answers === seq);
}

/**
 * The related event to jump to: a transition's cause; for a frame, the transition it caused, else
 * its response, else its request.
 */
export function nextOf(session: ShownSession, event: PageEvent): PageEvent | undefined {
  if (event.kind === 'transition') return eventOf(session, event.causedBy);
  const [caused] = causedBy(session, event.seq);
  return caused ?? answerTo(session, event.seq) ?? eventOf(session, event.answers);
}
