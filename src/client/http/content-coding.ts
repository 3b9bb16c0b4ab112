/**
 * Bodies that a server has compressed.
 *
 * @see RFC 9110, 8.4, "Content-Encoding"
 */
import { quoted } from '../../protocol/printable.ts';
import type { BodyReader } from './response.ts';

const formats: ReadonlyMap<string, 'gzip' | 'deflate'> = new Map([
  ['gzip', 'gzip'],
  ['x-gzip', 'gzip'],
  ['deflate', 'deflate'],
]);

/** The body as it was before its codings. If it has one that is not known, reading it fails. */
export function decoded(body: BodyReader, codings: string): BodyReader {
  const names = codings.split(',').map((name) => name.trim().toLowerCase());
  return names
    .filter((name) => name !== '' && name !== 'identity')
    .reduceRight((reader, name) => decompressed(reader, name), body);
}

function decompressed(body: BodyReader, coding: string): BodyReader {
  const format = formats.get(coding);
  if (!format) return unreadable(body, coding);
  const compressed = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const piece = await body.read();
      if (piece.done) controller.close();
      else controller.enqueue(piece.value);
    },
    cancel: () => body.cancel(),
  });
  const stream = compressed.pipeThrough<Uint8Array>(new DecompressionStream(format));
  return stream.getReader() as BodyReader;
}

function unreadable(body: BodyReader, coding: string): BodyReader {
  return {
    async read() {
      await body.cancel();
      throw new Error(`Its body is in the coding ${quoted(coding)}, which was not asked for`);
    },
    cancel: () => body.cancel(),
  };
}
