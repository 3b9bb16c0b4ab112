/** What goes out, as JSON holds it. */
import { encodeFrame } from '../protocol/codec.ts';
import type { Unserializable } from '../protocol/codec.ts';
import { textOfError } from '../protocol/errors.ts';
import type { OutboundFrame } from '../protocol/frames.ts';

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

/** As JSON holds it, or why it does not. */
export function written(
  params: unknown,
): { readonly params: unknown } | { readonly unwritable: string } {
  try {
    return { params: JSON.parse(JSON.stringify(params)) as unknown };
  } catch (error) {
    return { unwritable: textOfError(error) };
  }
}
