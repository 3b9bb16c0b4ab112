/** Reading answers whose length nobody vouches for. */

/** What was read of an answer. */
export interface ReadBody {
  readonly bytes: Uint8Array;
  /** False if there is more. */
  readonly isWhole: boolean;
}

/** Reads an answer's body up to a number of bytes, and leaves the rest. */
export async function readBounded(response: Response, maxBytes: number): Promise<ReadBody> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  let isWhole = true;
  const reader = response.body?.getReader() as ReadableStreamDefaultReader<Uint8Array> | undefined;
  for (;;) {
    const chunk = await reader?.read();
    if (!chunk || chunk.done) break;
    const room = maxBytes - length;
    const taken = chunk.value.subarray(0, room);
    chunks.push(taken);
    length += taken.length;
    if (chunk.value.length <= room) continue;
    isWhole = false;
    await reader?.cancel();
    break;
  }
  const bytes = new Uint8Array(length);
  let at = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, at);
    at += chunk.length;
  }
  return { bytes, isWhole };
}
