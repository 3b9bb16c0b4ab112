/** The input of a session over a transport that gives messages, not bytes: one event per message. */
import { plainActor } from '../machines/port.ts';
import type { Port } from '../machines/port.ts';
import type { ReaderEvent, ReaderInput } from '../machines/session-ports.ts';
import { decodeValue } from '../protocol/codec.ts';

/** Where messages come from. */
export interface MessageSource {
  /** Starts it; gives what ends it. */
  start(events: { message(value: unknown): void; ended(): void }): () => void;
}

export interface MessageReaderOptions {
  readonly maxDepth: number;
}

/**
 * The logic of a reader of messages. It never pauses: while the output is blocked the router starts no call, and refuses
 * what waits past its limit.
 */
export function messageReaderActor(
  source: MessageSource,
  { maxDepth }: MessageReaderOptions,
): Port<ReaderEvent, ReaderInput> {
  return plainActor(({ input: { router, session } }) => {
    const stop = source.start({
      message: (value) =>
        router.send({ type: 'frames.received', frames: [decodeValue(value, maxDepth)] }),
      ended: () => session.send({ type: 'input.ended' }),
    });
    return { receive: () => {}, stop };
  });
}
