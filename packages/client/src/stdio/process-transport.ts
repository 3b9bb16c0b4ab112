/**
 * A server process as the official SDK's `Transport`: the SDK's `Client` talks to the server, and
 * this transport launches and stops it.
 */
import { createActor } from 'xstate';
import type { Actor } from 'xstate';
import { keepAlive, systemClock } from '../../../../src/actors/clock.ts';
import type { Clock } from '../../../../src/actors/clock.ts';
import { defaultLimits } from '../../../../src/actors/limits.ts';
import { unobserved } from '../../../../src/actors/transitions.ts';
import { describeServerFrame } from '../../../../src/protocol/codec.ts';
import { disconnectError } from '../../../../src/protocol/disconnects.ts';
import type { ChannelEvent, ChannelInput, ChannelReport } from '../channel/connection-ports.ts';
import type { ConnectionLoss } from '../../../../src/protocol/disconnects.ts';
import type {
  DeliveryEvent,
  TransportActors,
  TransportFact,
} from '../../../../src/machines/peer-ports.ts';
import { sdkTransportChart } from '../../../../src/transports/sdk-transport.machine.ts';
import type {
  SdkTransportEvent,
  SdkTransportSnapshot,
} from '../../../../src/transports/sdk-transport.machine.ts';
import type { Port, Recipient } from '../../../../src/machines/port.ts';
import { inspectValue, classifyMessage, messageOf } from '../../../../src/protocol/classify.ts';
import { RuntimeError, errorResponse, ErrorCode } from '../../../../src/protocol/errors.ts';
import type {
  InboundFrame,
  InboundResponse,
  OutboundFrame,
  RequestId,
  SingleFrame,
} from '../../../../src/protocol/frames.ts';
import type { SdkTransport } from '../../../../src/transports/sdk-transport.ts';
import { SerialQueue } from '../../../../src/transports/to-sdk-transport.ts';
import { stdioChannel } from './stdio-channel.actor.ts';
import type { StdioChannelKind, StdioEntry, StdioOptions } from './stdio-channel.actor.ts';

/** Options for launching and stopping a server for an official SDK client. */
export interface ProcessTransportOptions extends StdioOptions {
  /** Called with the server's stderr, in whole lines. */
  readonly onStderr?: ((text: string) => void) | undefined;
  /** Clock; replaceable for tests. */
  readonly clock?: Clock | undefined;
}

/** The official SDK's `Transport` to a launched process. */
export interface ProcessTransport extends SdkTransport {
  /** Process id, which is also its group id. Undefined before launch. */
  readonly pid: number | undefined;
  /** The tail of the server's stderr, and the total written. */
  readonly stderr: { readonly text: string; readonly bytes: number };
}

/**
 * Launches a server for the official SDK's `Client`, of any version, as a connection of this
 * library would: with a minimal environment, in its own process group, which ends with its host.
 * The client handles the handshake and requests. A transport serves one client and starts only
 * once.
 *
 * `start` fails if the process cannot be launched. `send` resolves once the process has the
 * message; while too much output is queued, requests fail with `LIMIT_EXCEEDED`. `close` resolves
 * when the process group is gone. If the process ends by itself, `onerror` is called with the
 * reason, then `onclose`; `close` then waits for any processes that it left running.
 *
 * @throws {RuntimeError} CONFIG_INVALID: the entry has no command
 * @throws {RangeError} an option is out of range
 */
export function sdkTransport(
  entry: StdioEntry,
  options: ProcessTransportOptions = {},
): ProcessTransport {
  if (typeof entry?.command === 'string') return new ChannelTransport(entry, options);
  const message = `The entry of a transport must have a "command", got ${inspectValue(entry)}; for a URL use the official SDK's transports`;
  throw new RuntimeError('CONFIG_INVALID', message);
}

type Ends = {
  readonly [K in keyof TransportActors]: Actor<TransportActors[K]>;
};

class ChannelTransport implements ProcessTransport {
  onmessage?: SdkTransport['onmessage'];
  onclose?: SdkTransport['onclose'];
  onerror?: SdkTransport['onerror'];
  readonly #kind: StdioChannelKind;
  readonly #options: ProcessTransportOptions;
  readonly #turns = new SerialQueue((error) => this.onerror?.(error));
  /** Messages that the process does not have yet, by their receipts. */
  readonly #undelivered = new Map<number, { resolve(): void; reject(error: unknown): void }>();
  #receipts = 0;
  readonly #closed: Promise<void>;
  #tellClosed: () => void = () => {};
  #state = sdkTransportChart.initial;
  /** The channel, from start to cleanup. */
  #channel: Actor<Port<ChannelEvent, ChannelInput>> | undefined;
  /** Reader and writer, from opening to cleanup. */
  #ends: Ends | undefined;
  #started: { opened(): void; failed(error: Error): void } | undefined;
  /** Called after cleanup. */
  #last: () => void = () => {};
  /** Receives events of the channel, reader and writer. */
  readonly #owner: Recipient<ChannelReport | TransportFact | DeliveryEvent> = {
    send: (event) => this.#hear(event),
  };

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

  // Methods called by the client.

  start(): Promise<void> {
    if (this.#state.value !== 'unstarted') {
      return Promise.reject(new Error('A transport starts only once: create another one'));
    }
    return new Promise((opened, failed) => {
      this.#started = { opened, failed };
      const channel = this.#run();
      this.#channel = channel;
      this.#move('transport.start');
      channel.start();
    });
  }

  send(message: object): Promise<void> {
    const ends = this.#ends;
    if (!ends || !this.#state.matches('open')) return Promise.reject(notOpen(this.#state));
    const frames = [message as OutboundFrame];
    if (!('method' in message)) {
      // If JSON cannot represent an answer, the writer sends an error instead.
      ends.writer.send({ type: 'frames.send', frames });
      return Promise.resolve();
    }
    if (this.#state.matches({ open: 'blocked' }) && 'id' in message) {
      const text = 'The server accepts no messages and the queue is full';
      return Promise.reject(new RuntimeError('LIMIT_EXCEEDED', text));
    }
    return new Promise((resolve, reject) => {
      const receipt = ++this.#receipts;
      this.#undelivered.set(receipt, { resolve, reject });
      ends.writer.send({ type: 'frames.send', frames, reportTo: this.#owner, receipt });
    });
  }

  close(): Promise<void> {
    if (this.#state.value === 'unstarted') {
      this.#move('transport.closed');
      this.#turns.enqueue(() => this.onclose?.());
      this.#tellClosed();
    } else if (this.#state.value === 'starting') {
      this.#end(() => {
        this.#started?.failed(disconnectError(undefined));
        this.onclose?.();
      });
    } else if (this.#state.matches('open')) {
      this.#rejectUndelivered(disconnectError(undefined));
      this.#end(() => this.onclose?.());
    }
    const release = keepAlive();
    return this.#closed.then(release);
  }

  // Events of the channel.

  #run(): Actor<Port<ChannelEvent, ChannelInput>> {
    const { clock = systemClock, onStderr = () => {} } = this.#options;
    const logic = this.#kind.logic({
      limits: defaultLimits,
      clock,
      report: ({ level, message }) => {
        if (level === 'warning' || level === 'error') this.#tell(new Error(message));
      },
      observed: unobserved,
      stderr: (text) => this.#turns.enqueue(() => onStderr(text)),
      authorize: () => {},
    });
    const channel = createActor(logic, { input: { connection: this.#owner } });
    channel.subscribe({
      error: (error) => {
        this.#lost({ kind: 'failure', error });
        this.#stopped();
      },
    });
    return channel;
  }

  #hear(event: ChannelReport | TransportFact | DeliveryEvent): void {
    switch (event.type) {
      case 'frames.delivered':
        return this.#delivered(event.receipt)?.resolve();
      case 'frame.rejected':
        return this.#delivered(event.receipt)?.reject(event.error);
      case 'channel.opened':
        return this.#open(event.ends);
      case 'channel.lost':
        return this.#lost(event.loss);
      case 'channel.stopped':
        return this.#stopped();
      case 'input.ended':
      case 'output.broken':
        return this.#channel?.send(event);
      case 'output.blocked':
      case 'output.flowing':
        this.#move(event.type);
        this.#ends?.reader.send(event);
        return;
      default:
      // Other facts come only over HTTP, or after a flush event.
    }
  }

  /** Forgets a message whose fate is known. */
  #delivered(receipt = 0): { resolve(): void; reject(error: unknown): void } | undefined {
    const waiting = this.#undelivered.get(receipt);
    this.#undelivered.delete(receipt);
    return waiting;
  }

  #open({ reader, writer }: TransportActors): void {
    const owner = this.#owner;
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
    this.#ends = ends;
    this.#move('transport.opened');
    const failed = { error: (error: unknown) => this.#lost({ kind: 'failure', error }) };
    ends.writer.subscribe(failed);
    ends.reader.subscribe(failed);
    ends.writer.start();
    ends.reader.start();
    this.#started?.opened();
  }

  #receive(frame: InboundFrame): void {
    const { messages, faults } = messagesOf(frame);
    for (const fault of faults) this.#tell(new Error(fault));
    for (const message of messages) this.#turns.enqueue(() => this.onmessage?.(message));
    if (frame.kind !== 'invalid' || frame.id === undefined || !this.#state.matches('open')) return;
    const frames = [errorResponse(frame.id, frame.error)];
    this.#ends?.writer.send({ type: 'frames.send', frames });
  }

  #lost(loss: ConnectionLoss): void {
    const error = disconnectError(loss);
    if (this.#state.value === 'starting') {
      this.#end(() => this.#started?.failed(error));
    } else if (this.#state.matches('open')) {
      this.#rejectUndelivered(error);
      this.#tell(error);
      this.#turns.enqueue(() => this.onclose?.());
      this.#end(() => {});
    }
  }

  /** Ends the process. Messages sent in this turn are still written. */
  #end(last: () => void): void {
    this.#last = last;
    this.#move('transport.end');
    this.#ends?.writer.stop();
    this.#channel?.send({ type: 'channel.close' });
  }

  #stopped(): void {
    this.#move('transport.closed');
    this.#ends?.reader.stop();
    this.#channel?.stop();
    this.#channel = undefined;
    this.#ends = undefined;
    this.#turns.enqueue(() => {
      this.#tellClosed();
      this.#last();
    });
  }

  #move(type: SdkTransportEvent['type']): void {
    this.#state = sdkTransportChart.next(this.#state, { type });
  }

  #tell(error: Error): void {
    this.#turns.enqueue(() => this.onerror?.(error));
  }

  #rejectUndelivered(error: Error): void {
    for (const { reject } of this.#undelivered.values()) reject(error);
    this.#undelivered.clear();
  }
}

function notOpen({ value }: SdkTransportSnapshot): RuntimeError {
  const isNew = value === 'unstarted' || value === 'starting';
  const text = isNew ? 'The transport is not started' : 'The connection has closed';
  return new RuntimeError(isNew ? 'NOT_READY' : 'CLOSED', text);
}

interface SdkMessages {
  readonly messages: readonly object[];
  /** Faults of inputs that are not messages, as sentences. */
  readonly faults: readonly string[];
}

/**
 * Converts a frame without dropping anything: input that is not a message becomes a fault. An
 * unreadable answer becomes an error for the request that it names, so that the client does not
 * keep waiting.
 */
function messagesOf(frame: InboundFrame): SdkMessages {
  if (frame.kind === 'batch') {
    const members = frame.messages.map((message) => messagesOf(classifyMessage(message)));
    return {
      messages: members.flatMap(({ messages }) => messages),
      faults: members.flatMap(({ faults }) => faults),
    };
  }
  if (frame.kind === 'stray-error') {
    const fault = `The server could not read a message: ${frame.error.message}`;
    return { messages: [], faults: [fault] };
  }
  const message = messageOf(frame);
  if (message) return { messages: [message], faults: [] };
  const { ids, fault } = faultOf(frame);
  const error = { code: ErrorCode.internalError, message: fault };
  return { messages: ids.map((id) => ({ jsonrpc: '2.0', id, error })), faults: [fault] };
}

/** The fault of a frame that is not a message, and the ids of the requests it answers. */
function faultOf(frame: SingleFrame): {
  readonly ids: readonly RequestId[];
  readonly fault: string;
} {
  if (frame.kind === 'invalid') {
    const fault =
      frame.text === undefined
        ? `The server sent an invalid message: ${frame.error.message}`
        : describeServerFrame(frame);
    return { ids: frame.answers ?? [], fault };
  }
  const { id, outcome } = frame as InboundResponse;
  const reason =
    'malformed' in outcome ? outcome.malformed : 'tooLong' in outcome && outcome.tooLong;
  return { ids: [id], fault: `The server's answer cannot be read: ${reason}` };
}
