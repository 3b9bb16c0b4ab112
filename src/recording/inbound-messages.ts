/** Inbound frames as lines of a recording. */
import { classify, messageOf } from '../protocol/classify.ts';
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

/** A recorded message as the reader classified it. Its length on the wire is about that of its JSON. */
export function recordedFrame(message: unknown): InboundFrame {
  return classify(message, JSON.stringify(message).length);
}
