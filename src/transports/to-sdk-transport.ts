/**
 * A client's end of one of our connections, in the shape of the official SDK's `Transport`: what
 * their `Client` connects over.
 */
import { LineSplitter } from '../actors/reader/line-splitter.ts';
import { sdkTransportChart } from './sdk-transport.machine.ts';
import type { SdkTransportEvent } from './sdk-transport.machine.ts';
import { textOfError } from '../protocol/errors.ts';
import { defaultLimits } from '../actors/limits.ts';
import type { MemoryPeer } from './memory.ts';
import type { SdkSendOptions, SdkTransport } from './sdk-transport.ts';
import { sourceOf } from './stdio.ts';

/** A client's end of a pair of byte streams. */
export interface ClientStreams {
  /** What the server writes. */
  readonly input: NodeJS.ReadableStream;
  /** What the server reads. It is ended when the client closes. */
  readonly output: NodeJS.WritableStream;
}

/**
 * Lets the official SDK's `Client` talk to a session over {@link memory}, given the peer, or to a
 * stdio server, given the client's end of its two streams. For one client: it is started once, and
 * what is sent after it has closed is refused.
 */
export function toSdkTransport(end: MemoryPeer | ClientStreams): SdkTransport {
  return new ClientTransport('received$' in end ? peerEnd(end) : streamsEnd(end));
}

/** What a client's transport needs of its connection. */
interface ClientEnd {
  /** Starts listening; gives what stops it. */
  listen(events: {
    message(message: unknown): void;
    failed(error: Error): void;
    ended(): void;
  }): () => void;
  send(message: object): Promise<void>;
  end(): void;
}

/**
 * Hands things on to an official client one at a time, each in a microtask of its own: the SDK's
 * clients take a response at once and a notification a microtask later, so progress that came in
 * one chunk with its result would be progress of nothing.
 */
export class SerialQueue {
  readonly #failed: (error: Error) => void;
  /** What has come so far has been handed on when this resolves. */
  #last = Promise.resolve();

  /** @param failed hears what the client's listeners throw */
  constructor(failed: (error: Error) => void) {
    this.#failed = failed;
  }

  enqueue(act: () => void): void {
    const done = this.#last.then(act);
    this.#last = done.catch(() => {});
    done.catch((error: unknown) => this.#report(error));
  }

  #report(error: unknown): void {
    try {
      this.#failed(error instanceof Error ? error : new Error(String(error)));
    } catch {
      // Only the client could be told, and the client's code is what failed. As a rejection that
      // nobody handles it would end the client's process.
    }
  }
}

const hasClosed = 'The connection has closed';

class ClientTransport implements SdkTransport {
  onmessage?: SdkTransport['onmessage'];
  onclose?: SdkTransport['onclose'];
  onerror?: SdkTransport['onerror'];
  readonly #end: ClientEnd;
  #state = sdkTransportChart.begun;
  #stopListening: (() => void) | undefined;
  readonly #turns = new SerialQueue((error) => this.onerror?.(error));

  constructor(end: ClientEnd) {
    this.#end = end;
  }

  start(): Promise<void> {
    if (this.#state.value === 'closed') return rejectedWith(hasClosed);
    if (this.#state.value !== 'unstarted') return rejectedWith('The transport is started already');
    this.#move('transport.start');
    this.#stopListening = this.#end.listen({
      message: (message) => this.#turns.enqueue(() => this.#receive(message)),
      failed: (error) => this.#turns.enqueue(() => this.onerror?.(error)),
      ended: () => this.#turns.enqueue(() => this.#close()),
    });
    this.#move('transport.opened');
    return Promise.resolve();
  }

  send(message: object, _options?: SdkSendOptions): Promise<void> {
    if (this.#state.value === 'closed') return rejectedWith(hasClosed);
    if (this.#state.value === 'unstarted') return rejectedWith('The transport is not started');
    return this.#end.send(message);
  }

  close(): Promise<void> {
    this.#close();
    return Promise.resolve();
  }

  #move(type: SdkTransportEvent['type']): void {
    this.#state = sdkTransportChart.next(this.#state, { type });
  }

  #receive(message: unknown): void {
    if (this.#state.value === 'closed') return;
    for (const each of [message].flat() as unknown[]) {
      // Only objects are messages; the reader would fail on anything else.
      if (typeof each === 'object' && each !== null) this.onmessage?.(each);
      else this.onerror?.(new Error(`The server sent ${JSON.stringify(each)}`));
    }
  }

  #close(): void {
    if (this.#state.value === 'closed') return;
    this.#move('transport.closed');
    this.#stopListening?.();
    this.#end.end();
    this.onclose?.();
  }
}

function peerEnd(peer: MemoryPeer): ClientEnd {
  return {
    listen: ({ message, ended }) => {
      const subscription = peer.received$.subscribe({ next: message, complete: ended });
      return () => subscription.unsubscribe();
    },
    send: (message) => {
      peer.send(message);
      return Promise.resolve();
    },
    end: () => peer.end(),
  };
}

function streamsEnd({ input, output }: ClientStreams): ClientEnd {
  return {
    listen: ({ message, failed, ended }) => {
      const splitter = new LineSplitter(defaultLimits.maxLineBytes);
      const receive = (lines: ReturnType<LineSplitter['push']>) => {
        for (const line of lines) {
          const value = typeof line === 'string' ? parsed(line) : new Error(line.error.message);
          if (value instanceof Error) failed(value);
          else message(value);
        }
      };
      const end = () => {
        receive(splitter.end());
        ended();
      };
      const fail = (error: Error) => {
        failed(error);
        ended();
      };
      const subscription = sourceOf(input).chunks$.subscribe({
        next: (chunk) => receive(splitter.push(chunk)),
        complete: end,
        error: fail,
      });
      // It stays: an error that comes after the end must not end the process.
      output.on('error', fail);
      return () => subscription.unsubscribe();
    },
    send: (message) =>
      new Promise((resolve, reject) => {
        const done = (error?: Error | null) => (error ? reject(error) : resolve());
        output.write(`${JSON.stringify(message)}\n`, done);
      }),
    end: () => {
      output.end();
    },
  };
}

/** A line's value, or what is wrong with the line. */
function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch (error) {
    return new Error(`The server sent what is no JSON: ${textOfError(error)}`);
  }
}

function rejectedWith(reason: string): Promise<never> {
  return Promise.reject(new Error(reason));
}
