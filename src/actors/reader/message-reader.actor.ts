/**
 * The reader of a session over a transport that delivers messages instead of bytes: one event per
 * message.
 */
import { Subscription } from 'rxjs';
import { plainActor } from '../../machines/port.ts';
import type { Port } from '../../machines/port.ts';
import type { PeerRole, ReaderEvent, ReaderInput } from '../../machines/peer-ports.ts';
import { decodeValue } from '../../protocol/codec.ts';
import { RuntimeError } from '../../protocol/errors.ts';
import type { Report } from '../facts.ts';

/** The source of messages. */
export interface MessageSource {
  /** Starts the source. Returns the function that stops it. */
  start(events: { message(value: unknown): void; ended(): void }): () => void;
}

export interface MessageReaderOptions {
  readonly maxLineBytes: number;
  readonly maxDepth: number;
  readonly readAheadBytes: number;
  readonly report: Report;
  /** The peer's name in messages. */
  readonly peer: PeerRole;
}

/**
 * The message reader. The source cannot be paused: while the output is blocked, input is read ahead
 * up to a limit; beyond it the session ends, because queued input and its answers would grow
 * without bound.
 */
export function messageReaderActor(
  source: MessageSource,
  { report, peer, ...limits }: MessageReaderOptions,
): Port<ReaderEvent, ReaderInput> {
  return plainActor(({ input: { router, owner } }) => {
    /** Bytes that may still be read before the session ends. */
    let allowance = Infinity;
    const receive = (value: unknown) => {
      const { frame, size } = decodeValue(value, limits);
      router.send({ type: 'frames.received', frames: [frame] });
      allowance -= size;
      if (allowance < 0) end();
    };
    const end = () => {
      const message = `The ${peer} is not reading and sent more than ${limits.readAheadBytes} bytes: closing the session`;
      report({ level: 'warning', name: 'output.overrun', message });
      started.unsubscribe();
      owner.send({ type: 'output.broken', error: new RuntimeError('LIMIT_EXCEEDED', message) });
    };
    // A Subscription, because the session also stops a reader that has already ended.
    const started = new Subscription(
      source.start({ message: receive, ended: () => owner.send({ type: 'input.ended' }) }),
    );
    return {
      receive: ({ type }) => {
        allowance = type === 'output.blocked' ? limits.readAheadBytes : Infinity;
      },
      stop: () => started.unsubscribe(),
    };
  });
}
