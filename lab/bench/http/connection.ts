/**
 * A persistent raw HTTP connection, so that the client costs less than any server. One exchange at
 * a time.
 *
 * @see RFC 9112
 */
import { connect } from 'node:net';
import type { Socket } from 'node:net';

/** Receives a response as it arrives. */
export interface Reception {
  /** Called with the status and the header fields by lower-case name. */
  head(status: number, headers: ReadonlyMap<string, string>): void;
  body(piece: Buffer): void;
  /** Called when the response is complete and the connection free for the next exchange. */
  end(): void;
}

/** The part of a response expected next. */
type Place =
  | { readonly is: 'idle' }
  | { readonly is: 'head' }
  | { readonly is: 'sized'; left: number }
  | { readonly is: 'chunk size' }
  | { readonly is: 'chunk'; left: number }
  | { readonly is: 'chunk end' }
  | { readonly is: 'trailer' };

const empty = Buffer.alloc(0);
const headEnd = '\r\n\r\n';
const lineEnd = '\r\n';

export class Connection {
  readonly #socket: Socket;
  readonly #onBroken: (why: string) => void;
  #place: Place = { is: 'idle' };
  #reception: Reception | undefined;
  #rest: Buffer = empty;
  #reading: 'all' | 'blindly' = 'all';

  /**
   * Resolves when the server has accepted the connection. Later failures go to `onBroken`, unless
   * this side closed it.
   */
  static async open(port: number, onBroken: (why: string) => void): Promise<Connection> {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true });
    await new Promise<void>((resolve, reject) => {
      socket.once('connect', resolve).once('error', reject);
    });
    return new Connection(socket, onBroken);
  }

  private constructor(socket: Socket, onBroken: (why: string) => void) {
    this.#socket = socket;
    this.#onBroken = onBroken;
    socket.removeAllListeners('error');
    socket.on('data', (chunk: Buffer) => this.#read(chunk));
    socket.on('error', (error) => onBroken(`a connection broke: ${error.message}`));
    socket.on('close', () => {
      if (this.#place.is !== 'idle') onBroken('a connection was closed amid an answer');
    });
  }

  /** Sends a request and passes the response to `reception`. */
  exchange(request: string, reception: Reception): void {
    if (this.#place.is !== 'idle') throw new Error('the connection has an exchange under way');
    this.#place = { is: 'head' };
    this.#reception = reception;
    this.#socket.write(request);
  }

  /** Stops reading. */
  hold(): void {
    this.#socket.pause();
  }

  /** Discards everything that arrives from now on, at almost no cost. */
  drain(): void {
    this.#reading = 'blindly';
  }

  /** Closes the connection, even during an exchange. */
  close(): void {
    this.#place = { is: 'idle' };
    this.#reception = undefined;
    this.#socket.destroy();
  }

  #read(chunk: Buffer): void {
    if (this.#reading === 'blindly') return;
    let bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    this.#rest = empty;
    for (;;) {
      const taken = this.#take(bytes);
      if (taken === undefined) break;
      bytes = bytes.subarray(taken);
    }
    if (this.#place.is === 'idle' && bytes.length > 0) {
      return this.#onBroken(`bytes after an answer: ${bytes.toString('latin1', 0, 80)}`);
    }
    this.#rest = bytes;
  }

  /**
   * Consumes the next part if complete; returns its length, or undefined if more data is needed.
   */
  #take(bytes: Buffer): number | undefined {
    const place = this.#place;
    switch (place.is) {
      case 'idle':
        return undefined;
      case 'head':
        return this.#takeHead(bytes);
      case 'chunk size':
        return this.#takeChunkSize(bytes);
      case 'chunk end':
      case 'trailer':
        return this.#takeLine(bytes, place.is);
      case 'sized':
      case 'chunk':
        return this.#takeBody(bytes, place);
    }
  }

  #takeHead(bytes: Buffer): number | undefined {
    const end = bytes.indexOf(headEnd);
    if (end === -1) return undefined;
    const [first = '', ...lines] = bytes.toString('latin1', 0, end).split(lineEnd);
    const headers = new Map<string, string>();
    for (const line of lines) {
      const colon = line.indexOf(':');
      headers.set(line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim());
    }
    const status = Number(first.split(' ')[1]);
    if (headers.get('transfer-encoding') === 'chunked') this.#place = { is: 'chunk size' };
    else this.#place = { is: 'sized', left: Number(headers.get('content-length') ?? 0) };
    this.#reception?.head(status, headers);
    if (this.#place.is === 'sized' && this.#place.left === 0) this.#end();
    return end + headEnd.length;
  }

  #takeChunkSize(bytes: Buffer): number | undefined {
    const end = bytes.indexOf(lineEnd);
    if (end === -1) return undefined;
    const left = Number.parseInt(bytes.toString('latin1', 0, end), 16);
    this.#place = left === 0 ? { is: 'trailer' } : { is: 'chunk', left };
    return end + lineEnd.length;
  }

  #takeLine(bytes: Buffer, is: 'chunk end' | 'trailer'): number | undefined {
    if (bytes.length < lineEnd.length) return undefined;
    if (is === 'trailer') this.#end();
    else this.#place = { is: 'chunk size' };
    return lineEnd.length;
  }

  #takeBody(bytes: Buffer, place: Place & { left: number }): number | undefined {
    if (bytes.length === 0) return undefined;
    const piece = bytes.length > place.left ? bytes.subarray(0, place.left) : bytes;
    place.left -= piece.length;
    if (place.left === 0 && place.is === 'chunk') this.#place = { is: 'chunk end' };
    this.#reception?.body(piece);
    if (place.left === 0 && place.is === 'sized') this.#end();
    return piece.length;
  }

  #end(): void {
    const reception = this.#reception;
    this.#place = { is: 'idle' };
    this.#reception = undefined;
    reception?.end();
  }
}
