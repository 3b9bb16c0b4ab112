/**
 * Records a session: everything that reaches it and everything that it does, in order, so that it
 * can be replayed. The recorder is the session's environment; a session without one pays nothing.
 */
import type { RootsResolver } from '../machines/roots-report.ts';
import type { RequestHandler } from '../actors/exchange.ts';
import type { Clock } from '../actors/clock.ts';
import type { Port, Ref } from '../machines/port.ts';
import type { SessionShutdown } from '../machines/session-end.ts';
import type {
  FramesToSend,
  ReaderEvent,
  ReaderInput,
  RouterEvent,
  TransportFact,
  WriterEvent,
  WriterInput,
} from '../machines/peer-ports.ts';
import type { CloseCause } from '../machines/session-ports.ts';
import { textOfError } from '../protocol/errors.ts';
import type { JsonObject, OutboundFrame } from '../protocol/frames.ts';
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
import { recordedHandlers } from './recorded-handlers.ts';
import { RecordingWriter } from './recording-writer.ts';
import type { RecordingOptions, RecordingSink } from './recording-writer.ts';
import {
  closedLine,
  writerLine,
  timeOfDayAt,
  transitionLines,
  writtenFrames,
  writtenParams,
} from './session-lines.ts';
import { Timeline } from './timeline.ts';

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
  #timers = 0;

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
    return {
      now: () => timeline.now,
      setTimeout: (callback, delayMs) => {
        const timer = ++this.#timers;
        return clock.setTimeout(() => timeline.input({ timer }, callback), delayMs);
      },
      clearTimeout: (handle) => clock.clearTimeout(handle),
    };
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
    return (options) => {
      // A port's snapshots are its own business, so the wrapped ports may have any.
      const { reader, writer } = transport(options) as {
        readonly reader: Port<ReaderEvent, ReaderInput>;
        readonly writer: Port<WriterEvent, WriterInput>;
      };
      return { reader: this.#recordReader(reader), writer: this.#recordWriter(writer) };
    };
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

  #recordReader(port: Port<ReaderEvent, ReaderInput>): Port<ReaderEvent, ReaderInput> {
    const timeline = this.#started();
    return {
      ...port,
      getInitialSnapshot: (scope, { router, owner, ...input }) =>
        port.getInitialSnapshot(scope, {
          ...input,
          router: {
            send: (event: RouterEvent) => {
              const line = this.#lineOf(event);
              if (line) timeline.input(line, () => router.send(event));
              else router.send(event);
            },
          },
          owner: recordedRef(owner, (event, pass) => {
            if (event.type === 'input.ended') timeline.input({ end: true }, pass);
            else pass();
          }),
        }),
    };
  }

  #lineOf(event: RouterEvent): ClientLine | FramesLine | GoneLine | undefined {
    if (event.type === 'frames.received') return this.#origins.chunk(event.frames);
    if (event.type === 'request.gone') return this.#origins.gone(event.request, event.reason);
    return undefined;
  }

  #recordWriter(port: Port<WriterEvent, WriterInput>): Port<WriterEvent, WriterInput> {
    const timeline = this.#started();
    return {
      ...port,
      getInitialSnapshot: (scope, { owner, ...input }) =>
        port.getInitialSnapshot(scope, {
          ...input,
          owner: recordedRef(owner, (event, pass) => {
            const line = writerLine(event);
            if (line) timeline.input(line, pass);
            else pass();
          }),
        }),
      transition: (snapshot, event, scope) => {
        const recorded = event.type === 'frames.send' ? this.#recordSending(event) : event;
        // What the transport answers at once arrives while the session calls, so it is nested.
        return timeline.call(undefined, () => port.transition(snapshot, recorded, scope));
      },
    };
  }

  /** The same event; what is said is recorded, and so is what the transport does not send. */
  #recordSending(event: FramesToSend): FramesToSend {
    const timeline = this.#started();
    const unwritable = new Set<OutboundFrame>();
    const written = writtenFrames(event.frames, (message) => unwritable.add(message));
    for (const server of written) timeline.output({ server });
    const { rejected } = event;
    if (!rejected) return event;
    return {
      ...event,
      rejected: (error, frame) => {
        // A replay finds by itself what JSON cannot hold.
        if (unwritable.has(frame) || !('method' in frame)) return rejected(error, frame);
        const id = 'id' in frame ? { id: frame.id } : {};
        const line = { unsent: frame.method, ...id, reason: textOfError(error) };
        timeline.input(line, () => rejected(error, frame));
      },
    };
  }
}

/** The same reference; `observe` gets each event first, and `pass` sends it on. */
function recordedRef(
  ref: Ref<TransportFact>,
  observe: (event: TransportFact, pass: () => void) => void,
): Ref<TransportFact> {
  const send = (event: TransportFact) => observe(event, () => ref.send(event));
  return Object.assign(Object.create(ref) as Ref<TransportFact>, { send });
}
