/**
 * A process of ours in the shape of the official SDK's `Transport`: their `Client` speaks, we launch
 * the server and leave nothing of it.
 */
import { createActor } from 'xstate';
import type { Actor } from 'xstate';
import { unobserved } from '../../actors/transitions.ts';
import { heldProcess, systemClock } from '../../actors/clock.ts';
import type { Clock } from '../../actors/clock.ts';
import { defaultLimits } from '../../actors/limits.ts';
import { errorOf } from '../../machines/connection-failures.ts';
import type {
  ChannelEnds,
  ChannelEvent,
  ChannelInput,
  ChannelReport,
  Loss,
} from '../../machines/connection-ports.ts';
import type { TransportFact } from '../../machines/peer-ports.ts';
import { plainActor } from '../../machines/port.ts';
import type { Port, Ref } from '../../machines/port.ts';
import { describe } from '../../protocol/classify.ts';
import { RuntimeError, errorResponse } from '../../protocol/errors.ts';
import type { InboundFrame, OutboundFrame } from '../../protocol/frames.ts';
import type { SdkTransport } from '../../transports/sdk-transport.ts';
import { InTurn } from '../../transports/to-sdk-transport.ts';
import { messagesOf } from './sdk-messages.ts';
import { stdioChannel } from './stdio-channel.ts';
import type { StdioChannelKind, StdioEntry, StdioOptions } from './stdio-channel.ts';

/** How a server is launched and ended for a client of the official SDK's. */
export interface ProcessTransportOptions extends StdioOptions {
  /** Hears what the server writes to its standard error, in whole lines. */
  readonly onStderr?: ((text: string) => void) | undefined;
  /** Its time. Tests give a clock that they drive. */
  readonly clock?: Clock | undefined;
}

/** The official SDK's `Transport` to a process of ours, which can be looked at. */
export interface ProcessTransport extends SdkTransport {
  /** Leads the process group. Undefined before it runs. */
  readonly pid: number | undefined;
  /** The last that the server has written to its standard error, and how much it was. */
  readonly stderr: { readonly text: string; readonly bytes: number };
}

/**
 * Launches a server for a `Client` of the official SDK's, of any version, as a connection of ours
 * would: with a small environment, in a process group of its own, which ends with its host. The
 * client keeps its own handshake and its own requests. For one client: it is started once.
 *
 * `start` fails if there is no process. `send` resolves once the message is with the process; while
 * too much waits for the server, requests are refused with `LIMIT_EXCEEDED`. `close` resolves when
 * nothing is left of the process group. If the process ends by itself, `onerror` hears how, and then
 * `onclose` is called; `close` then waits for what it has left running.
 *
 * @throws {RuntimeError} CONFIG_INVALID: the entry has no command
 * @throws {RangeError} an option is wrong; names it
 */
export function sdkTransport(
  entry: StdioEntry,
  options: ProcessTransportOptions = {},
): ProcessTransport {
  if (typeof entry?.command === 'string') return new ChannelTransport(entry, options);
  const message = `A transport is made from an entry with "command", this is ${describe(entry)}; the official SDK has transports of its own for a URL`;
  throw new RuntimeError('CONFIG_INVALID', message);
}

type Owned = ChannelReport | TransportFact;

/** The actors of a channel, while they run. */
interface Running {
  /** Hears of the channel and of its ends. */
  readonly owner: Actor<Port<Owned, undefined>>;
  readonly channel: Actor<Port<ChannelEvent, ChannelInput>>;
}

type Ends = {
  readonly [K in keyof ChannelEnds]: Actor<ChannelEnds[K]>;
};

type Phase =
  | { readonly state: 'new' | 'closed' }
  | {
      readonly state: 'starting';
      readonly running: Running;
      opened(): void;
      failed(error: Error): void;
    }
  | {
      readonly state: 'open';
      readonly running: Running;
      readonly ends: Ends;
      readonly output: 'flowing' | 'blocked';
    }
  | {
      readonly state: 'ending';
      readonly running: Running;
      readonly ends: Ends | undefined;
      /** What is done when nothing is left. */
      last(): void;
    };

class ChannelTransport implements ProcessTransport {
  onmessage?: SdkTransport['onmessage'];
  onclose?: SdkTransport['onclose'];
  onerror?: SdkTransport['onerror'];
  readonly #kind: StdioChannelKind;
  readonly #options: ProcessTransportOptions;
  readonly #turns = new InTurn((error) => this.onerror?.(error));
  /** Reject what is sent and not with the process yet. */
  readonly #untaken = new Set<(error: Error) => void>();
  readonly #closed: Promise<void>;
  #tellClosed: () => void = () => {};
  #phase: Phase = { state: 'new' };

  constructor(entry: StdioEntry, options: ProcessTransportOptions) {
    this.#kind = stdioChannel(entry, options);
    this.#options = options;
    this.#closed = new Promise((resolve) => (this.#tellClosed = resolve));
  }

  get pid(): number | undefined {
    return this.#kind.pid;
  }

  get stderr(): ProcessTransport['stderr'] {
    return this.#kind.stderr;
  }

  // What the client asks.

  start(): Promise<void> {
    if (this.#phase.state !== 'new') {
      return Promise.reject(new Error('A transport is started once: make another one'));
    }
    return new Promise((opened, failed) => {
      const running = this.#run();
      this.#phase = { state: 'starting', running, opened, failed };
      running.channel.start();
    });
  }

  send(message: object): Promise<void> {
    const phase = this.#phase;
    if (phase.state !== 'open') return Promise.reject(notOpen(phase.state));
    const { ends, output } = phase;
    const frames = [message as OutboundFrame];
    if (!('method' in message)) {
      // The writer answers in the place of an answer that JSON cannot hold.
      ends.writer.send({ type: 'frames.send', frames });
      return Promise.resolve();
    }
    if (output === 'blocked' && 'id' in message) {
      const text = 'The server takes nothing: too much waits for it already';
      return Promise.reject(new RuntimeError('LIMIT_EXCEEDED', text));
    }
    return new Promise((resolve, reject) => {
      this.#untaken.add(reject);
      const taken = (): void => {
        this.#untaken.delete(reject);
        resolve();
      };
      const rejected = (error: unknown): void => {
        this.#untaken.delete(reject);
        reject(error instanceof Error ? error : new Error(String(error)));
      };
      ends.writer.send({ type: 'frames.send', frames, taken, rejected });
    });
  }

  close(): Promise<void> {
    const phase = this.#phase;
    if (phase.state === 'new') {
      this.#phase = { state: 'closed' };
      this.#turns.later(() => this.onclose?.());
      this.#tellClosed();
    } else if (phase.state === 'starting') {
      this.#end(phase.running, undefined, () => {
        phase.failed(errorOf(undefined));
        this.onclose?.();
      });
    } else if (phase.state === 'open') {
      this.#rejectUntaken(errorOf(undefined));
      this.#end(phase.running, phase.ends, () => this.onclose?.());
    }
    const release = heldProcess();
    return this.#closed.then(release);
  }

  // What the channel tells.

  #run(): Running {
    const { clock = systemClock, onStderr = () => {} } = this.#options;
    const owner = createActor(
      plainActor<Owned, undefined>(() => ({ receive: (event) => this.#hear(event) })),
      { input: undefined },
    );
    owner.start();
    const logic = this.#kind.logic({
      limits: defaultLimits,
      clock,
      report: ({ level, message }) => {
        if (level === 'warning' || level === 'error') this.#tell(new Error(message));
      },
      observed: unobserved,
      stderr: (text) => this.#turns.later(() => onStderr(text)),
      authorize: () => {},
    });
    const connection = owner as unknown as Ref<ChannelReport>;
    const channel = createActor(logic, { input: { connection } });
    channel.subscribe({
      error: (error) => {
        this.#lost({ kind: 'failure', error });
        this.#stopped();
      },
    });
    return { owner, channel };
  }

  #hear(event: Owned): void {
    const phase = this.#phase;
    switch (event.type) {
      case 'channel.opened':
        return this.#open(event.ends);
      case 'channel.lost':
        return this.#lost(event.loss);
      case 'channel.stopped':
        return this.#stopped();
      case 'input.ended':
      case 'output.broken':
        if ('running' in phase) phase.running.channel.send(event);
        return;
      case 'output.blocked':
      case 'output.flowing':
        if (phase.state !== 'open') return;
        this.#phase = { ...phase, output: event.type === 'output.blocked' ? 'blocked' : 'flowing' };
        phase.ends.reader.send(event);
        return;
      default:
      // The rest is told by HTTP, or to those who ask for a flush.
    }
  }

  #open({ reader, writer }: ChannelEnds): void {
    const phase = this.#phase;
    if (phase.state !== 'starting') return;
    const owner = phase.running.owner as unknown as Ref<TransportFact>;
    const ends: Ends = {
      writer: createActor(writer, { input: { owner } }),
      reader: createActor(reader, {
        input: {
          owner,
          router: {
            send: (event) => {
              if (event.type !== 'frames.received') return;
              for (const frame of event.frames) this.#receive(frame);
            },
          },
        },
      }),
    };
    this.#phase = { state: 'open', running: phase.running, ends, output: 'flowing' };
    const failed = { error: (error: unknown) => this.#lost({ kind: 'failure', error }) };
    ends.writer.subscribe(failed);
    ends.reader.subscribe(failed);
    ends.writer.start();
    ends.reader.start();
    phase.opened();
  }

  #receive(frame: InboundFrame): void {
    const { messages, faults } = messagesOf(frame);
    for (const fault of faults) this.#tell(new Error(fault));
    for (const message of messages) this.#turns.later(() => this.onmessage?.(message));
    if (frame.kind !== 'invalid' || frame.id === undefined || this.#phase.state !== 'open') return;
    const frames = [errorResponse(frame.id, frame.error)];
    this.#phase.ends.writer.send({ type: 'frames.send', frames });
  }

  #lost(loss: Loss): void {
    const phase = this.#phase;
    const error = errorOf(loss);
    if (phase.state === 'starting') {
      this.#end(phase.running, undefined, () => phase.failed(error));
    } else if (phase.state === 'open') {
      this.#rejectUntaken(error);
      this.#tell(error);
      this.#turns.later(() => this.onclose?.());
      this.#end(phase.running, phase.ends, () => {});
    }
  }

  /** Ends what runs. What was sent in this turn still goes out. */
  #end(running: Running, ends: Ends | undefined, last: () => void): void {
    this.#phase = { state: 'ending', running, ends, last };
    ends?.writer.stop();
    running.channel.send({ type: 'channel.close' });
  }

  #stopped(): void {
    const phase = this.#phase;
    if (phase.state !== 'ending') return;
    this.#phase = { state: 'closed' };
    phase.ends?.reader.stop();
    phase.running.channel.stop();
    phase.running.owner.stop();
    this.#turns.later(() => {
      this.#tellClosed();
      phase.last();
    });
  }

  #tell(error: Error): void {
    this.#turns.later(() => this.onerror?.(error));
  }

  #rejectUntaken(error: Error): void {
    for (const reject of this.#untaken) reject(error);
    this.#untaken.clear();
  }
}

function notOpen(state: Exclude<Phase['state'], 'open'>): RuntimeError {
  const isNew = state === 'new' || state === 'starting';
  const text = isNew ? 'The transport is not started' : 'The connection has closed';
  return new RuntimeError(isNew ? 'NOT_READY' : 'CLOSED', text);
}
