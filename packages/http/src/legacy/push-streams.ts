/**
 * What a session says that belongs to no request: it goes on one of its client's GET streams, the
 * newest that reads. Until there is one it waits.
 *
 * @see MCP 2025-11-25, basic/transports, "Listening for Messages from the Server"
 */
import type { HttpLimits } from '../options.ts';
import type { Keeping } from './event-log.ts';
import type { SessionStream } from './session-stream.ts';

/** A message for a stream that is not there yet. */
export interface WaitingPush {
  /** With a line feed at its end. */
  readonly text: string;
  /** It will not be sent. */
  readonly dropped?: (() => void) | undefined;
}

type PushLimits = Pick<HttpLimits, 'maxWaitingPushes' | 'maxWaitingPushBytes'>;

/** What a stream may be behind, bytes, while another one is given messages before it. */
const behindBytes = 64 * 1024;

function keepsUp({ unreadBytes }: SessionStream): boolean {
  return unreadBytes <= behindBytes;
}

export class PushStreams {
  readonly #limits: PushLimits;
  readonly #keeping: Keeping;
  /** Those that have a connection, the newest last. */
  #open: readonly SessionStream[] = [];
  /** What no stream was there for. */
  #waiting: WaitingPush[] = [];
  #waitingBytes = 0;

  constructor(limits: PushLimits, keeping: Keeping) {
    this.#limits = limits;
    this.#keeping = keeping;
  }

  get isOpen(): boolean {
    return this.#open.length > 0;
  }

  /** How many messages wait for a stream. */
  get waiting(): number {
    return this.#waiting.length;
  }

  get newest(): SessionStream | undefined {
    return this.#open.at(-1);
  }

  push(message: WaitingPush): void {
    const stream = this.#reading();
    if (stream) stream.send(message.text);
    else this.#wait(message);
  }

  opened(stream: SessionStream): void {
    this.#open = [...this.#open, stream];
    const waiting = this.#waiting;
    this.#waiting = [];
    this.#waitingBytes = 0;
    this.#keeping.retain(0);
    for (const message of waiting) this.push(message);
  }

  closed(stream: SessionStream): void {
    this.#open = this.#open.filter((each) => each !== stream);
  }

  /** Nothing that waits will be sent. */
  end(): void {
    this.#drop(this.#waiting.length, 'the session has ended');
  }

  /** The newest that its client keeps up with; if there is none, the newest. */
  #reading(): SessionStream | undefined {
    return this.#open.findLast(keepsUp) ?? this.newest;
  }

  #wait(message: WaitingPush): void {
    const { maxWaitingPushes, maxWaitingPushBytes } = this.#limits;
    this.#waiting.push(message);
    this.#waitingBytes += message.text.length;
    let excess = 0;
    let bytes = this.#waitingBytes;
    for (const { text } of this.#waiting) {
      const isTooMuch =
        this.#waiting.length - excess > maxWaitingPushes ||
        bytes > maxWaitingPushBytes ||
        !this.#keeping.retain(bytes);
      if (!isTooMuch) break;
      bytes -= text.length;
      excess++;
    }
    this.#drop(
      excess,
      `${maxWaitingPushes} of at most ${maxWaitingPushBytes} bytes wait for a stream`,
    );
  }

  /** Drops the oldest that wait. */
  #drop(count: number, reason: string): void {
    if (count === 0) return;
    const dropped = this.#waiting.splice(0, count);
    for (const { text, dropped: tell } of dropped) {
      this.#waitingBytes -= text.length;
      tell?.();
    }
    this.#keeping.retain(this.#waitingBytes);
    this.#keeping.lost(dropped.length, reason);
  }
}
