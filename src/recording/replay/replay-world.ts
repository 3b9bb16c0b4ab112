/**
 * The world of a replayed session, as the recording has it: its time and its random ids at the
 * environment, and the two actors at its ends. The reader gives what the client sent, the writer
 * takes what the session says.
 */
import type { Clock } from '../../actors/clock.ts';
import { plainActor } from '../../machines/port.ts';
import type { Ref } from '../../machines/port.ts';
import type {
  FramesToSend,
  ReaderEvent,
  ReaderInput,
  RouterEvent,
  TransportFact,
  WriterEvent,
  WriterInput,
} from '../../machines/peer-ports.ts';
import type { OutboundFrame } from '../../protocol/frames.ts';
import type { ServerDescription } from '../../protocol/implementation.ts';
import type { Limits } from '../../actors/limits.ts';
import { plainEnvironment } from '../../session/session-environment.ts';
import type { SessionEnvironment } from '../../session/session-environment.ts';
import type { Transport } from '../../transports/transport.ts';
import type {
  ChannelLine,
  ClientLine,
  FramesLine,
  GoneLine,
  OutputLine,
  RecordingHeader,
  SessionOutputLine,
  UnsentLine,
  ReturnedLine,
  TakenLine,
} from '../format.ts';
import {
  replayedError,
  closedLine,
  timeOfDayAt,
  transitionLines,
  writtenFrames,
} from '../lines.ts';
import { ReplayedOrigins } from '../origins.ts';

/** Tells the recording's time, and fires the timers that fired then. */
export class ReplayClock implements Clock {
  #now: number;
  #count = 0;
  readonly #timers = new Map<unknown, () => void>();

  /** @param now milliseconds */
  constructor(now: number) {
    this.#now = now;
  }

  now(): number {
    return this.#now;
  }

  /** Sets the time that a line has. Time never goes back. */
  advanceTo(at: number | undefined): void {
    if (at !== undefined && at > this.#now) this.#now = at;
  }

  setTimeout(callback: () => void): number {
    const timer = ++this.#count;
    this.#timers.set(timer, callback);
    return timer;
  }

  clearTimeout(timer: unknown): void {
    this.#timers.delete(timer);
  }

  /**
   * Fires a timer; the first that was set is 1.
   * @returns false if it was never set, or was cleared
   */
  fire(timer: number): boolean {
    const callback = this.#timers.get(timer);
    if (!callback) return false;
    this.#timers.delete(timer);
    callback();
    return true;
  }
}

/**
 * The environment that every replay has: it gives the recorded time and ids, and observes the
 * machines.
 */
export function replayEnvironment(options: {
  readonly header: RecordingHeader;
  readonly clock: Clock;
  readonly transport: Transport;
  /** The recorded id; undefined if there is none. */
  random(of: string): string | undefined;
  output(line: SessionOutputLine): void;
  /** What `initialize` is answered with, given what the playing server would answer. */
  server(live: ServerDescription): ServerDescription;
  /** Called after the session has called one of its host's listeners. */
  afterwards(): void;
}): SessionEnvironment {
  const { header, clock, transport, random, output, server, afterwards } = options;
  return {
    ...plainEnvironment,
    clock: () => clock,
    timeOfDay: () => timeOfDayAt(header, clock.now()),
    randomId: (of, make) => random(of) ?? make(),
    transport: () => transport,
    begin: ({ server: live, transitions }) => {
      transitions.listen(transitionLines(output));
      return server(live);
    },
    listener: (_, call) => {
      call();
      afterwards();
    },
    closed: (cause) => output(closedLine(cause)),
  };
}

/**
 * The recorded options of the session; this version's defaults stand for limits that it did not
 * know.
 */
export function optionsOf({ limits, resume }: RecordingHeader): {
  readonly limits: Partial<Limits>;
  readonly resume?: 'replay';
} {
  const known = Object.entries(limits).map(([name, limit]) => [name, limit ?? Infinity]);
  return {
    limits: Object.fromEntries(known) as Partial<Limits>,
    ...(resume ? { resume } : {}),
  };
}

/** What was sent, and who hears if it cannot be. */
interface Sent extends Pick<FramesToSend, 'rejected' | 'returned'> {
  readonly frame: OutboundFrame;
}

function isNamed(frame: OutboundFrame, method: string, id: unknown): boolean {
  return (
    'method' in frame && frame.method === method && ('id' in frame ? frame.id : undefined) === id
  );
}

/** The two ends of a replayed session. */
export interface ReplayEnds {
  readonly transport: Transport;
  /** Gives the session what its client sent. */
  receive(line: ClientLine | FramesLine): void;
  /** Tells it that the client that waited for an answer has gone. */
  gone(line: GoneLine): void;
  /**
   * Tells the sender that the transport could not send it.
   * @param id of a request, in this session
   * @returns false if it was never sent
   */
  unsent(line: UnsentLine, id?: unknown): boolean;
  /** Tells the sender that it may be sent once more. @returns false if it was never sent */
  returned(line: ReturnedLine): boolean;
  /** Tells the sender that the transport has it. @returns false if it does not wait for that */
  taken(line: TakenLine): boolean;
  /** Tells the session something as its reader or writer would. */
  tell(fact: TransportFact): void;
}

export function replayEnds(options: {
  /** Called with each frame as the client would read it. */
  said(frame: unknown): void;
  /** Called when the session asks to be told that everything is written. */
  flush?(): void;
  /** Called after each event that the writer has taken. */
  afterwards?(): void;
}): ReplayEnds {
  let router: Pick<Ref<RouterEvent>, 'send'> | undefined = undefined;
  let owner: Ref<TransportFact> | undefined = undefined;
  const origins = new ReplayedOrigins();
  const sent: Sent[] = [];
  const awaited: (() => void)[] = [];
  const find = (method: string, id: unknown): Sent | undefined => {
    const at = sent.findLastIndex(({ frame }) => isNamed(frame, method, id));
    return at === -1 ? undefined : sent.splice(at, 1)[0];
  };
  return {
    transport: () => ({
      reader: plainActor<ReaderEvent, ReaderInput>(({ input }) => {
        ({ router, owner } = input);
        return { receive: () => {} };
      }),
      writer: plainActor<WriterEvent, WriterInput>(() => ({
        receive: (event) => {
          if (event.type === 'output.flush') {
            options.flush?.();
          } else if (event.type === 'frames.send') {
            const { rejected, returned, taken } = event;
            if (rejected) {
              sent.push(...event.frames.map((frame) => ({ frame, rejected, returned })));
            }
            if (taken) awaited.push(taken);
            const frames = writtenFrames(event.frames, (message, error) => {
              if ('method' in message) rejected?.(error, message);
            });
            for (const frame of frames) options.said(frame);
          }
          options.afterwards?.();
        },
      })),
    }),
    receive: (line) => router?.send({ type: 'frames.received', frames: origins.framesOf(line) }),
    gone: (line) => {
      const { reason } = line;
      router?.send({ type: 'request.gone', request: origins.requestOf(line), reason });
    },
    unsent: ({ unsent, id: recorded, reason, code = 'TRANSPORT_CLOSED' }, id = recorded) => {
      const message = find(unsent, id);
      message?.rejected?.(replayedError({ reason, code }), message.frame);
      return message !== undefined;
    },
    returned: ({ returned, id, ...why }) => {
      const message = find(returned, id);
      message?.returned?.(replayedError(why), message.frame);
      return message !== undefined;
    },
    taken: ({ taken: number }) => {
      const taken = awaited[number - 1];
      taken?.();
      return taken !== undefined;
    },
    tell: (fact) => owner?.send(fact),
  };
}

/** What the writer told the session by such a line. */
export function writerFact(line: OutputLine | ChannelLine): TransportFact {
  if ('channel' in line) return { type: `ownStream.${line.channel}` };
  const { output, error } = line;
  return output === 'broken'
    ? { type: 'output.broken', error: new Error(error) }
    : { type: `output.${output}` };
}
