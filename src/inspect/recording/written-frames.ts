/** Frames as the client would read them. */
import { encodeFrame } from '../../protocol/codec.ts';
import type { Unserializable } from '../../protocol/codec.ts';
import type { OutboundFrame } from '../../protocol/frames.ts';

/** Each frame as JSON holds it; what JSON cannot hold is replaced or left out, as a writer does it. */
export function writtenFrames(
  frames: readonly OutboundFrame[],
  rejected: Unserializable = () => {},
): readonly unknown[] {
  return frames.flatMap((frame) => {
    const text = encodeFrame(frame, rejected);
    return text === '' ? [] : [JSON.parse(text) as unknown];
  });
}
