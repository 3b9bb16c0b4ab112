/**
 * Server-initiated messages: sent on the newest standalone stream that keeps up, queued until one
 * opens.
 *
 * @see MCP 2025-11-25, basic/transports, "Listening for Messages from the Server"
 */
import type { HttpLimits } from '../options.ts';
import type { Retention } from './event-log.ts';
import type { SessionStream } from './session-stream.ts';

/** A message queued for the next stream. */
export interface QueuedPush {
  /** JSON, ending with a line feed. */
  readonly text: string;
  /** Called if the message is dropped. */
  readonly onDropped?: (() => void) | undefined;
}

type PushLimits = Pick<HttpLimits, 'maxWaitingPushes' | 'maxWaitingPushBytes'>;

/** Unread bytes up to which a stream counts as keeping up. */
const maxBacklogBytes = 64 * 1024;

function keepsUp({ unreadBytes }: SessionStream): boolean {
  return unreadBytes <= maxBacklogBytes;
}

export class PushStreams {
  readonly #limits: PushLimits;
  readonly #retention: Retention;
  /** Connected streams, newest last. */
  #open: readonly SessionStream[] = [];
  /** Messages that arrived while no stream was open. */
  #queue: QueuedPush[] = [];
  #queueBytes = 0;

  constructor(limits: PushLimits, retention: Retention) {
    this.#limits = limits;
    this.#retention = retention;
  }

  get isOpen(): boolean {
    return this.#open.length > 0;
  }

  /** Number of queued messages. */
  get queued(): number {
    return this.#queue.length;
  }

  get newest(): SessionStream | undefined {
    return this.#open.at(-1);
  }

  push(message: QueuedPush): void {
    const stream = this.#target();
    if (stream) stream.send(message.text);
    else this.#enqueue(message);
  }

  opened(stream: SessionStream): void {
    this.#open = [...this.#open, stream];
    const waiting = this.#queue;
    this.#queue = [];
    this.#queueBytes = 0;
    this.#retention.retain(0);
    for (const message of waiting) this.push(message);
  }

  closed(stream: SessionStream): void {
    this.#open = this.#open.filter((each) => each !== stream);
  }

  /** Drops all queued messages. */
  end(): void {
    this.#drop(this.#queue.length, 'the session has ended');
  }

  /** The newest stream that keeps up, otherwise the newest. */
  #target(): SessionStream | undefined {
    return this.#open.findLast(keepsUp) ?? this.newest;
  }

  #enqueue(message: QueuedPush): void {
    const { maxWaitingPushes, maxWaitingPushBytes } = this.#limits;
    this.#queue.push(message);
    this.#queueBytes += message.text.length;
    let excess = 0;
    let bytes = this.#queueBytes;
    for (const { text } of this.#queue) {
      const isTooMuch =
        this.#queue.length - excess > maxWaitingPushes ||
        bytes > maxWaitingPushBytes ||
        !this.#retention.retain(bytes);
      if (!isTooMuch) break;
      bytes -= text.length;
      excess++;
    }
    this.#drop(
      excess,
      `at most ${maxWaitingPushes} messages and ${maxWaitingPushBytes} bytes are queued without a stream`,
    );
  }

  /** Drops the oldest queued messages. */
  #drop(count: number, reason: string): void {
    if (count === 0) return;
    const dropped = this.#queue.splice(0, count);
    for (const { text, onDropped: tell } of dropped) {
      this.#queueBytes -= text.length;
      tell?.();
    }
    this.#retention.retain(this.#queueBytes);
    this.#retention.onLost(dropped.length, reason);
  }
}
