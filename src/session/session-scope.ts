/**
 * What belongs to one session. Machines, actors and features are made once and serve every session; this travels through the machine's input and
 * the ports' to each of them. What a session may never need is not in it before it is needed.
 */
import type { InspectionEvent, Observer } from 'xstate';
import type { RootsResolver } from '../machines/roots-report.ts';
import type { Exchange, RequestHandler } from '../actors/exchange.ts';
import type { Clock } from '../actors/clock.ts';
import { RequestIds } from '../actors/correlation/request-ids.ts';
import type { RouterView } from '../actors/router/router.actor.ts';
import { Traffic } from '../actors/traffic.ts';
import { unprovided, viewOf } from '../machines/port.ts';
import type { Port } from '../machines/port.ts';
import type {
  ReaderEvent,
  ReaderInput,
  WriterEvent,
  WriterInput,
} from '../machines/session-ports.ts';
import type { Report } from '../actors/facts.ts';
import type { RootsRef, SessionEmitted } from '../machines/session.machine.ts';
import type { JsonObject } from '../protocol/frames.ts';
import type { SessionHandle } from '../context/session-view.ts';
import { safeReport } from './guarded-listeners.ts';
import { defaultLimits } from '../actors/limits.ts';
import type { Limits } from '../actors/limits.ts';
import type { SessionEdge } from './session-edge.ts';
import { stateOf } from '../machines/session-state.ts';
import type { SessionActorRef, SessionState } from '../machines/session-state.ts';
import { Transitions } from './transitions.ts';

/** What a session's core may be given. */
export interface ScopeOptions {
  /** Overrides of {@link defaultLimits}. */
  readonly limits?: Partial<Limits>;
  /** Hears what happens; by default nobody does. */
  readonly report?: Report;
  /** The time of day, for what clients are told of when: a task's timestamps. */
  readonly wallClock?: () => Date;
  /** Makes ids that nobody can guess, of requests to the client and of tasks; by default the platform's random UUIDs. Tests make them known. */
  readonly randomId?: () => string;
  /**
   * XState's inspection events. Every event costs more while somebody inspects. In a host's system it hears the actors of tasks alone, which
   * are systems of their own; the rest the host hears as the one who inspects its own system.
   */
  readonly inspect?: Observer<InspectionEvent> | ((event: InspectionEvent) => void);
}

/** Where a session ends towards the client, and the two clocks that it goes by. */
export interface SessionSurroundings {
  readonly edge: SessionEdge;
  /** The time of the session's own actors, as its edge has it. */
  readonly clock: Clock;
  /** The time of the author's code and of whoever looks at the session. */
  readonly hostClock: Clock;
}

/** The two actors of a session's transport. */
export interface SessionEnds {
  readonly reader: Port<ReaderEvent, ReaderInput>;
  readonly writer: Port<WriterEvent, WriterInput>;
}

const nobody: Report = () => {};
const noHandlers: ReadonlyMap<string, RequestHandler> = new Map();
const noEnds: SessionEnds = { reader: unprovided('reader'), writer: unprovided('writer') };

export abstract class SessionScope implements SessionHandle {
  readonly actor: SessionActorRef;
  readonly edge: SessionEdge;
  readonly clock: Clock;
  readonly hostClock: Clock;
  readonly limits: Limits;
  /** Never throws. */
  readonly report: Report;
  /** Of the session's requests to the client. */
  readonly requestIds = new RequestIds(() => this.randomId('request'));
  readonly traffic: Traffic;
  /** By the host's clock. */
  readonly startedAt: number;
  /** By method; all of them are there before the session starts, and stay. */
  handlers = noHandlers;
  /** The transport's two actors; there before the session starts. */
  ends = noEnds;
  /** What the session has emitted last. */
  lastEmitted: SessionEmitted | undefined = undefined;
  /** See `ServerDefinition`. */
  abstract readonly resolveRoots: RootsResolver | undefined;
  readonly #options: ScopeOptions;
  #id: string | undefined = undefined;
  #transitions: Transitions | undefined = undefined;
  #releases: (() => void)[] | undefined = undefined;

  constructor(
    actor: SessionActorRef,
    options: ScopeOptions,
    { edge, clock, hostClock }: SessionSurroundings,
  ) {
    this.actor = actor;
    this.edge = edge;
    this.clock = clock;
    this.hostClock = hostClock;
    this.limits = options.limits ? { ...defaultLimits, ...options.limits } : defaultLimits;
    this.report = options.report ? safeReport(options.report) : nobody;
    this.startedAt = hostClock.now();
    this.#options = options;
    this.traffic = new Traffic(this);
  }

  abstract resourceUpdated(uri: string): void;

  abstract elicitationCompleted(elicitationId: string): boolean;

  // Made when first read: Node loads its crypto for it, which would delay the first answer.
  get id(): string {
    return (this.#id ??= crypto.randomUUID());
  }

  get state(): SessionState {
    return stateOf(this.actor.getSnapshot());
  }

  /** When the client was last heard, by the session's clock; -Infinity before that. */
  get lastHeardAt(): number {
    const { router } = this.actor.getSnapshot().context;
    return viewOf<RouterView>(router)?.lastHeardAt ?? -Infinity;
  }

  get isOperating(): boolean {
    return this.actor.getSnapshot().hasTag('operating');
  }

  get inspect(): ScopeOptions['inspect'] {
    return this.#options.inspect;
  }

  /** What the session's machines do, for whoever wants to listen. */
  get transitions(): Transitions {
    return (this.#transitions ??= new Transitions(this.report));
  }

  /** {@link transitions}, if anybody has ever asked for them. */
  get heardTransitions(): Transitions | undefined {
    return this.#transitions;
  }

  /** The machine of the client's roots, if it declares any. */
  roots(): RootsRef | undefined {
    return this.actor.getSnapshot().context.roots;
  }

  handlerOf(method: string): RequestHandler | undefined {
    return this.handlers.get(method);
  }

  /** Sends a notification to the client. Before the session is in operation, and after its end, it does nothing. */
  send(method: string, params?: JsonObject): void {
    if (!this.isOperating) return;
    const frame = { jsonrpc: '2.0', method, ...(params ? { params } : {}) } as const;
    this.actor.getSnapshot().context.writer.send({ type: 'frames.send', frames: [frame] });
  }

  /** The same on behalf of the author's code or of the host. */
  notify(method: string, params?: JsonObject): void {
    this.edge.notify((...notification) => this.send(...notification), method, params);
  }

  /** Calls back once the session is in operation, at once if it is already; until the returned function is called. */
  whenOperating(listener: () => void): () => void {
    if (this.isOperating) {
      listener();
      return () => {};
    }
    const subscription = this.actor.on('session.initialized', listener);
    return () => subscription.unsubscribe();
  }

  /** The time of day, ISO 8601. */
  wallTime(): string {
    const { wallClock } = this.#options;
    return (wallClock ? wallClock() : new Date()).toISOString();
  }

  /** The time of day in tasks, ISO 8601. */
  timeOfDay(): string {
    return this.edge.timeOfDay(() => this.wallTime());
  }

  /** An id that nobody can guess. */
  randomId(of: 'request' | 'task'): string {
    return this.edge.randomId(of, this.#options.randomId ?? (() => crypto.randomUUID()));
  }

  /** Calls back at the session's end. */
  atEnd(release: () => void): void {
    (this.#releases ??= []).push(release);
  }

  /** Releases all that was left for the end. Repeating it changes nothing. */
  end(): void {
    const releases = this.#releases;
    this.#releases = undefined;
    for (const release of releases ?? []) release();
  }

  /** An inspector that writes a machine's context down leaves this out: it is no data. */
  toJSON(): undefined {
    return undefined;
  }
}

/** The session that an actor's input names. @throws {TypeError} it names none */
export function sessionIn({ scope }: { readonly scope?: object | undefined }): SessionScope {
  if (scope instanceof SessionScope) return scope;
  throw new TypeError(
    'The input of an actor of a session has no "scope": hand on what it was given',
  );
}

/** The session that a call came in. */
export function sessionOf({ session }: Exchange): SessionScope {
  return sessionIn({ scope: session });
}

/** What is kept of each session by code that serves all of them; made when it is first needed. */
export class PerSession<T> {
  readonly #made = new WeakMap<SessionScope, T>();
  readonly #make: (session: SessionScope) => T;

  constructor(make: (session: SessionScope) => T) {
    this.#make = make;
  }

  of(session: SessionScope): T {
    let made = this.#made.get(session);
    if (made === undefined) {
      made = this.#make(session);
      this.#made.set(session, made);
    }
    return made;
  }

  /** What there is of it; undefined if it was never needed. */
  known(session: SessionScope): T | undefined {
    return this.#made.get(session);
  }
}
