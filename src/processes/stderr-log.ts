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
  readonly #lines: (text: string) => void;
  readonly #decoder = new StringDecoder('utf8');
  /** The last bytes; the next one is written at `#bytes`, modulo its length. */
  #ring: Buffer | undefined;
  #bytes = 0;
  /** The beginning of a line whose end is still to come. */
  #unfinished = '';

  /** @param lines gets the lines that have become whole, together, without the last line feed */
  constructor(lines: (text: string) => void = () => {}) {
    this.#lines = lines;
  }

  /** All that was ever written. */
  get bytes(): number {
    return this.#bytes;
  }

  /** The last 64 KiB of whole lines; the last line may still be unfinished. */
  get text(): string {
    if (!this.#ring) return '';
    if (this.#bytes <= keptBytes) return this.#ring.toString('utf8', 0, this.#bytes);
    const at = this.#bytes % keptBytes;
    const kept = Buffer.concat([this.#ring.subarray(at), this.#ring.subarray(0, at)]);
    // One line that fills all of it has no beginning any more, and is still worth reading.
    return kept.toString('utf8', kept.indexOf(lineFeed) + 1);
  }

  /** The last lines, as an error quotes them. */
  get lastLines(): string {
    const text = this.text.trimEnd();
    if (text.length <= quotedLength) return text;
    const end = text.slice(-quotedLength);
    return end.slice(end.indexOf('\n') + 1);
  }

  push(chunk: Buffer): void {
    this.#keep(chunk);
    this.#tell(this.#unfinished + this.#decoder.write(chunk));
  }

  /** No more comes: a line without an end is one. */
  end(): void {
    const rest = this.#unfinished + this.#decoder.end();
    this.#unfinished = '';
    if (rest !== '') this.#lines(rest);
  }

  #keep(chunk: Buffer): void {
    this.#ring ??= Buffer.alloc(keptBytes);
    const kept = chunk.subarray(-keptBytes);
    const at = (this.#bytes + chunk.length - kept.length) % keptBytes;
    const before = kept.copy(this.#ring, at);
    kept.copy(this.#ring, 0, before);
    this.#bytes += chunk.length;
  }

  #tell(text: string): void {
    const end = text.lastIndexOf('\n');
    this.#unfinished = text.slice(end + 1);
    if (end !== -1) this.#lines(text.slice(0, end));
    if (this.#unfinished.length < longestLine) return;
    this.#lines(this.#unfinished);
    this.#unfinished = '';
  }
}
