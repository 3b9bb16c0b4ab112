/**
 * The sessions and connections of one page, and its viewers. While there is no viewer, it listens to
 * nothing and runs no timer. Otherwise it sends all viewers what was sampled, a few times a second.
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

/** A browser that has the page open. */
export interface Viewer {
  /** Whether it can take more now; otherwise the update is left out and counted. */
  send(update: PageUpdate): boolean;
  /** There will be no more updates. */
  end(): void;
}

/** A server's session, or a host's connection. */
export type Watched = WatchedSession | WatchedConnection;

interface Kept {
  readonly session: Watched;
  readonly sampler: SessionSampler;
  closed: End | undefined;
}

/** Why a session or a connection has ended. */
type End = Required<Pick<SessionUpdate, 'closed' | 'isFailure'>>;

/** Time between two updates, milliseconds. */
const intervalMs = 200;
/** If nothing happens, only every so many updates are sent: the shown ages grow all the same. */
const quietUpdates = 5;
/**
 * How many updates are left out after one of a flood, unless a machine moves: the counts say as
 * much, and the traffic needs the time.
 */
const restAfterFlood = 4;
/** How many ended sessions are still shown. */
const maxEnded = 8;

export class PageSessions {
  readonly #kept = new Map<string, Kept>();
  /** Those that the viewers see. */
  readonly #shown = new ShownSessions<Kept>();
  /** The viewers, each with how many updates in a row it has missed. */
  readonly #viewers = new Map<Viewer, number>();
  #timer: NodeJS.Timeout | undefined;
  readonly #places: string[] = [];
  #quiet = 0;
  #rest = 0;

  /** A watcher of sessions and of connections. */
  readonly watch = (session: Watched): void => {
    const kept: Kept = { session, sampler: new SessionSampler(session), closed: undefined };
    // A server that was shown without a connection may have one now.
    const before = this.#kept.get(session.id);
    if (before) this.#shown.remove(before);
    this.#kept.set(session.id, kept);
    if (this.#viewers.size > 0) this.#shown.admit(kept);
    const end = (closed: End) => {
      if (this.#kept.get(session.id) !== kept) return;
      kept.closed = closed;
      // A viewer is told of each end first.
      if (this.#viewers.size === 0) this.#forgetOldest();
      else if (!this.#shown.has(kept)) this.#kept.delete(session.id);
    };
    if (session.side === 'server') void session.closed.then((cause) => end(endBy(cause)));
    else {
      void session.closed.then((error) =>
        end({ closed: error?.message ?? 'the host has closed it', isFailure: error !== undefined }),
      );
    }
  };

  /** See {@link InspectedPage.serves}. */
  serves(place: string): void {
    this.#places.push(place);
    if (this.#viewers.size > 0) this.#send(this.#sample());
  }

  /** @returns what removes the viewer */
  open(viewer: Viewer): () => void {
    // Earlier samples are for the earlier viewers: a new one starts with the present.
    this.#update();
    this.#viewers.set(viewer, 0);
    if (!this.#timer) this.#start();
    viewer.send(this.#present());
    return () => {
      if (this.#viewers.delete(viewer) && this.#viewers.size === 0) this.#stop();
    };
  }

  /** Sends the viewers what happened last, and ends. */
  close(): void {
    if (this.#viewers.size > 0) this.#send(this.#sample());
    for (const viewer of this.#viewers.keys()) viewer.end();
    this.#viewers.clear();
    this.#stop();
    this.#kept.clear();
  }

  #start(): void {
    for (const kept of [...this.#kept.values()].reverse()) {
      if (this.#shown.size >= maxShown) break;
      this.#shown.admit(kept);
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
    const sessions = this.#seen.map((kept) => {
      const dump = kept.session.dump();
      // It may have begun long ago, and is what one asks for first.
      const events = kept.closed ? [] : kept.sampler.unanswered(dump);
      return updateOf(kept, dump, { events, skipped: [] });
    });
    return { sessions, omitted: this.#omitted, missed: 0, places: this.#places };
  }

  #update(): void {
    if (this.#viewers.size === 0) return;
    this.#shown.look([...this.#kept.values()]);
    const hasMoved = this.#seen.some(({ sampler }) => sampler.hasMoved);
    if (this.#rest > 0 && !hasMoved) {
      this.#rest -= 1;
      return;
    }
    const samples = this.#sample();
    const isQuiet = samples.every(
      ([, { events, skipped }]) => events.length + skipped.length === 0,
    );
    this.#quiet = isQuiet ? this.#quiet + 1 : 0;
    if (isQuiet && this.#quiet % quietUpdates !== 0) return;
    this.#rest = samples.some(([, { skipped }]) => skipped.length > 0) ? restAfterFlood : 0;
    this.#send(samples);
  }

  #sample(): readonly (readonly [Kept, SessionSample])[] {
    return this.#seen.map((kept) => [kept, kept.sampler.take()] as const);
  }

  #send(samples: readonly (readonly [Kept, SessionSample])[]): void {
    const sessions = samples.map(([kept, sample]) => updateOf(kept, kept.session.dump(), sample));
    const update = { sessions, omitted: this.#omitted, places: this.#places };
    for (const [viewer, missed] of this.#viewers) {
      this.#viewers.set(viewer, viewer.send({ ...update, missed }) ? 0 : missed + 1);
    }
    this.#forgetOldest();
  }

  #forgetOldest(): void {
    const ended = [...this.#kept.values()].filter(({ closed }) => closed !== undefined);
    for (const kept of ended.slice(0, -maxEnded)) {
      this.#kept.delete(kept.session.id);
      this.#shown.remove(kept);
    }
  }

  get #seen(): readonly Kept[] {
    return [...this.#kept.values()].filter((kept) => this.#shown.has(kept));
  }

  /** How many sessions the viewers do not see. */
  get #omitted(): number {
    return this.#kept.size - this.#shown.size;
  }
}

function updateOf(
  { session, closed }: Kept,
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

/** Of how many tools the machines are sent at once. */
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
      return 'the client has closed the input';
    case 'unresponsive':
      return `the client did not answer ${cause.failures} pings`;
    case 'output-broken':
      return `the output is broken: ${textOfError(cause.error)}`;
    case 'failure':
      return `a failure: ${textOfError(cause.error)}`;
  }
}
