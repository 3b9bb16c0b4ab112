/**
 * The host's view of a connection around its actor, whether opened directly, invoked or spawned.
 */
import { throwWithCallerFrames } from '../../../../src/actors/caller-frames.ts';
import { keepAlive, systemClock } from '../../../../src/actors/clock.ts';
import type { Clock } from '../../../../src/actors/clock.ts';
import type { Fact, Report } from '../../../../src/actors/facts.ts';
import { waitFor } from '../../../../src/actors/wait-for.ts';
import { viewOf } from '../../../../src/machines/port.ts';
import type { WriterView } from '../../../../src/actors/writer/outbound-flow.ts';
import type { ConnectionInput, ServerProfile } from './connection-context.ts';
import type { ConnectionEmitted } from './connection-events.ts';
import { disconnectError } from '../../../../src/protocol/disconnects.ts';
import { RuntimeError } from '../../../../src/protocol/errors.ts';
import type { JsonObject } from '../../../../src/protocol/frames.ts';
import { dumpConnection } from './connection-dump.ts';
import type { ConnectionDump } from '../../../diagnostics/src/connection-dump.ts';
import { defaultReport } from '../../../../src/server/session/default-report.ts';
import { safeReport } from '../../../../src/actors/facts.ts';
import { Answers } from '../asked/answers.ts';
import type { AnswersHost } from '../asked/answers.ts';
import { DialogPlaces } from '../asked/input-rounds.ts';
import type { RoundsHost } from '../asked/input-rounds.ts';
import type { ChannelKind } from '../channel/channel-kind.ts';
import type { Lists } from '../lists/lists.ts';
import type { Preferences } from '../lists/preferences.ts';
import type { ListReport } from '../lists/list-results.ts';
import type { ListedTool } from '../../../../src/protocol/list-items.ts';
import { plainConnection } from './connection-environment.ts';
import type { ConnectionEnvironment } from './connection-environment.ts';
import type { Connection } from './connection.ts';
import { setupOf } from './connection-setup.ts';
import { ConnectionScope } from './connection-scope.ts';
import type { ConnectionActorRef, ConnectionSnapshot } from './connection-scope.ts';
import { connectionStreams, EventLog, stateValueOf } from './connection-streams.observable.ts';
import type { ConnectionState } from './connection-streams.observable.ts';
import type { WatchedConnection } from './watched-connection.ts';
import { rememberEra } from './era.ts';
import type { HostCall } from './requests.ts';
import { connectionLimitsWith } from './limits.ts';
import type { ConnectionOptions, HostRequestOptions } from './options.ts';
import { Requests, stateRefusal } from './requests.ts';
import { ServerFeatures } from './server-features.ts';

/** Connection options, including the kind of channel. */
export interface HostConnectionInput extends ConnectionOptions {
  readonly kind: ChannelKind;
  /**
   * Era to try first if `era` is undefined; a preference of the host, not knowledge about the
   * server.
   */
  readonly supposedEra?: 'legacy';
  /** Environment and clock of a connection in its own actor system. */
  readonly host?: { readonly environment: ConnectionEnvironment; readonly clock: Clock };
}

export class HostConnection extends ServerFeatures {
  readonly name: string;
  readonly actor: ConnectionActorRef;
  /** Input of the machine. */
  readonly input: ConnectionInput;
  readonly #scope: ConnectionScope;
  readonly #clock: Clock;
  /** Events of the connection, for {@link events$} and for listeners that avoid observables. */
  readonly events: EventLog;
  readonly #options: HostConnectionInput;
  readonly #environment: ConnectionEnvironment;
  readonly #startedAt: number;
  #state: ConnectionState;
  #id: string | undefined = undefined;
  #streams: ReturnType<typeof connectionStreams> | undefined = undefined;

  /** @throws {RangeError} an option is out of range */
  constructor(actor: ConnectionActorRef, options: HostConnectionInput) {
    const { host = { clock: options.clock ?? systemClock, environment: plainConnection } } =
      options;
    const { environment, clock } = host;
    const given = safeReport(options.report ?? defaultReport);
    const events = new EventLog(connectionLimitsWith(options.limits).maxUnheardEvents, given);
    const report = reportingProblems(given, events);
    const answers = new Answers(options, askedOf(events, report), options.capabilities);
    const setup = environment.begin(setupOf(options, answers), report);
    const { name, limits, capabilities } = setup;
    const kind = environment.channel(options.kind);
    const scope: ConnectionScope = new ConnectionScope({
      actor,
      kind,
      limits,
      clock,
      report,
      host: {
        info: setup.clientInfo,
        revision: options.revision,
        capabilities: (era) => capabilities[era],
      },
      handlers: environment.handlers(answers.handlers),
      onNotification: (method, params) => this.heard(method, params),
      logLevel: () => this.preferences.logLevel,
      onLateProgress: (token, report) => this.tasks.progressed(token, report),
      onStderr: (text) => events.tell({ type: 'stderr', text }),
      onAuthorize: (url, device) =>
        events.tell({ type: 'authorize', url, ...(device ? { device } : {}) }),
    });
    const age = (): number => clock.now() - this.#state.since;
    const isHarmless = (tool: string): boolean => this.isHarmless(tool);
    const places = new DialogPlaces(limits);
    const answered = environment.answers(answers);
    const awaitTask: RoundsHost<HostCall>['awaitTask'] = (...call) => this.tasks.awaited(...call);
    const { maxRounds } = limits;
    const rounds = { clock, answers: answered, places, maxRounds, awaitTask };
    const requests = new Requests(scope, { name, isHarmless, age, rounds });
    super({
      requests,
      answers,
      name,
      limits,
      clock,
      report,
      rounds,
      listens: options.listens,
      problem: (...of) => events.problem(...of),
      observed: scope,
    });
    this.name = name;
    this.actor = actor;
    this.#scope = scope;
    this.#clock = clock;
    this.events = events;
    this.#options = options;
    this.#environment = environment;
    this.#startedAt = clock.now();
    this.#state = { value: 'closed', since: this.#startedAt, attempt: 0 };
    this.input = {
      scope,
      times: limits,
      restart: setup.restart,
      random: environment.random(options.random ?? Math.random),
      era: setup.era,
      wanted: setup.wanted,
      shows: setup.shows,
      opens: 'once',
      lastWords: () => kind.lastWords,
      unreadInput: () => events.unreadInput,
    };
    environment.observe({ listen: (listener) => scope.transitions.listen(listener) });
    environment.calls(this);
  }

  get state(): ConnectionState {
    return this.#state;
  }

  get server(): ServerProfile | undefined {
    return this.#scope.snapshot.context.profile;
  }

  get launches(): number {
    return this.#scope.snapshot.context.launches;
  }

  get stderr(): { readonly text: string; readonly bytes: number } {
    return this.#options.kind.stderr ?? { text: '', bytes: 0 };
  }

  /** Unique among all connections and sessions on an inspector page. */
  get id(): string {
    return (this.#id ??= crypto.randomUUID());
  }

  dump(): ConnectionDump {
    const { lastHeardAt, givenUpAt } = this.#scope;
    return dumpConnection({
      id: this.id,
      name: this.name,
      actor: this.actor,
      limits: this.#scope.parts.limits,
      now: this.#clock.now(),
      startedAt: this.#startedAt,
      since: this.#state.since,
      lastHeardAt,
      givenUpAt,
      stderr: this.stderr.text,
      lists: this.lists.kept.map(({ view }) => view),
      machines: [...this.lists.machines, ...this.preferences.machines, ...this.tasks.machines],
    });
  }

  get #observables(): ReturnType<typeof connectionStreams> {
    return (this.#streams ??= connectionStreams({
      actor: this.actor,
      state: () => this.#state,
      traffic: this.#scope.traffic,
      clock: this.#clock,
      events: this.events,
      tools: () => this.#watchedTools,
    }));
  }

  /** Watching the tools requests their list. */
  get #watchedTools() {
    const { tools } = this.lists;
    const watch = (listener: (report: ListReport<ListedTool>) => void) =>
      this.#environment.watch(() => tools.watch(listener));
    return { report: tools.report, watch };
  }

  get state$() {
    return this.#observables.state$;
  }

  get tools$() {
    return this.#observables.tools$;
  }

  get events$() {
    return this.#observables.events$;
  }

  get traffic$() {
    return this.#observables.traffic$;
  }

  /** Called once, when the actor starts. */
  begin(): void {
    const { actor } = this;
    actor.subscribe({
      next: (snapshot) => this.#moved(snapshot),
      error: (error: unknown) => this.#failed(error),
      complete: () => this.#environment.closed('closed'),
    });
    actor.on('*', (event) => this.#emitted(event));
    for (const watch of this.#options.watchers ?? []) watch(this.#watched());
    const { signal } = this.#options;
    if (signal) {
      signal.addEventListener('abort', this.#abort);
      if (signal.aborted) return this.#abort();
    }
    actor.send({ type: 'connection.open' });
  }

  readonly #abort = (): void => void this.close();

  #watched(): WatchedConnection {
    const { traffic, transitions } = this.#scope;
    const closed = new Promise<Error | undefined>((resolve) => {
      const complete = () => resolve(undefined);
      const error = (failure: unknown) =>
        resolve(disconnectError({ kind: 'failure', error: failure }));
      this.actor.subscribe({ complete, error });
    });
    const dump = () => this.dump();
    return { side: 'host', id: this.id, actor: this.actor, dump, closed, traffic, transitions };
  }

  ready({ signal }: Pick<HostRequestOptions, 'signal'> = {}): Promise<ServerProfile> {
    return this.#awaitReady('failed', signal).catch(throwWithCallerFrames);
  }

  /** Like {@link ready}, but rejects at the first disconnect. */
  firstReady({ signal }: Pick<HostRequestOptions, 'signal'> = {}): Promise<ServerProfile> {
    return this.#awaitReady('lost', signal).catch(throwWithCallerFrames);
  }

  reconnect(options?: Pick<HostRequestOptions, 'signal'>): Promise<ServerProfile> {
    this.#scope.reopen();
    return this.ready(options);
  }

  /** Bytes queued until the server reads them. */
  get queuedBytes(): number {
    const { messaging } = this.#scope.snapshot.context;
    return (messaging && viewOf<WriterView>(messaging.writer)?.queuedBytes) ?? 0;
  }

  /** Pauses reading from the server after the read-ahead, or resumes it. */
  pauseReading(isPaused: boolean): void {
    this.actor.send({ type: isPaused ? 'reading.pause' : 'reading.resume' });
  }

  close(): Promise<void> {
    const { actor } = this;
    if (actor.getSnapshot().status !== 'active') return Promise.resolve();
    return new Promise((resolve) => {
      const release = keepAlive();
      const end = () => {
        release();
        resolve();
      };
      actor.subscribe({ complete: end, error: end });
      actor.send({ type: 'connection.close' });
    });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #awaitReady(until: 'failed' | 'lost', signal: AbortSignal | undefined): Promise<ServerProfile> {
    const { actor } = this;
    const { served, snapshot } = this.#scope;
    if (served) return Promise.resolve(served);
    const age = this.#clock.now() - this.#state.since;
    const refusal = stateRefusal(snapshot, `${this.name} is not ready`, age);
    if (refusal) return Promise.reject(refusal);
    // A transport may be lost in the same turn as it is started.
    const { loss: known } = snapshot.context;
    if (until === 'lost' && known) return Promise.reject(disconnectError(known));
    const cancelled = () => waitCancelled(this.name, signal);
    const fail = (error: unknown) =>
      error instanceof Error ? error : disconnectError({ kind: 'failure', error });
    return waitFor<ServerProfile>(
      { clock: this.#clock, timeoutMs: Infinity, signal, abortError: cancelled },
      ({ resolve, reject }) => {
        const end = () => reject(disconnectError(undefined));
        const subscriptions = [
          actor.on('connection.ready', ({ profile }) => resolve(profile)),
          actor.on(`connection.${until}`, ({ loss }) => reject(disconnectError(loss))),
          actor.on('connection.closed', end),
          actor.subscribe({ error: (error) => reject(fail(error)), complete: end }),
        ];
        return () => {
          for (const subscription of subscriptions) subscription.unsubscribe();
        };
      },
    );
  }

  #moved(snapshot: ConnectionSnapshot): void {
    this.#scope.moved(snapshot);
    const value = stateValueOf(snapshot);
    const { attempts: attempt, delayMs, loss } = snapshot.context;
    const { value: before, attempt: attemptBefore } = this.#state;
    if (value === before && attempt === attemptBefore) return;
    this.#state = {
      value,
      since: value === before ? this.#state.since : this.#clock.now(),
      attempt,
      ...(value === 'backoff' ? { delayMs } : {}),
      ...(loss ? { loss } : {}),
    };
    this.events.tell({ type: 'state', state: this.#state });
  }

  #failed(error: unknown): void {
    this.#state = {
      value: 'closed',
      since: this.#clock.now(),
      attempt: this.#state.attempt,
      loss: { kind: 'failure', error },
    };
    this.events.tell({ type: 'state', state: this.#state });
    this.ended(disconnectError(this.#state.loss));
    this.#environment.closed('failure');
  }

  #emitted(event: ConnectionEmitted): void {
    switch (event.type) {
      case 'connection.ready':
        if (event.profile.era === 'legacy' && this.#options.kind.shows === 'answer')
          this.#rememberLegacy();
        return this.opened(event.profile);
      case 'connection.lost':
        if (event.loss.kind === 'refused' || event.loss.kind === 'timeout')
          rememberEra(this.#options.kind.eraKey, { kind: 'unknown' });
        return this.lost();
      case 'connection.failed':
        return this.refused(disconnectError(event.loss));
      case 'login.changed':
        this.lists.forget();
        return this.lost();
      case 'era.learnt':
        return rememberEra(this.#options.kind.eraKey, { kind: 'modern' });
      case 'era.proven':
        return this.#rememberLegacy();
      case 'probe.ended':
        return;
      case 'connection.closed':
        this.#options.signal?.removeEventListener('abort', this.#abort);
        return this.ended(disconnectError(undefined));
    }
  }

  /** Saves the next connection a launch or a rejected request. */
  #rememberLegacy(): void {
    const { era, supposedEra, kind } = this.#options;
    // A server of both eras answers in the era that is tried first.
    if (era === undefined && supposedEra === undefined)
      rememberEra(kind.eraKey, { kind: 'legacy', by: 'memory' });
  }

  protected override tellNotification(method: string, params: JsonObject | undefined): void {
    const { onNotification } = this.#options;
    if (onNotification) onNotification(method, params);
    else this.events.tell({ type: 'notification', method, params });
  }
}

function askedOf(events: EventLog, report: Report): AnswersHost {
  return {
    report,
    asked: (method, params) => events.tell({ type: 'asked', method, params }),
    withdrawn: (method) => events.tell({ type: 'withdrawn', method }),
  };
}

/** Facts about protocol violations by the server. */
const problems: ReadonlySet<string> = new Set([
  'frame.invalid',
  'response.malformed',
  'response.duplicate',
  'response.unknown',
  'progress.unknown',
  'request.refused',
  'answers.waiting',
  'output.lost',
]);

function reportingProblems(report: Report, events: EventLog): Report {
  const both = (fact: Fact): void => {
    if (problems.has(fact.name)) events.problem(fact.name, fact.message);
    report(fact);
  };
  return report.threshold ? Object.assign(both, { threshold: report.threshold }) : both;
}

function waitCancelled(name: string, signal: AbortSignal | undefined): RuntimeError {
  const cause: unknown = signal?.reason;
  return new RuntimeError('CANCELLED', `Waiting for ${name} was cancelled`, { cause });
}

/** Cached lists of a connection. */
export function listsOf(connection: Connection): Lists {
  return (connection as HostConnection).lists;
}

/** Preferences of a connection, restored on each channel. */
export function preferencesOf(connection: Connection): Preferences {
  return (connection as HostConnection).preferences;
}

/** Events of a connection, without the cost of observables. */
export function eventsOf(connection: Connection): Pick<EventLog, 'listen'> {
  return (connection as HostConnection).events;
}

/** Bytes queued until the server reads them. */
export function queuedBytesOf(connection: Connection): number {
  return (connection as HostConnection).queuedBytes;
}

/** Applies backpressure to the server: its output is not read while paused. */
export function pauseReading(connection: Connection, isPaused: boolean): void {
  (connection as HostConnection).pauseReading(isPaused);
}
