/**
 * A process's stderr. Reads it continuously, so that the process never blocks on it; keeps the last
 * bytes in a ring buffer; passes it on in whole lines.
 */
import { StringDecoder } from 'node:string_decoder';

/** Size of the ring buffer. */
const keptBytes = 64 * 1024;

/** Length above which a line is passed on in pieces, UTF-16 units. */
const longestLine = 8 * 1024;

/** Maximum length of an excerpt in an error, UTF-16 units. */
const quotedLength = 2000;

const lineFeed = 10;

export class StderrLog {
  #decoder: StringDecoder | undefined = undefined;
  /** Ring buffer. The next byte goes to `#bytes` modulo its length. */
  #ring: Buffer | undefined;
  #bytes = 0;
  /** Start of the unfinished last line. */
  #unfinished = '';

  /** Total number of bytes received. */
  get bytes(): number {
    return this.#bytes;
  }

  /** The last 64 KiB, starting at a line. The last line may be unfinished. */
  get text(): string {
    if (this.#bytes <= keptBytes) return this.#last(this.#bytes).toString('utf8');
    const kept = this.#last(keptBytes);
    // Without a line feed, `indexOf` gives -1 and the whole buffer is returned.
    return kept.toString('utf8', kept.indexOf(lineFeed) + 1);
  }

  /**
   * The last lines, shortened for an error message.
   *
   * @param from value of `bytes` at which the excerpt begins
   */
  lastLines(from = 0): string {
    const kept = Math.min(this.#bytes - from, keptBytes);
    const text = kept <= 0 ? '' : this.#last(kept).toString('utf8').trimEnd();
    if (text.length <= quotedLength) return text;
    const end = text.slice(-quotedLength);
    return end.slice(end.indexOf('\n') + 1);
  }

  /** Adds a chunk and returns the lines that it completes, without the last line feed. */
  push(chunk: Buffer): string | undefined {
    this.#keep(chunk);
    this.#decoder ??= new StringDecoder('utf8');
    const text = this.#unfinished + this.#decoder.write(chunk);
    const end = text.lastIndexOf('\n');
    this.#unfinished = text.slice(end + 1);
    if (this.#unfinished.length >= longestLine) {
      this.#unfinished = '';
      return text;
    }
    return end === -1 ? undefined : text.slice(0, end);
  }

  /** Ends the stream and returns the unfinished last line, if any. */
  end(): string | undefined {
    const rest = this.#unfinished + (this.#decoder?.end() ?? '');
    this.#unfinished = '';
    return rest === '' ? undefined : rest;
  }

  #keep(chunk: Buffer): void {
    this.#ring ??= Buffer.alloc(keptBytes);
    const kept = chunk.subarray(-keptBytes);
    const at = (this.#bytes + chunk.length - kept.length) % keptBytes;
    const before = kept.copy(this.#ring, at);
    kept.copy(this.#ring, 0, before);
    this.#bytes += chunk.length;
  }

  #last(length: number): Buffer {
    if (!this.#ring) return Buffer.alloc(0);
    const end = this.#bytes % keptBytes;
    if (length <= end) return this.#ring.subarray(end - length, end);
    return Buffer.concat([this.#ring.subarray(end), this.#ring.subarray(0, end)]).subarray(-length);
  }
}
