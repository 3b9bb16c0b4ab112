/**
 * What a process writes to its standard error: always read, so that it never waits for us; the last
 * of it kept, at a fixed cost; and given on in whole lines.
 */
import { StringDecoder } from 'node:string_decoder';

/** How much of it is kept, bytes. */
const keptBytes = 64 * 1024;

/** A line that is longer is given on in pieces, UTF-16 units. */
const longestLine = 8 * 1024;

/** How much of it an error quotes, UTF-16 units. */
const quotedLength = 2000;

const lineFeed = 10;

export class StderrLog {
  #decoder: StringDecoder | undefined = undefined;
  /** The last bytes; the next one is written at `#bytes`, modulo its length. */
  #ring: Buffer | undefined;
  #bytes = 0;
  /** The beginning of a line whose end is still to come. */
  #unfinished = '';

  /** All that was ever written. */
  get bytes(): number {
    return this.#bytes;
  }

  /** The last 64 KiB of whole lines; the last line may still be unfinished. */
  get text(): string {
    if (this.#bytes <= keptBytes) return this.#last(this.#bytes).toString('utf8');
    const kept = this.#last(keptBytes);
    // A single line that fills it has lost its beginning, and is still worth reading.
    return kept.toString('utf8', kept.indexOf(lineFeed) + 1);
  }

  /**
   * The last lines, as an error quotes them.
   *
   * @param from what was written before counts no more: the value of `bytes` then
   */
  lastLines(from = 0): string {
    const kept = Math.min(this.#bytes - from, keptBytes);
    const text = kept <= 0 ? '' : this.#last(kept).toString('utf8').trimEnd();
    if (text.length <= quotedLength) return text;
    const end = text.slice(-quotedLength);
    return end.slice(end.indexOf('\n') + 1);
  }

  /** Takes what was written; gives the lines that have become whole, without the last line feed. */
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

  /** No more comes, of this process at least: a line without an end is one. */
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
