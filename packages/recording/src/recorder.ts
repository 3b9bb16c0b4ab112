/**
 * Records all inputs and outputs of a session or host connection in order, so that it can be replayed. The recorder is
 * its environment; without one there is no cost. How a channel reaches the server (commands, headers, tokens, variables)
 * is not recorded.
 */
import type { Clock } from '../../../src/actors/clock.ts';
import type { RequestHandler } from '../../../src/actors/request-context.ts';
import type { Report } from '../../../src/actors/facts.ts';
import type { Transitions } from '../../../src/actors/transitions.ts';
import type { ChannelKind } from '../../client/src/channel/channel-kind.ts';
import { hostMethods } from '../../client/src/connection/connection-environment.ts';
import type {
  ConnectionEnvironment,
  HostCalls,
  HostMethod,
} from '../../client/src/connection/connection-environment.ts';
import type { ConnectionSetup } from '../../client/src/connection/connection-setup.ts';
import type { ChannelEvent, ChannelInput } from '../../client/src/channel/connection-ports.ts';
import type { RouterEvent } from '../../../src/machines/peer-ports.ts';
import type { Port } from '../../../src/machines/port.ts';
import type { RootsResolver } from '../../../src/protocol/roots.ts';
import type { SessionShutdown } from '../../../src/machines/session-ports.ts';
import type { CloseCause } from '../../../src/machines/session-ports.ts';
import { textOfError } from '../../../src/protocol/errors.ts';
import type { JsonObject } from '../../../src/protocol/frames.ts';
import type { RequestState, StateSealer } from '../../../src/rounds/request-state.ts';
import type {
  BeginningSession,
  ChangeNotice,
  Notify,
  RandomIdUse,
  SessionEnvironment,
  SessionSetup,
} from '../../../src/server/session/session-environment.ts';
import type { Transport } from '../../../src/transports/transport.ts';
import { recordingVersion } from './format.ts';
import type {
  ClientLine,
  ConnectionHeader,
  FramesLine,
  GoneLine,
  HostLine,
  RecordingHeader,
} from './format.ts';
import {
  closedLine,
  codeOf,
  linkLine,
  receivedLine,
  recordedError,
  timeOfDayAt,
  transitionLines,
  writtenParams,
} from './lines.ts';
import { OriginRecorder } from './origins.ts';
import { RecordedEnds } from './recorded-reader-writer.ts';
import type { ReaderWriter } from './recorded-reader-writer.ts';
import { recordedHandlers } from './recorded-handlers.ts';
import { RecordingWriter } from './recording-writer.ts';
import type { RecordingFactName, RecordingOptions, RecordingSink } from './recording-writer.ts';
import { Timeline } from './timeline.ts';

/** Options of a recorder. */
export interface RecordOptions extends RecordingOptions {
  /**
   * Provenance in the header: versions of mcp-actors and the platform, and the command line.
   */
  readonly header?: Pick<RecordingHeader, 'package' | 'platform' | 'launch'>;
}

/** Records one session, as the `environment` of `listen`. */
export interface Recorder extends SessionEnvironment {
  /**
   * Writes the lines of the current event-loop turn to the sink. The session's end does so too.
   */
  flush(): void;
}

/**
 * Creates a recorder, for `server.listen(transport, { environment: record(sink) })`.
 *
 * @param sink receives whole lines of JSON, after the session's work in each event-loop turn. If it throws, the recording
 * ends and the session continues
 */
export function record(sink: RecordingSink, options: RecordOptions = {}): Recorder {
  return new SessionRecorder(sink, options);
}

/** Records one connection, as the `record` of `connect`. */
export interface ConnectionRecorder extends ConnectionEnvironment {
  /**
   * Writes the lines of the current event-loop turn to the sink. The connection's end does so too.
   */
  flush(): void;
}

/**
 * Creates a recorder, for `connect(entry, { record: recordConnection(sink) })`.
 *
 * @param sink receives whole lines of JSON, after the connection's work in each event-loop turn. If it throws, the
 * recording ends and the connection continues
 */
export function recordConnection(
  sink: RecordingSink,
  options: RecordOptions = {},
): ConnectionRecorder {
  return new HostRecorder(sink, options);
}

/** Base of both recorders: a header and a timeline of lines. */
abstract class SideRecorder {
  protected readonly writer: RecordingWriter;
  readonly #of: 'session' | 'connection';
  readonly #header: RecordOptions['header'];
  #timeline: Timeline | undefined;

  constructor(
    of: 'session' | 'connection',
    sink: RecordingSink,
    { header, ...options }: RecordOptions,
  ) {
    this.#of = of;
    this.writer = new RecordingWriter(sink, options);
    this.#header = header;
  }

  flush(): void {
    this.writer.flush();
  }

  clock(clock: Clock): Clock {
    if (this.#timeline)
      throw new Error(`This recorder has a ${this.#of} already: create one recorder for each`);
    this.#timeline = new Timeline(this.writer, clock);
    return this.#timeline.recordedClock;
  }

  handlers(handlers: ReadonlyMap<string, RequestHandler>): ReadonlyMap<string, RequestHandler> {
    return recordedHandlers(handlers, this.timeline);
  }

  observe(transitions: Pick<Transitions, 'listen'>): void {
    const { timeline } = this;
    transitions.listen(transitionLines((line) => timeline.output(line)));
  }

  /** @throws {Error} recording has not begun */
  protected get timeline(): Timeline {
    if (!this.#timeline) throw new Error(`The ${this.#of} has not begun`);
    return this.#timeline;
  }

  /** Writes the header. */
  protected writeHeader(
    startedAt: string,
    setup: SessionSetup | (ConnectionSetup & { readonly side: 'host' }),
    report: Report<RecordingFactName>,
  ): void {
    this.writer.reportTo(report);
    this.writer.put({
      recording: recordingVersion,
      ...this.#header,
      at: this.timeline.now,
      startedAt,
      redacted: this.writer.isRedacted,
      ...setup,
    } satisfies RecordingHeader | ConnectionHeader);
  }
}

class SessionRecorder extends SideRecorder implements Recorder {
  readonly #origins = new OriginRecorder();
  #start = { at: 0, startedAt: new Date(0).toISOString() };
  #resolutions = 0;
  #pings = 0;

  constructor(sink: RecordingSink, options: RecordOptions) {
    super('session', sink, options);
  }

  timeOfDay(): string {
    return timeOfDayAt(this.#start, this.timeline.now);
  }

  randomId(of: RandomIdUse, make: () => string): string {
    const random = make();
    this.timeline.output({ random, for: of });
    return random;
  }

  begin({ setup, report, transitions, timeOfDay }: BeginningSession) {
    this.#start = { at: this.timeline.now, startedAt: timeOfDay() };
    this.writeHeader(this.#start.startedAt, setup, report);
    this.observe(transitions);
    return setup.server;
  }

  transport(transport: Transport): Transport {
    const ends = new RecordedEnds(this.timeline, {
      received: (event) => this.#lineOf(event),
      said: (server) => ({ server }),
      reasonOf: (error) => ({ reason: textOfError(error) }),
    });
    return (options) => ends.record(transport(options) as ReaderWriter);
  }

  /** Handler data in request states is not recorded, because a replay runs no handlers. */
  sealer(sealer: StateSealer): StateSealer {
    const { timeline } = this;
    const withoutKept = (state: RequestState | undefined) =>
      state && { ...state, kept: [], checkpoint: undefined };
    return {
      seal: (state) => timeline.computed('seal', () => sealer.seal(state)),
      open: (token) => timeline.computed('open', () => sealer.open(token), withoutKept),
      digest: (value) => timeline.computed('digest', () => sealer.digest(value)),
      turn: () => timeline.computed('turn', () => sealer.turn()),
    };
  }

  listRoots(ask: () => Promise<JsonObject>): Promise<JsonObject> {
    return ask();
  }

  resolveRoots(resolve: RootsResolver | undefined): RootsResolver | undefined {
    if (!resolve) return undefined;
    const { timeline } = this;
    return (roots, signal) => {
      const resolved = ++this.#resolutions;
      return timeline.call({ resolve: resolved }, () =>
        resolve(roots, signal).then(
          (directories) => timeline.input({ resolved, roots: directories }, () => directories),
          (error: unknown) =>
            timeline.input({ resolved, thrown: textOfError(error) }, () => {
              throw error;
            }),
        ),
      );
    };
  }

  notify(notify: Notify, method: string, params?: JsonObject): void {
    this.timeline.input({ notify: method, ...(params ? writtenParams(params) : {}) }, () =>
      notify(method, params),
    );
  }

  notice(notice: ChangeNotice, ...[method, uri, except]: Parameters<ChangeNotice>): void {
    const about = { ...(uri === undefined ? {} : { uri }), ...(except ? { except } : {}) };
    this.timeline.input({ notice: method, ...about }, () => notice(method, uri, except));
  }

  shutdown({ reason, drainTimeoutMs }: SessionShutdown, shutdown: () => void): void {
    const within = drainTimeoutMs === undefined ? {} : { drainTimeoutMs };
    this.timeline.input({ shutdown: reason, ...within }, shutdown);
  }

  ping<T>(
    timeoutMs: number,
    signal: AbortSignal | undefined,
    send: (signal: AbortSignal | undefined) => Promise<T>,
  ): Promise<T> {
    const ping = ++this.#pings;
    const { timeline } = this;
    const recorded = timeline.signal(signal, (withdrawn) => ({ ping, withdrawn }));
    return timeline.input({ ping, timeoutMs }, () => send(recorded));
  }

  listener(_name: string, call: () => void): void {
    this.timeline.call(undefined, call);
  }

  closed(cause: CloseCause): void {
    this.timeline.output(closedLine(cause));
    this.writer.close();
  }

  #lineOf(event: RouterEvent): ClientLine | FramesLine | GoneLine | undefined {
    if (event.type === 'frames.received') return this.#origins.chunk(event.frames);
    if (event.type === 'request.gone') return this.#origins.gone(event.request, event.reason);
    return undefined;
  }
}

type Call = (...args: readonly unknown[]) => Promise<unknown>;

class HostRecorder extends SideRecorder implements ConnectionRecorder {
  #hostClock: Clock | undefined;
  #calls = 0;
  /** True during a recorded call of the host, whose nested calls are not recorded separately. */
  #current: HostMethod | undefined;

  constructor(sink: RecordingSink, options: RecordOptions) {
    super('connection', sink, options);
  }

  override clock(clock: Clock): Clock {
    this.#hostClock = clock;
    return super.clock(clock);
  }

  begin(setup: ConnectionSetup, report: Report): ConnectionSetup {
    this.writeHeader(new Date().toISOString(), { side: 'host', ...setup }, report);
    return setup;
  }

  /** Clock for channels, whose timers are not the connection's inputs. */
  channel(kind: ChannelKind): ChannelKind {
    const ends = new RecordedEnds(this.timeline, {
      received: (event) =>
        event.type === 'frames.received' ? receivedLine(event.frames) : undefined,
      said: (sent) => ({ sent }),
      reasonOf: recordedError,
      place: 'writer',
    });
    const clock = this.#hostClock;
    this.writer.conceal(kind.secrets ?? []);
    return {
      name: kind.name,
      shows: kind.shows,
      restart: kind.restart,
      eraKey: kind.eraKey,
      get stderr() {
        return kind.stderr;
      },
      get lastWords() {
        return kind.lastWords;
      },
      logic: (tools) => this.#recordChannel(kind.logic(clock ? { ...tools, clock } : tools), ends),
    };
  }

  random(random: () => number): () => number {
    return () => {
      const value = random();
      this.timeline.output({ random: String(value), for: 'jitter' });
      return value;
    };
  }

  answers(answers: Parameters<ConnectionEnvironment['answers']>[0]) {
    const { timeline } = this;
    return {
      answer: (...asked: Parameters<typeof answers.answer>) =>
        timeline.computed('answer', () => answers.answer(...asked)),
    };
  }

  calls(connection: HostCalls): void {
    const recorded = hostMethods.map((name) => {
      const call = (connection[name] as Call).bind(connection);
      return [name, (...args: readonly unknown[]) => this.#called(name, args, call)];
    });
    // Own properties shadow the class's methods, also for the connection's internal calls.
    Object.assign(connection, Object.fromEntries(recorded));
  }

  watch<T>(watch: () => T): T {
    return this.timeline.input({ host: ++this.#calls, calls: 'watch' }, watch);
  }

  start(start: () => void): void {
    this.timeline.call(undefined, start);
  }

  closed(kind: 'closed' | 'failure'): void {
    this.timeline.output({ closed: kind });
    this.writer.close();
  }

  #called(name: HostMethod, args: readonly unknown[], call: Call): Promise<unknown> {
    if (this.#current) return call(...args);
    const { timeline } = this;
    const host = ++this.#calls;
    const given = args.map((arg) =>
      hasSignal(arg)
        ? { ...arg, signal: timeline.signal(arg.signal, (withdrawn) => ({ host, withdrawn })) }
        : arg,
    );
    const result = timeline.input(lineOf(host, name, args), () => {
      this.#current = name;
      try {
        return call(...given);
      } finally {
        this.#current = undefined;
      }
    });
    result.then(
      () => timeline.output({ settled: host }),
      (error: unknown) => timeline.output({ settled: host, code: codeOf(error) }),
    );
    return result;
  }

  #recordChannel(
    port: Port<ChannelEvent, ChannelInput>,
    ends: RecordedEnds,
  ): Port<ChannelEvent, ChannelInput> {
    const { timeline } = this;
    return {
      ...port,
      getInitialSnapshot: (scope, { connection, ...input }) =>
        port.getInitialSnapshot(scope, {
          ...input,
          connection: {
            send: (report) =>
              timeline.input(linkLine(report), () =>
                connection.send(
                  report.type === 'channel.opened'
                    ? { ...report, ends: ends.record(report.ends) }
                    : report,
                ),
              ),
          },
        }),
      start: (snapshot, scope) =>
        timeline.call(undefined, () => port.start?.(snapshot, scope), 'channel.start'),
      transition: (snapshot, event, scope) =>
        timeline.call(undefined, () => port.transition(snapshot, event, scope), event.type),
    };
  }
}

function hasSignal(arg: unknown): arg is { readonly signal: AbortSignal | undefined } {
  return typeof arg === 'object' && arg !== null && 'signal' in arg;
}

/** Removes values that JSON cannot represent from the host's options: functions, signals, providers. */
function lineOf(host: number, calls: HostMethod, args: readonly unknown[]): HostLine {
  const given = calls === 'setRoots' ? [[], ...args.slice(1)] : args;
  const plain = given.map((arg) => (hasSignal(arg) ? { ...arg, signal: undefined } : arg));
  return { host, calls, ...writtenParams(plain) } as HostLine;
}
