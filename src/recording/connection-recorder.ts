/**
 * Records a host's connection: everything that reaches it from its channels and from its host, and
 * everything that it does, so that it can be replayed. What its channels do to reach the server is not
 * in it: no command, header, token or variable.
 */
import type { Clock } from '../actors/clock.ts';
import type { RequestHandler } from '../actors/exchange.ts';
import type { Report } from '../actors/facts.ts';
import type { Transitions } from '../actors/transitions.ts';
import type { ChannelKind } from '../client/channel/channel-kind.ts';
import { hostMethods } from '../client/connection/connection-environment.ts';
import type {
  ConnectionEnvironment,
  HostCalls,
  HostMethod,
} from '../client/connection/connection-environment.ts';
import type { ConnectionSetup } from '../client/connection/connection-setup.ts';
import type { ChannelEvent, ChannelInput, ChannelReport } from '../machines/connection-ports.ts';
import type { Port, Ref } from '../machines/port.ts';
import { recordingVersion } from './format.ts';
import type { ConnectionHeader, HostLine } from './connection-format.ts';
import { codeOf, linkLine, receivedLine, recordedError } from './connection-lines.ts';
import { RecordedEnds } from './recorded-ends.ts';
import { recordedHandlers } from './recorded-handlers.ts';
import { RecordingWriter } from './recording-writer.ts';
import type { RecordingSink } from './recording-writer.ts';
import type { RecordOptions } from './recorder.ts';
import { transitionLines, writtenParams } from './session-lines.ts';
import { Timeline } from './timeline.ts';

/** Records one connection, as the `record` of `connect`. */
export interface ConnectionRecorder extends ConnectionEnvironment {
  /**
   * Writes the lines of the current turn of the event loop to the sink. So does the connection's end.
   */
  flush(): void;
}

/**
 * Makes a recorder, for `connect(entry, { record: recordConnection(sink) })`.
 *
 * @param sink takes whole lines of JSON. The recorder calls it after the connection's work of a turn.
 * If it throws, the recording ends and the connection goes on
 */
export function recordConnection(
  sink: RecordingSink,
  options: RecordOptions = {},
): ConnectionRecorder {
  return new HostRecorder(sink, options);
}

type Call = (...args: readonly unknown[]) => Promise<unknown>;

class HostRecorder implements ConnectionRecorder {
  readonly #writer: RecordingWriter;
  readonly #header: RecordOptions['header'];
  #timeline: Timeline | undefined;
  #hostClock: Clock | undefined;
  #calls = 0;
  /** Set while the host's call runs that is being recorded: what it calls itself is part of it. */
  #current: HostMethod | undefined;

  constructor(sink: RecordingSink, { header, ...options }: RecordOptions) {
    this.#writer = new RecordingWriter(sink, options);
    this.#header = header;
  }

  flush(): void {
    this.#writer.flush();
  }

  clock(clock: Clock): Clock {
    if (this.#timeline)
      throw new Error('This recorder has a connection already: make one for each');
    const timeline = new Timeline(this.#writer, clock);
    this.#timeline = timeline;
    this.#hostClock = clock;
    return timeline.recordedClock;
  }

  begin(setup: ConnectionSetup, report: Report): ConnectionSetup {
    this.#writer.reportTo(report);
    this.#writer.put({
      recording: recordingVersion,
      side: 'host',
      ...this.#header,
      at: this.#started().now,
      startedAt: new Date().toISOString(),
      redacted: this.#writer.isRedacted,
      ...setup,
    } satisfies ConnectionHeader);
    return setup;
  }

  observe(transitions: Pick<Transitions, 'listen'>): void {
    const timeline = this.#started();
    transitions.listen(transitionLines((line) => timeline.output(line)));
  }

  /** Its channels have the host's clock: their timers are no business of the connection. */
  channel(kind: ChannelKind): ChannelKind {
    const ends = new RecordedEnds(this.#started(), {
      received: (event) =>
        event.type === 'frames.received' ? receivedLine(event.frames) : undefined,
      said: (sent) => ({ sent }),
      reasonOf: recordedError,
      place: 'writer',
    });
    const clock = this.#hostClock;
    this.#writer.conceal(kind.secrets ?? []);
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
      this.#started().output({ random: String(value), for: 'jitter' });
      return value;
    };
  }

  handlers(handlers: ReadonlyMap<string, RequestHandler>): ReadonlyMap<string, RequestHandler> {
    return recordedHandlers(handlers, this.#started());
  }

  answers(answers: Parameters<ConnectionEnvironment['answers']>[0]) {
    const timeline = this.#started();
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
    // Its own members stand before those of its class, so that it calls them itself too.
    Object.assign(connection, Object.fromEntries(recorded));
  }

  watch<T>(watch: () => T): T {
    return this.#started().input({ host: ++this.#calls, calls: 'watch' }, watch);
  }

  start(start: () => void): void {
    this.#started().call(undefined, start);
  }

  closed(kind: 'closed' | 'failure'): void {
    this.#started().output({ closed: kind });
    this.#writer.close();
  }

  #called(name: HostMethod, args: readonly unknown[], call: Call): Promise<unknown> {
    if (this.#current) return call(...args);
    const timeline = this.#started();
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
    const timeline = this.#started();
    return {
      ...port,
      getInitialSnapshot: (scope, { connection, ...input }) =>
        port.getInitialSnapshot(scope, {
          ...input,
          connection: recordedConnection(connection, (report, pass) =>
            timeline.input(linkLine(report), () =>
              pass(
                report.type === 'channel.opened'
                  ? { ...report, ends: ends.record(report.ends) }
                  : report,
              ),
            ),
          ),
        }),
      start: (snapshot, scope) =>
        timeline.call(undefined, () => port.start?.(snapshot, scope), 'channel.start'),
      transition: (snapshot, event, scope) =>
        timeline.call(undefined, () => port.transition(snapshot, event, scope), event.type),
    };
  }

  #started(): Timeline {
    if (!this.#timeline) throw new Error('The connection has not begun');
    return this.#timeline;
  }
}

function hasSignal(arg: unknown): arg is { readonly signal: AbortSignal | undefined } {
  return typeof arg === 'object' && arg !== null && 'signal' in arg;
}

/** What the host gives, without what JSON does not hold: functions, signals, providers. */
function lineOf(host: number, calls: HostMethod, args: readonly unknown[]): HostLine {
  const given = calls === 'setRoots' ? [[], ...args.slice(1)] : args;
  const plain = given.map((arg) => (hasSignal(arg) ? { ...arg, signal: undefined } : arg));
  return { host, calls, ...writtenParams(plain) } as HostLine;
}

function recordedConnection(
  ref: Ref<ChannelReport>,
  observe: (report: ChannelReport, pass: (report: ChannelReport) => void) => void,
): Ref<ChannelReport> {
  const send = (report: ChannelReport) => observe(report, (passed) => ref.send(passed));
  return Object.assign(Object.create(ref) as Ref<ChannelReport>, { send });
}
