/** Output of a `node:http` response. */
import type { ServerResponse } from 'node:http';
import { turnEnd } from '../../../../src/actors/clock.ts';
import type { SinkOutlet } from '../watched-sink.ts';
import type { Retransmissions } from './retransmissions.ts';

/**
 * Largest chunk written to the connection at once, bytes. Node reports progress only per chunk, so
 * a chunk must be small enough to be sent within `unreadTimeoutMs`.
 */
export const pieceBytes = 64 * 1024;

/**
 * Collects the writes of one turn into one chunk, because each chunk costs the response four
 * writes. Buffers what the connection does not accept.
 */
export class NodeOutlet implements SinkOutlet {
  readonly #response: ServerResponse;
  readonly #retransmissions: Retransmissions;
  /** Text not yet passed to the connection. */
  #text = '';
  /** Byte length of `#text`, kept up to date because every write reads it. */
  #bytes = 0;
  /** Remainder of a text longer than one chunk; sent before `#text`. */
  #rest: Buffer = nothing;
  #state: 'open' | 'ending' = 'open';

  constructor(response: ServerResponse, retransmissions: Retransmissions) {
    this.#response = response;
    this.#retransmissions = retransmissions;
    // The `close` event reports a connection reset.
    response.on('error', () => {});
  }

  get unsentBytes(): number {
    const response = this.#response;
    if (response.destroyed) return 0;
    return this.#rest.length + this.#bytes + response.writableLength;
  }

  get hasConnection(): boolean {
    return this.#response.socket !== null;
  }

  unacknowledgedMs(now: number): number {
    const { socket } = this.#response;
    return socket ? this.#retransmissions.unacknowledgedMs(socket, now) : 0;
  }

  write(data: string | Uint8Array): number {
    return typeof data === 'string' ? this.#writeText(data) : this.#writeBytes(data);
  }

  onDrained(callback: () => void): void {
    const response = this.#response;
    if (this.unsentBytes <= pieceBytes) callback();
    else response.once('drain', () => this.onDrained(callback));
  }

  /** Relayed data arrives in chunks; the sending node pauses while they cannot be written. */
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
    // Also flattens the string, which may be retained for long: many small ropes would cost the
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
