/** The text of an answer on its way out of `node:http`. */
import type { ServerResponse } from 'node:http';
import { turnEnd } from '../../../../src/actors/clock.ts';
import type { SinkOutlet } from '../watched-sink.ts';
import type { Retransmissions } from './retransmissions.ts';

/**
 * The longest piece that is handed to the connection at once, bytes: it tells only of whole ones that
 * they have left, and so little has to leave within the time that a client may take nothing.
 */
export const pieceBytes = 64 * 1024;

/**
 * What is written in one turn goes out as one chunk: each chunk costs the response four writes. What
 * the connection does not take waits here.
 */
export class NodeOutlet implements SinkOutlet {
  readonly #response: ServerResponse;
  readonly #retransmissions: Retransmissions;
  /** What was written and has not been handed to the connection. */
  #text = '';
  /** Counted as it comes: it is asked for at each write. */
  #bytes = 0;
  /** What is left of a text that is longer than one piece. It comes before the other. */
  #rest: Buffer = nothing;
  #state: 'open' | 'ending' = 'open';

  constructor(response: ServerResponse, retransmissions: Retransmissions) {
    this.#response = response;
    this.#retransmissions = retransmissions;
    // A client that resets the connection is heard of by its close.
    response.on('error', () => {});
  }

  get untakenBytes(): number {
    const response = this.#response;
    if (response.destroyed) return 0;
    return this.#rest.length + this.#bytes + response.writableLength;
  }

  get isItsTurn(): boolean {
    return this.#response.socket !== null;
  }

  unansweredMs(now: number): number {
    const { socket } = this.#response;
    return socket ? this.#retransmissions.unansweredMs(socket, now) : 0;
  }

  write(data: string | Uint8Array): number {
    return typeof data === 'string' ? this.#writeText(data) : this.#writeBytes(data);
  }

  whenTaken(callback: () => void): void {
    const response = this.#response;
    if (this.untakenBytes <= pieceBytes) callback();
    else response.once('drain', () => this.whenTaken(callback));
  }

  /** What another node sends comes in pieces, and is held back there while they do not leave. */
  #writeBytes(bytes: Uint8Array): number {
    const response = this.#response;
    if (response.destroyed) return 0;
    const isFirst = this.#rest.length === 0 && this.#text === '' && !response.writableNeedDrain;
    if (isFirst) {
      if (!response.write(bytes)) response.once('drain', () => this.#flush());
    } else {
      this.#rest = Buffer.concat([this.#rest, Buffer.from(this.#text), bytes]);
      this.#text = '';
      this.#bytes = 0;
    }
    return bytes.length;
  }

  #writeText(text: string): number {
    if (this.#text === '' && text !== '') void turnEnd.then(() => this.#flush());
    this.#text += text;
    // This makes one string of its parts, too, and it is kept for long: many small ones would cost the
    // garbage collector more than the copy.
    const bytes = Buffer.byteLength(text);
    this.#bytes += bytes;
    return bytes;
  }

  end(): void {
    this.#state = 'ending';
    this.#flush();
  }

  cut(): void {
    this.#response.destroy();
  }

  #flush(): void {
    const response = this.#response;
    if (response.destroyed || response.writableNeedDrain) return;
    while (this.#rest.length > 0 || this.#text !== '') {
      if (response.write(this.#piece())) continue;
      response.once('drain', () => this.#flush());
      return;
    }
    if (this.#state === 'ending') response.end();
  }

  #piece(): string | Buffer {
    if (this.#rest.length === 0) {
      const text = this.#text;
      const isShort = this.#bytes <= pieceBytes;
      this.#text = '';
      this.#bytes = 0;
      if (isShort) return text;
      this.#rest = Buffer.from(text);
    }
    const piece = this.#rest.subarray(0, pieceBytes);
    this.#rest = this.#rest.subarray(pieceBytes);
    return piece;
  }
}

const nothing = Buffer.alloc(0);
