/**
 * The input of a session over a transport that gives messages, not bytes: one event per message.
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
  /** Starts it; gives what ends it. */
  start(events: { message(value: unknown): void; ended(): void }): () => void;
}

export interface MessageReaderOptions {
  readonly maxLineBytes: number;
  readonly maxDepth: number;
  readonly readAheadBytes: number;
  readonly report: Report;
  /** The peer's name in texts. */
  readonly peer: PeerRole;
}

/**
 * The logic of a reader of messages. The source cannot be asked to pause: while the output is blocked it
 * reads ahead up to a limit, and past that it ends the session, because what waits, and what would
 * be answered to it, would grow without bound.
 */
export function messageReaderActor(
  source: MessageSource,
  { report, peer, ...limits }: MessageReaderOptions,
): Port<ReaderEvent, ReaderInput> {
  return plainActor(({ input: { router, owner } }) => {
    /** How much may still be read before the session ends. */
    let allowance = Infinity;
    const receive = (value: unknown) => {
      const { frame, size } = decodeValue(value, limits);
      router.send({ type: 'frames.received', frames: [frame] });
      allowance -= size;
      if (allowance < 0) end();
    };
    const end = () => {
      const message = `The ${peer} takes nothing, and has sent more than ${limits.readAheadBytes} bytes meanwhile: the session ends`;
      report({ level: 'warning', name: 'output.overrun', message });
      started.unsubscribe();
      owner.send({ type: 'output.broken', error: new RuntimeError('LIMIT_EXCEEDED', message) });
    };
    // Ended once, though the session stops a reader that has ended by itself.
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
