/**
 * Bytes to lines that stay bytes. A line that exceeds the bound is handed over in pieces as it comes, so that the one
 * who reads it can refuse it and nothing of it has to be kept here.
 */

const lineFeed = 0x0a;

const lineEnd = Buffer.from('\n');

/** The room for the beginning of a line. */
const initialBytes = 4096;

export interface LineReceiver {
  /** Takes a whole line with its line feed. */
  line(line: Buffer): void;
  /** Takes a piece of a line that is too long to be kept; the last one has its line feed. */
  piece(piece: Buffer): void;
}

export class ByteLines {
  readonly #maxLineBytes: number;
  readonly #to: LineReceiver;
  /** Holds the beginning of a line whose end has not come. */
  #room: Buffer = Buffer.alloc(0);
  #bytes = 0;
  #isTooLong = false;

  constructor(maxLineBytes: number, to: LineReceiver) {
    this.#maxLineBytes = maxLineBytes;
    this.#to = to;
  }

  /** True between the first piece of a line that is too long and its last. */
  get isInPieces(): boolean {
    return this.#isTooLong;
  }

  push(chunk: Buffer): void {
    for (let from = 0; from < chunk.length;) {
      const found = chunk.indexOf(lineFeed, from);
      const to = found === -1 ? chunk.length : found + 1;
      this.#take(chunk.subarray(from, to), found !== -1);
      from = to;
    }
  }

  /** Takes the line whose end has not come as whole: nothing more comes. */
  end(): void {
    this.#take(lineEnd, true);
  }

  /** Drops the line whose end has not come. */
  drop(): void {
    this.#room = Buffer.alloc(0);
    this.#bytes = 0;
    this.#isTooLong = false;
  }

  #take(piece: Buffer, isEnd: boolean): void {
    if (this.#isTooLong) {
      this.#isTooLong = !isEnd;
      return this.#to.piece(piece);
    }
    if (isEnd && this.#bytes === 0) return this.#to.line(piece);
    if (this.#bytes + piece.length > this.#maxLineBytes) {
      const before = this.#room.subarray(0, this.#bytes);
      this.drop();
      this.#isTooLong = !isEnd;
      this.#to.piece(before);
      return this.#to.piece(piece);
    }
    this.#keep(piece);
    if (!isEnd) return;
    const line = this.#room.subarray(0, this.#bytes);
    this.drop();
    this.#to.line(line);
  }

  #keep(piece: Buffer): void {
    const needed = this.#bytes + piece.length;
    if (needed > this.#room.length) {
      const room = Buffer.allocUnsafeSlow(Math.max(initialBytes, needed, 2 * this.#room.length));
      this.#room.copy(room, 0, 0, this.#bytes);
      this.#room = room;
    }
    piece.copy(this.#room, this.#bytes);
    this.#bytes = needed;
  }
}
