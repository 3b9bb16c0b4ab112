/**
 * Sessions and connections of one page, and its viewers. Without a viewer, nothing is observed and
 * no timer runs. Otherwise all viewers get the sampled events a few times per second.
 */
import type { AnyStateMachine } from 'xstate';
import type { CloseCause, SessionDump, WatchedSession } from 'mcp-actors';
import type { ConnectionDump, WatchedConnection } from 'mcp-actors/client';
import { textOfError } from 'mcp-actors/internal';
import type { PageUpdate, SessionUpdate } from './page-messages.ts';
import { boundedDump } from './page-dump.ts';
import { machineDefinition } from './charts/machine-definition.ts';
import type { MachineDefinition } from './charts/machine-definition.ts';
import { SessionSampler } from './session-sampler.ts';
import { ShownSessions, maxShown } from './shown-sessions.ts';
import type { SessionSample } from './session-sampler.ts';

/** A browser with the page open. */
export interface Viewer {
  /**
   * Sends an update.
   * @returns false if the viewer is too slow, so that the update is skipped and counted
   */
  send(update: PageUpdate): boolean;
  /** Ends the stream of updates. */
  end(): void;
}

/** A server's session or a host's connection. */
export type Watched = WatchedSession | WatchedConnection;

interface TrackedSession {
  readonly session: Watched;
  readonly sampler: SessionSampler;
  closed: End | undefined;
}

/** Reason for the end of a session or connection. */
type End = Required<Pick<SessionUpdate, 'closed' | 'isFailure'>>;

/** Interval between updates, ms. */
const intervalMs = 200;
/** Without events, only every nth update is sent, to refresh the displayed ages. */
const idleUpdateInterval = 5;
/**
 * Updates skipped after a burst unless a machine moves: counts lose nothing, and the traffic needs
 * the CPU time.
 */
const updatesSkippedAfterBurst = 4;
/** Number of ended sessions kept for display. */
const maxEnded = 8;

export class PageSessions {
  readonly #tracked = new Map<string, TrackedSession>();
  /** Sessions visible to the viewers. */
  readonly #shown = new ShownSessions<TrackedSession>();
  /** Viewers with the number of updates each has missed in a row. */
  readonly #viewers = new Map<Viewer, number>();
  #timer: NodeJS.Timeout | undefined;
  readonly #endpoints: string[] = [];
  #quiet = 0;
  #skipsLeft = 0;

  /** Watcher of sessions and connections. */
  readonly watch = (session: Watched): void => {
    const kept: TrackedSession = {
      session,
      sampler: new SessionSampler(session),
      closed: undefined,
    };
    // A server listed before it had a connection may have one now: replace its entry.
    const before = this.#tracked.get(session.id);
    if (before) this.#shown.remove(before);
    this.#tracked.set(session.id, kept);
    if (this.#viewers.size > 0) this.#shown.show(kept);
    const end = (closed: End) => {
      if (this.#tracked.get(session.id) !== kept) return;
      kept.closed = closed;
      // A viewer must see each end before its session is forgotten.
      if (this.#viewers.size === 0) this.#forgetOldest();
      else if (!this.#shown.has(kept)) this.#tracked.delete(session.id);
    };
    if (session.side === 'server') void session.closed.then((cause) => end(endBy(cause)));
    else {
      void session.closed.then((error) =>
        end({ closed: error?.message ?? 'closed by the host', isFailure: error !== undefined }),
      );
    }
  };

  /** See {@link InspectedPage.serves}. */
  addEndpoint(place: string): void {
    this.#endpoints.push(place);
    if (this.#viewers.size > 0) this.#send(this.#sample());
  }

  /** @returns function that removes the viewer */
  open(viewer: Viewer): () => void {
    // Deliver pending samples to existing viewers only: a new viewer starts with the current state.
    this.#update();
    this.#viewers.set(viewer, 0);
    if (!this.#timer) this.#start();
    viewer.send(this.#present());
    return () => {
      if (this.#viewers.delete(viewer) && this.#viewers.size === 0) this.#stop();
    };
  }

  /** Sends a final update to the viewers and ends their streams. */
  close(): void {
    if (this.#viewers.size > 0) this.#send(this.#sample());
    for (const viewer of this.#viewers.keys()) viewer.end();
    this.#viewers.clear();
    this.#stop();
    this.#tracked.clear();
  }

  #start(): void {
    for (const kept of [...this.#tracked.values()].reverse()) {
      if (this.#shown.size >= maxShown) break;
      this.#shown.show(kept);
    }
    this.#quiet = 0;
    this.#timer = setInterval(() => this.#update(), intervalMs);
    this.#timer.unref();
  }

  #stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#shown.clear();
  }

  #present(): PageUpdate {
    const sessions = this.#visible.map((kept) => {
      const dump = kept.session.dump();
      // Include unanswered requests, however old: they explain what a session waits for.
      const events = kept.closed ? [] : kept.sampler.unanswered(dump);
      return updateOf(kept, dump, { events, skipped: [] });
    });
    return { sessions, omitted: this.#omitted, missed: 0, endpoints: this.#endpoints };
  }

  #update(): void {
    if (this.#viewers.size === 0) return;
    this.#shown.scan([...this.#tracked.values()]);
    const hasMoved = this.#visible.some(({ sampler }) => sampler.hasMoved);
    if (this.#skipsLeft > 0 && !hasMoved) {
      this.#skipsLeft -= 1;
      return;
    }
    const samples = this.#sample();
    const isQuiet = samples.every(
      ([, { events, skipped }]) => events.length + skipped.length === 0,
    );
    this.#quiet = isQuiet ? this.#quiet + 1 : 0;
    if (isQuiet && this.#quiet % idleUpdateInterval !== 0) return;
    this.#skipsLeft = samples.some(([, { skipped }]) => skipped.length > 0)
      ? updatesSkippedAfterBurst
      : 0;
    this.#send(samples);
  }

  #sample(): readonly (readonly [TrackedSession, SessionSample])[] {
    return this.#visible.map((kept) => [kept, kept.sampler.take()] as const);
  }

  #send(samples: readonly (readonly [TrackedSession, SessionSample])[]): void {
    const sessions = samples.map(([kept, sample]) => updateOf(kept, kept.session.dump(), sample));
    const update = { sessions, omitted: this.#omitted, endpoints: this.#endpoints };
    for (const [viewer, missed] of this.#viewers) {
      this.#viewers.set(viewer, viewer.send({ ...update, missed }) ? 0 : missed + 1);
    }
    this.#forgetOldest();
  }

  #forgetOldest(): void {
    const ended = [...this.#tracked.values()].filter(({ closed }) => closed !== undefined);
    for (const kept of ended.slice(0, -maxEnded)) {
      this.#tracked.delete(kept.session.id);
      this.#shown.remove(kept);
    }
  }

  get #visible(): readonly TrackedSession[] {
    return [...this.#tracked.values()].filter((kept) => this.#shown.has(kept));
  }

  /** Number of sessions hidden from the viewers. */
  get #omitted(): number {
    return this.#tracked.size - this.#shown.size;
  }
}

function updateOf(
  { session, closed }: TrackedSession,
  dump: SessionDump | ConnectionDump,
  sample: SessionSample,
): SessionUpdate {
  return {
    id: session.id,
    ...closed,
    dump: boundedDump(dump),
    machines: session.side === 'server' ? machinesOf(session, dump.calls) : {},
    ...sample,
  };
}

/** Tools per update whose machines are sent. */
const maxMachines = 20;
const definitions = new WeakMap<AnyStateMachine, MachineDefinition>();

function machinesOf(
  { toolMachine }: Pick<WatchedSession, 'toolMachine'>,
  calls: SessionDump['calls'],
): SessionUpdate['machines'] {
  const names = calls.flatMap(({ machine, subject }) => (machine && subject ? [subject] : []));
  const found = [...new Set(names)].slice(0, maxMachines).flatMap((name) => {
    const machine = toolMachine(name);
    if (!machine) return [];
    const definition = definitions.get(machine) ?? machineDefinition(machine);
    definitions.set(machine, definition);
    return [[name, definition]];
  });
  return Object.fromEntries(found) as SessionUpdate['machines'];
}

function endBy(cause: CloseCause): End {
  const isFailure = cause.kind !== 'shutdown' && cause.kind !== 'input-ended';
  return { closed: textOfCause(cause), isFailure };
}

function textOfCause(cause: CloseCause): string {
  switch (cause.kind) {
    case 'shutdown':
      return cause.reason;
    case 'input-ended':
      return 'the client closed the input';
    case 'unresponsive':
      return `the client missed ${cause.failures} pings`;
    case 'output-broken':
      return `the output broke: ${textOfError(cause.error)}`;
    case 'failure':
      return `internal failure: ${textOfError(cause.error)}`;
  }
}
