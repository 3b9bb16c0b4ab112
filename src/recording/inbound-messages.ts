/** Inbound frames as lines of a recording. */
import { messageOf } from '../protocol/classify.ts';
import type { InboundFrame } from '../protocol/frames.ts';

/** The messages of a chunk; where something was no message, the frames as the reader has classified them. */
export function chunkLine(
  frames: readonly InboundFrame[],
): { readonly client: readonly unknown[] } | { readonly frames: readonly InboundFrame[] } {
  const messages = frames.map((frame) =>
    frame.kind === 'batch' ? frame.messages : messageOf(frame),
  );
  return messages.includes(undefined) ? { frames } : { client: messages };
}
