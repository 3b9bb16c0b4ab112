/**
 * Records a session: everything that comes to it and everything that it does, in order, so that it can be played again.
 * It stands at the session's edge; a session that is not recorded pays nothing.
 */
import type { RootsResolver } from '../machines/roots-report.ts';
import type { RequestHandler } from '../actors/exchange.ts';
import type { Clock } from '../actors/clock.ts';
import type { Port, Ref } from '../machines/port.ts';
import type { SessionShutdown } from '../machines/session-end.ts';
import type {
  CloseCause,
  ReaderEvent,
  ReaderInput,
  RouterEvent,
  SessionFact,
  WriterEvent,
  WriterInput,
} from '../machines/session-ports.ts';
import { textOfError } from '../protocol/errors.ts';
import type { JsonObject } from '../protocol/frames.ts';
import type { BeginningSession, Notify, SessionEdge } from '../session/session-edge.ts';
import type { Transport } from '../transports/transport.ts';
import { recordingVersion } from './format.ts';
import type { RecordingHeader } from './format.ts';
import { heardSignal } from './heard-signal.ts';
import { chunkLine } from './inbound-messages.ts';
import { machineLines } from './machine-lines.ts';
import { Passage } from './passage.ts';
import { RecordedHandlers } from './recorded-handlers.ts';
import { RecordingBook } from './recording-book.ts';
import type { RecordingOptions, RecordingSink } from './recording-book.ts';
import { timeOfDayAt } from './time-of-day.ts';
import { written, writtenFrames } from './written.ts';

export interface RecordOptions extends RecordingOptions {
  /** For whoever reads the recording: which version of mcp-actors and of the platform wrote it, how it was started. */
  readonly header?: Pick<RecordingHeader, 'package' | 'platform' | 'launch'>;
}

/** Records one session: the `edge` of `listen`. */
export interface Recorder extends SessionEdge {
  /** Hands the sink what is held back, at most what one turn of the event loop has brought. The end of the session does it, too. */
  flush(): void;
}

/**
 * A recorder, for `server.listen(transport, { edge: record(sink) })`.
 *
 * @param sink takes the text, whole lines of JSON. It is called outside of the session's work, and what it throws ends the recording alone
 */
export function record(sink: RecordingSink, options: RecordOptions = {}): Recorder {
  return new SessionRecorder(sink, options);
}

class SessionRecorder implements Recorder {
  readonly #book: RecordingBook;
  readonly #header: RecordOptions['header'];
  #passage: Passage | undefined;
  #startedAt = new Date(0).toISOString();
  #startedNow = 0;
  #resolutions = 0;
  #pings = 0;
  #timers = 0;

  constructor(sink: RecordingSink, { header, ...options }: RecordOptions) {
    this.#book = new RecordingBook(sink, options);
    this.#header = header;
  }

  flush(): void {
    this.#book.flush();
  }

  clock(clock: Clock): Clock {
    if (this.#passage) throw new Error('This recorder has a session already: make one for each');
    const passage = new Passage(this.#book, clock);
    this.#passage = passage;
    this.#startedNow = passage.now;
    return {
      now: () => passage.now,
      setTimeout: (callback, delayMs) => {
        const timer = ++this.#timers;
        return clock.setTimeout(() => passage.input({ timer }, callback), delayMs);
      },
      clearTimeout: (handle) => clock.clearTimeout(handle),
    };
  }

  timeOfDay(): string {
    const start = { at: this.#startedNow, startedAt: this.#startedAt };
    return timeOfDayAt(start, this.#through().now);
  }

  randomId(of: 'request' | 'task', make: () => string): string {
    const random = make();
    // Nothing comes of it by itself: it says what the session has taken.
    this.#book.put({ at: this.#through().now, random, for: of });
    return random;
  }

  begin({ outset: made, transitions, timeOfDay }: BeginningSession) {
    const passage = this.#through();
    const { report, server, ...outset } = made;
    this.#startedAt = timeOfDay();
    this.#book.reportTo(report);
    this.#book.put({
      recording: recordingVersion,
      ...this.#header,
      at: this.#startedNow,
      startedAt: this.#startedAt,
      redacted: this.#book.isRedacted,
      server,
      ...outset,
    } satisfies RecordingHeader);
    transitions.listen(machineLines((line) => passage.output(line)));
    return server;
  }

  handlers(handlers: ReadonlyMap<string, RequestHandler>): ReadonlyMap<string, RequestHandler> {
    const recorded = new RecordedHandlers(this.#through());
    return new Map(
      [...handlers].map(([method, handler]) => [method, recorded.heard(method, handler)]),
    );
  }

  transport(transport: Transport): Transport {
    return (options) => {
      // Of the snapshots of other logic nothing is asked.
      const { reader, writer } = transport(options) as {
        readonly reader: Port<ReaderEvent, ReaderInput>;
        readonly writer: Port<WriterEvent, WriterInput>;
      };
      return { reader: this.#reader(reader), writer: this.#writer(writer) };
    };
  }

  resolveRoots(resolve: RootsResolver | undefined): RootsResolver | undefined {
    if (!resolve) return undefined;
    const passage = this.#through();
    return (roots, signal) => {
      const resolved = ++this.#resolutions;
      return passage.call({ resolve: resolved }, () =>
        resolve(roots, signal).then(
          (directories) => passage.input({ resolved, roots: directories }, () => directories),
          (error: unknown) =>
            passage.input({ resolved, thrown: textOfError(error) }, () => {
              throw error;
            }),
        ),
      );
    };
  }

  notify(notify: Notify, method: string, params?: JsonObject): void {
    this.#through().input({ notify: method, ...(params ? written(params) : {}) }, () =>
      notify(method, params),
    );
  }

  shutdown({ reason, drainTimeoutMs }: SessionShutdown, shutdown: () => void): void {
    const within = drainTimeoutMs === undefined ? {} : { drainTimeoutMs };
    this.#through().input({ shutdown: reason, ...within }, shutdown);
  }

  ping<T>(
    timeoutMs: number,
    signal: AbortSignal | undefined,
    send: (signal: AbortSignal | undefined) => Promise<T>,
  ): Promise<T> {
    const ping = ++this.#pings;
    const passage = this.#through();
    const heard = heardSignal(signal, (withdrawn, abort) =>
      passage.input({ ping, withdrawn }, abort),
    );
    return passage.input({ ping, timeoutMs }, () => send(heard));
  }

  listener(_name: string, call: () => void): void {
    this.#through().call(undefined, call);
  }

  closed(cause: CloseCause): void {
    const reason = 'reason' in cause ? { reason: cause.reason } : {};
    this.#through().output({ closed: cause.kind, ...reason });
    this.#book.close();
  }

  #through(): Passage {
    if (!this.#passage) throw new Error('The session has not begun');
    return this.#passage;
  }

  #reader(port: Port<ReaderEvent, ReaderInput>): Port<ReaderEvent, ReaderInput> {
    const passage = this.#through();
    return {
      ...port,
      getInitialSnapshot: (scope, { router, session, ...input }) =>
        port.getInitialSnapshot(scope, {
          ...input,
          router: {
            send: (event: RouterEvent) => {
              if (event.type !== 'frames.received') return router.send(event);
              passage.input(chunkLine(event.frames), () => router.send(event));
            },
          },
          session: heardRef(session, (event, pass) => {
            if (event.type === 'input.ended') passage.input({ end: true }, pass);
            else pass();
          }),
        }),
    };
  }

  #writer(port: Port<WriterEvent, WriterInput>): Port<WriterEvent, WriterInput> {
    const passage = this.#through();
    return {
      ...port,
      getInitialSnapshot: (scope, { session, ...input }) =>
        port.getInitialSnapshot(scope, {
          ...input,
          session: heardRef(session, (event, pass) => {
            const line = flowLine(event);
            if (line) passage.input(line, pass);
            else pass();
          }),
        }),
      transition: (snapshot, event, scope) => {
        if (event.type === 'frames.send') {
          for (const server of writtenFrames(event.frames)) passage.output({ server });
        }
        // What the transport says to it at once comes while the session calls.
        return passage.call(undefined, () => port.transition(snapshot, event, scope));
      },
    };
  }
}

function flowLine(event: SessionFact) {
  switch (event.type) {
    case 'output.blocked':
      return { output: 'blocked' } as const;
    case 'output.flowing':
      return { output: 'flowing' } as const;
    case 'output.flushed':
      return { output: 'flushed' } as const;
    case 'output.stalled':
      return { output: 'stalled' } as const;
    case 'output.broken':
      return { output: 'broken', error: textOfError(event.error) } as const;
    default:
      return undefined;
  }
}

/** The same reference; what is sent to it is heard first. */
function heardRef(
  ref: Ref<SessionFact>,
  hear: (event: SessionFact, pass: () => void) => void,
): Ref<SessionFact> {
  const send = (event: SessionFact) => hear(event, () => ref.send(event));
  return Object.assign(Object.create(ref) as Ref<SessionFact>, { send });
}
