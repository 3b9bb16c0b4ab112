/**
 * Records a session: everything that reaches it and everything that it does, in order, so that it
 * can be replayed. The recorder is the session's environment; a session without one pays nothing.
 */
import type { RootsResolver } from '../machines/roots-report.ts';
import type { RequestHandler } from '../actors/exchange.ts';
import type { Clock } from '../actors/clock.ts';
import type { SessionShutdown } from '../machines/session-end.ts';
import type { RouterEvent } from '../machines/peer-ports.ts';
import type { CloseCause } from '../machines/session-ports.ts';
import { textOfError } from '../protocol/errors.ts';
import type { JsonObject } from '../protocol/frames.ts';
import type { RequestState, StateSealer } from '../rounds/request-state.ts';
import type {
  BeginningSession,
  Notice,
  Notify,
  RandomIdUse,
  SessionEnvironment,
} from '../session/session-environment.ts';
import type { Transport } from '../transports/transport.ts';
import { recordingVersion } from './format.ts';
import type { ClientLine, FramesLine, GoneLine, RecordingHeader } from './format.ts';
import { OriginRecorder } from './origins.ts';
import { RecordedEnds } from './recorded-ends.ts';
import type { Ends } from './recorded-ends.ts';
import { recordedHandlers } from './recorded-handlers.ts';
import { RecordingWriter } from './recording-writer.ts';
import type { RecordingOptions, RecordingSink } from './recording-writer.ts';
import { closedLine, timeOfDayAt, transitionLines, writtenParams } from './session-lines.ts';
import { Timeline } from './timeline.ts';

/** What is recorded beside the messages, and where it goes. */
export interface RecordOptions extends RecordingOptions {
  /**
   * What the recording says of its origin: the versions of mcp-actors and of the platform, and how
   * the command was started.
   */
  readonly header?: Pick<RecordingHeader, 'package' | 'platform' | 'launch'>;
}

/** Records one session, as the `environment` of `listen`. */
export interface Recorder extends SessionEnvironment {
  /**
   * Writes the lines of the current turn of the event loop to the sink. So does the session's end.
   */
  flush(): void;
}

/**
 * Makes a recorder, for `server.listen(transport, { environment: record(sink) })`.
 *
 * @param sink takes whole lines of JSON. The recorder calls it after the session's work of a turn.
 * If it throws, the recording ends and the session goes on
 */
export function record(sink: RecordingSink, options: RecordOptions = {}): Recorder {
  return new SessionRecorder(sink, options);
}

class SessionRecorder implements Recorder {
  readonly #writer: RecordingWriter;
  readonly #header: RecordOptions['header'];
  readonly #origins = new OriginRecorder();
  #timeline: Timeline | undefined;
  #startedAt = new Date(0).toISOString();
  #startedNow = 0;
  #resolutions = 0;
  #pings = 0;

  constructor(sink: RecordingSink, { header, ...options }: RecordOptions) {
    this.#writer = new RecordingWriter(sink, options);
    this.#header = header;
  }

  flush(): void {
    this.#writer.flush();
  }

  clock(clock: Clock): Clock {
    if (this.#timeline) throw new Error('This recorder has a session already: make one for each');
    const timeline = new Timeline(this.#writer, clock);
    this.#timeline = timeline;
    this.#startedNow = timeline.now;
    return timeline.recordedClock;
  }

  timeOfDay(): string {
    const start = { at: this.#startedNow, startedAt: this.#startedAt };
    return timeOfDayAt(start, this.#started().now);
  }

  randomId(of: RandomIdUse, make: () => string): string {
    const random = make();
    this.#started().output({ random, for: of });
    return random;
  }

  begin({ setup, report, transitions, timeOfDay }: BeginningSession) {
    const timeline = this.#started();
    const { server, ...others } = setup;
    this.#startedAt = timeOfDay();
    this.#writer.reportTo(report);
    this.#writer.put({
      recording: recordingVersion,
      ...this.#header,
      at: this.#startedNow,
      startedAt: this.#startedAt,
      redacted: this.#writer.isRedacted,
      server,
      ...others,
    } satisfies RecordingHeader);
    transitions.listen(transitionLines((line) => timeline.output(line)));
    return server;
  }

  handlers(handlers: ReadonlyMap<string, RequestHandler>): ReadonlyMap<string, RequestHandler> {
    return recordedHandlers(handlers, this.#started());
  }

  transport(transport: Transport): Transport {
    const ends = new RecordedEnds(this.#started(), {
      received: (event) => this.#lineOf(event),
      said: (server) => ({ server }),
      reasonOf: (error) => ({ reason: textOfError(error) }),
    });
    return (options) => ends.record(transport(options) as Ends);
  }

  /** What a state keeps for its handler is in no recording: a replay runs none. */
  sealer(sealer: StateSealer): StateSealer {
    const timeline = this.#started();
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
    const timeline = this.#started();
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
    this.#started().input({ notify: method, ...(params ? writtenParams(params) : {}) }, () =>
      notify(method, params),
    );
  }

  notice(notice: Notice, method: string, uri?: string): void {
    this.#started().input({ notice: method, ...(uri === undefined ? {} : { uri }) }, () =>
      notice(method, uri),
    );
  }

  shutdown({ reason, drainTimeoutMs }: SessionShutdown, shutdown: () => void): void {
    const within = drainTimeoutMs === undefined ? {} : { drainTimeoutMs };
    this.#started().input({ shutdown: reason, ...within }, shutdown);
  }

  ping<T>(
    timeoutMs: number,
    signal: AbortSignal | undefined,
    send: (signal: AbortSignal | undefined) => Promise<T>,
  ): Promise<T> {
    const ping = ++this.#pings;
    const timeline = this.#started();
    const recorded = timeline.signal(signal, (withdrawn) => ({ ping, withdrawn }));
    return timeline.input({ ping, timeoutMs }, () => send(recorded));
  }

  listener(_name: string, call: () => void): void {
    this.#started().call(undefined, call);
  }

  closed(cause: CloseCause): void {
    this.#started().output(closedLine(cause));
    this.#writer.close();
  }

  #started(): Timeline {
    if (!this.#timeline) throw new Error('The session has not begun');
    return this.#timeline;
  }

  #lineOf(event: RouterEvent): ClientLine | FramesLine | GoneLine | undefined {
    if (event.type === 'frames.received') return this.#origins.chunk(event.frames);
    if (event.type === 'request.gone') return this.#origins.gone(event.request, event.reason);
    return undefined;
  }
}
