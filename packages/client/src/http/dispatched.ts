/**
 * Sends requests through an undici dispatcher, without `fetch`. The web streams, header objects and
 * browser checks of `fetch` cost several times as much as the request itself
 * (docs/maintaining/decisions/19-nothing-is-sent-twice.md).
 */
import { quoted } from '../../../../src/protocol/printable.ts';
import type { BodyPiece, BodyReader, HttpRequest, HttpResponse, SendRequest } from './response.ts';

/**
 * Transport layer beneath `fetch`: an `Agent`, a `ProxyAgent` or the `getGlobalDispatcher()` of the
 * package `undici`, version 6 or later.
 */
export interface HttpDispatcher {
  /** Sends a request, and calls the handler as it proceeds. */
  dispatch(request: object, handler: object): unknown;
}

/** The part of undici's `DispatchController` used here. */
interface DispatchController {
  abort(reason: Error): void;
  pause(): void;
  resume(): void;
}

type HeaderObject = Readonly<Record<string, string | string[] | undefined>>;

/** Alternating names and values, or values by name. */
type ResponseHeaders = readonly RawText[] | HeaderObject;

interface RawText {
  readonly length: number;
  toString(encoding: 'latin1'): string;
}

function isRaw(headers: ResponseHeaders): headers is readonly RawText[] {
  return Array.isArray(headers);
}

/** Maximum buffered bytes of an unread body, before its connection is paused. */
const maxUnread = 64 * 1024;

/** Default headers of `fetch`. */
const ownHeaders = { 'user-agent': 'node', 'accept-encoding': 'gzip, deflate' };

/** Sends through the host's dispatcher. */
export function sendingByDispatcher(dispatcher: HttpDispatcher): SendRequest {
  return (request) =>
    new Promise((resolve, reject) => {
      new DispatchedRequest(request, resolve, reject).begin(dispatcher);
    });
}

/** One request with its response and body. */
class DispatchedRequest implements HttpResponse, BodyReader {
  status = 0;
  readonly #request: HttpRequest;
  readonly #resolve: (response: HttpResponse) => void;
  readonly #reject: (error: Error) => void;
  #state: 'asked' | 'answering' | 'complete' | 'broken' | 'cancelled' = 'asked';
  #headers: ResponseHeaders = [];
  #pieces: Uint8Array[] = [];
  #unread = 0;
  #error: Error | undefined = undefined;
  #waiting: { resolve(piece: BodyPiece): void; reject(error: Error): void } | undefined = undefined;
  #end: ((reason: Error) => void) | undefined = undefined;
  #resume = (): void => {};
  #body: BodyReader | undefined = undefined;

  constructor(
    request: HttpRequest,
    resolve: (response: HttpResponse) => void,
    reject: (error: Error) => void,
  ) {
    this.#request = request;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  begin(dispatcher: HttpDispatcher): void {
    const { url, method, headers, body, signal } = this.#request;
    if (signal.aborted) return this.#aborted();
    signal.addEventListener('abort', this.#aborted);
    const path = url.pathname + url.search;
    const sent = Object.assign({}, ownHeaders, headers);
    dispatcher.dispatch({ origin: url.origin, path, method, headers: sent, body }, this);
  }

  header(name: string): string | undefined {
    const headers = this.#headers;
    if (!isRaw(headers)) {
      const value = headers[name];
      return typeof value === 'object' ? value.join(', ') : value;
    }
    let found: string | undefined;
    for (let at = 0; at < headers.length; at += 2) {
      const key = headers[at];
      if (key?.length !== name.length || key.toString('latin1').toLowerCase() !== name) continue;
      const value = headers[at + 1]?.toString('latin1') ?? '';
      found = found === undefined ? value : `${found}, ${value}`;
    }
    return found;
  }

  get body(): BodyReader {
    if (this.#body) return this.#body;
    const coding = this.header('content-encoding');
    return (this.#body = coding === undefined ? this : decoded(this, coding));
  }

  read(): Promise<BodyPiece> {
    const value = this.#pieces.shift();
    if (value) {
      const wasFull = this.#unread > maxUnread;
      this.#unread -= value.byteLength;
      if (wasFull && this.#unread <= maxUnread) this.#resume();
      return Promise.resolve({ done: false, value });
    }
    if (this.#error) return Promise.reject(this.#error);
    if (this.#state !== 'answering') return Promise.resolve({ done: true });
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject };
    });
  }

  cancel(): Promise<void> {
    this.#pieces = [];
    this.#break('cancelled', new Error('The rest of the body is not needed'));
    return Promise.resolve();
  }

  // Callbacks of undici 7 and later.

  onRequestStart(controller: DispatchController): void {
    this.onConnect((reason) => controller.abort(reason));
  }

  onResponseStart(controller: DispatchController, status: number, headers: HeaderObject): void {
    this.onHeaders(status, headers, () => controller.resume());
  }

  onResponseData(controller: DispatchController, piece: Uint8Array): void {
    if (!this.onData(piece)) controller.pause();
  }

  onResponseEnd(): void {
    this.onComplete();
  }

  onResponseError(_: DispatchController | null, error: Error): void {
    this.onError(error);
  }

  // Callbacks of undici 6, built into Node 20 and 22.

  onConnect(abort: (reason: Error) => void): void {
    this.#end = abort;
    if (this.#error) abort(this.#error);
  }

  onHeaders(status: number, headers: ResponseHeaders, resume: () => void): boolean {
    if (status < 200 || this.#state !== 'asked') return true;
    this.#state = 'answering';
    this.status = status;
    this.#headers = headers;
    this.#resume = resume;
    this.#resolve(this);
    return true;
  }

  onData(piece: Uint8Array): boolean {
    if (this.#state !== 'answering') return true;
    const waiting = this.#waiting;
    if (waiting) {
      this.#waiting = undefined;
      waiting.resolve({ done: false, value: piece });
      return true;
    }
    this.#pieces.push(piece);
    this.#unread += piece.byteLength;
    return this.#unread <= maxUnread;
  }

  onComplete(): void {
    this.#settle('complete');
    this.#waiting?.resolve({ done: true });
  }

  onError(cause: Error): void {
    this.#break('broken', new Error('The connection ended', { cause }));
  }

  readonly #aborted = (): void => {
    const cause: unknown = this.#request.signal.reason;
    this.#break('broken', new Error('The request was aborted', { cause }));
  };

  /** Ends the request unless it is already over. */
  #break(state: 'broken' | 'cancelled', error: Error): void {
    const before = this.#state;
    if (before !== 'asked' && before !== 'answering') return;
    this.#settle(state);
    if (state === 'broken') this.#error = error;
    this.#end?.(error);
    if (before === 'asked') this.#reject(error);
    else if (state === 'broken') this.#waiting?.reject(error);
    else this.#waiting?.resolve({ done: true });
  }

  #settle(state: 'complete' | 'broken' | 'cancelled'): void {
    this.#state = state;
    this.#request.signal.removeEventListener('abort', this.#aborted);
  }
}

// Compressed bodies: RFC 9110, 8.4, "Content-Encoding".

const formats: ReadonlyMap<string, 'gzip' | 'deflate'> = new Map([
  ['gzip', 'gzip'],
  ['x-gzip', 'gzip'],
  ['deflate', 'deflate'],
]);

/** The decoded body. Reading fails for an unsupported coding. */
function decoded(body: BodyReader, codings: string): BodyReader {
  const names = codings.split(',').map((name) => name.trim().toLowerCase());
  return names
    .filter((name) => name !== '' && name !== 'identity')
    .reduceRight((reader, name) => decompressed(reader, name), body);
}

function decompressed(body: BodyReader, coding: string): BodyReader {
  const format = formats.get(coding);
  if (!format) return unreadable(body, coding);
  const compressed = new ReadableStream<Uint8Array<ArrayBuffer>>({
    async pull(controller) {
      const piece = await body.read();
      if (piece.done) controller.close();
      // Bodies are never in shared memory.
      else controller.enqueue(piece.value as Uint8Array<ArrayBuffer>);
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
      throw new Error(`Unsupported Content-Encoding ${quoted(coding)}`);
    },
    cancel: () => body.cancel(),
  };
}
