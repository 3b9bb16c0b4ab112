/**
 * Adapter: the client's end of a connection as the official SDK's `Transport`, for the SDK's
 * `Client`.
 */
import { LineSplitter } from '../actors/reader/line-splitter.ts';
import { sdkTransportChart } from './sdk-transport.machine.ts';
import type { SdkTransportEvent } from './sdk-transport.machine.ts';
import { textOfError } from '../protocol/errors.ts';
import { defaultLimits } from '../actors/limits.ts';
import type { MemoryPeer } from './memory.ts';
import type { SdkSendOptions, SdkTransport } from './sdk-transport.ts';
import { sourceOf } from './stdio.ts';

/** The client's byte streams. */
export interface ClientStreams {
  /** The server's output. */
  readonly input: NodeJS.ReadableStream;
  /** The server's input. Ended when the client closes the transport. */
  readonly output: NodeJS.WritableStream;
}

/**
 * Connects the official SDK's `Client` to a session over {@link memory} (pass the peer) or to a
 * stdio server (pass the client's streams). For a single client: can be started once, and rejects
 * messages after closing.
 */
export function toSdkTransport(end: MemoryPeer | ClientStreams): SdkTransport {
  return new ClientTransport('received$' in end ? peerEnd(end) : streamsEnd(end));
}

/** The connection behind a client's transport. */
interface ClientEnd {
  /** Subscribes to input. Returns the function that unsubscribes. */
  listen(events: {
    message(message: unknown): void;
    failed(error: Error): void;
    ended(): void;
  }): () => void;
  send(message: object): Promise<void>;
  end(): void;
}

/**
 * Runs callbacks one at a time, each in a microtask of its own. The SDK's clients process a
 * response immediately and a notification one microtask later, so progress received together with
 * its result would come too late.
 */
export class SerialQueue {
  readonly #failed: (error: Error) => void;
  /** Resolves when all callbacks so far have run. */
  #last = Promise.resolve();

  /** @param failed receives errors of the client's listeners */
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
      // The client's own error listener failed. An unhandled rejection would end the client's
      // process.
    }
  }
}

const hasClosed = 'The connection is closed';

class ClientTransport implements SdkTransport {
  onmessage?: SdkTransport['onmessage'];
  onclose?: SdkTransport['onclose'];
  onerror?: SdkTransport['onerror'];
  readonly #end: ClientEnd;
  #state = sdkTransportChart.initial;
  #stopListening: (() => void) | undefined;
  readonly #turns = new SerialQueue((error) => this.onerror?.(error));

  constructor(end: ClientEnd) {
    this.#end = end;
  }

  start(): Promise<void> {
    if (this.#state.value === 'closed') return rejectedWith(hasClosed);
    if (this.#state.value !== 'unstarted')
      return rejectedWith('The transport has already been started');
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
      // Only objects are messages; the SDK would fail on anything else.
      if (typeof each === 'object' && each !== null) this.onmessage?.(each);
      else
        this.onerror?.(
          new Error(`A message must be an object, the server sent ${JSON.stringify(each)}`),
        );
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
      // Never removed, because an error after the end must not end the process.
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

/** Parses a line. Returns an Error if the line is not JSON. */
function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch (error) {
    return new Error(`The server sent a line that is not JSON: ${textOfError(error)}`);
  }
}

function rejectedWith(reason: string): Promise<never> {
  return Promise.reject(new Error(reason));
}
