/** Size-limited reading of response bodies. */

/** A response body, possibly truncated. */
export interface ReadBody {
  readonly bytes: Uint8Array;
  /** False if the body was truncated. */
  readonly isWhole: boolean;
}

/**
 * Reads a response body up to a number of bytes and cancels the rest.
 *
 * @param signal aborts reading, even if the request ignores it
 * @throws the signal's reason
 */
export async function readBounded(
  response: Response,
  maxBytes: number,
  signal: AbortSignal,
): Promise<ReadBody> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  let isWhole = true;
  const reader = response.body?.getReader() as ReadableStreamDefaultReader<Uint8Array> | undefined;
  let stop = () => {};
  const stopped = new Promise<never>((_, reject) => {
    stop = () => reject(signal.reason as Error);
  });
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) stop();
  try {
    while (reader) {
      const chunk = await Promise.race([reader.read(), stopped]);
      if (chunk.done) break;
      const room = maxBytes - length;
      const taken = chunk.value.subarray(0, room);
      chunks.push(taken);
      length += taken.length;
      if (chunk.value.length <= room) continue;
      isWhole = false;
      break;
    }
  } finally {
    signal.removeEventListener('abort', stop);
    // Rejects if the connection failed, which `reader.read()` has already reported.
    void reader?.cancel().catch(() => {});
  }
  const bytes = new Uint8Array(length);
  let at = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, at);
    at += chunk.length;
  }
  return { bytes, isWhole };
}
