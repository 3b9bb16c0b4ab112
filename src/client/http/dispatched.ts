/**
 * Requests beneath the platform's `fetch`: Node's own is built upon a dispatcher, which keeps the
 * connections and knows of proxies and certificates, and which a host can replace. What `fetch` adds
 * to it, web streams, header objects and the checks of a browser, costs several times as much as a
 * request.
 */
import { decoded } from './content-coding.ts';
import { sendingBy } from './response.ts';
import type { BodyPiece, BodyReader, HttpRequest, HttpResponse, SendRequest } from './response.ts';

/** What of undici's dispatchers is used here. Their version 1, which later ones keep for others. */
interface Dispatcher {
  dispatch(request: object, handler: DispatchHandler): unknown;
}

interface DispatchHandler {
  onConnect(abort: (reason?: Error) => void): void;
  onHeaders(status: number, headers: readonly RawText[], resume: () => void): boolean;
  onData(piece: Uint8Array): boolean;
  onComplete(): void;
  onError(error: Error): void;
}

interface RawText {
  readonly length: number;
  toString(encoding: 'latin1'): string;
}

const globalDispatcher = Symbol.for('undici.globalDispatcher.1');

/** So much is kept of a body that nobody has read yet, bytes; then its connection waits. */
const maxUnread = 64 * 1024;

/** As `fetch` sends them. */
const ownHeaders = { 'user-agent': 'node', 'accept-encoding': 'gzip, deflate' };

/**
 * Sends by the dispatcher of the platform's `fetch`. If there is none, or if the host has put another
 * `fetch` in the place of the platform's, sends by `fetch`.
 */
export const sendByPlatform: SendRequest = (request) => {
  const dispatcher = isPlatforms(globalThis.fetch) ? platformsDispatcher() : undefined;
  if (!dispatcher) return sendByGlobal(request);
  return new Promise((resolve, reject) => {
    new Exchange(request, resolve, reject).begin(dispatcher);
  });
};

const sendByGlobal = sendingBy((...request) => fetch(...request));

/** Undefined before the first `fetch`, too. */
function platformsDispatcher(): Dispatcher | undefined {
  return Reflect.get(globalThis, globalDispatcher) as Dispatcher | undefined;
}

let lastSeen: typeof fetch | undefined;
let isLastSeenPlatforms = false;

/** Whether it is Node's own, by its source: nothing else tells it from one that a host has made of it. */
function isPlatforms(send: typeof fetch): boolean {
  if (send !== lastSeen) {
    lastSeen = send;
    isLastSeenPlatforms = Function.prototype.toString.call(send).includes('internal/deps/undici');
  }
  return isLastSeenPlatforms;
}

/** One request, its answer and the answer's body. */
class Exchange implements DispatchHandler, HttpResponse, BodyReader {
  status = 0;
  readonly #request: HttpRequest;
  readonly #resolve: (response: HttpResponse) => void;
  readonly #reject: (error: Error) => void;
  #state: 'asked' | 'answering' | 'complete' | 'broken' | 'cancelled' = 'asked';
  #headers: readonly RawText[] = [];
  #pieces: Uint8Array[] = [];
  #unread = 0;
  #error: Error | undefined = undefined;
  #waiting: { resolve(piece: BodyPiece): void; reject(error: Error): void } | undefined = undefined;
  #end: ((reason?: Error) => void) | undefined = undefined;
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

  begin(dispatcher: Dispatcher): void {
    const { url, method, headers, body, signal } = this.#request;
    if (signal.aborted) return this.#aborted();
    signal.addEventListener('abort', this.#aborted);
    const path = url.pathname + url.search;
    const sent = Object.assign({}, ownHeaders, headers);
    dispatcher.dispatch({ origin: url.origin, path, method, headers: sent, body }, this);
  }

  // Of the response.

  header(name: string): string | undefined {
    let found: string | undefined;
    for (let at = 0; at < this.#headers.length; at += 2) {
      const key = this.#headers[at];
      if (key?.length !== name.length || key.toString('latin1').toLowerCase() !== name) continue;
      const value = this.#headers[at + 1]?.toString('latin1') ?? '';
      found = found === undefined ? value : `${found}, ${value}`;
    }
    return found;
  }

  get body(): BodyReader {
    if (this.#body) return this.#body;
    const coding = this.header('content-encoding');
    return (this.#body = coding === undefined ? this : decoded(this, coding));
  }

  // Of its body.

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
    if (this.#state === 'answering') this.#break('cancelled', new Error('Nobody reads the rest'));
    return Promise.resolve();
  }

  // What the dispatcher tells.

  onConnect(abort: (reason?: Error) => void): void {
    this.#end = abort;
    if (this.#state !== 'asked') abort(this.#error);
  }

  onHeaders(status: number, headers: readonly RawText[], resume: () => void): boolean {
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
    if (this.#state !== 'answering') return;
    this.#settle('complete');
    this.#waiting?.resolve({ done: true });
  }

  onError(cause: Error): void {
    this.#break('broken', new Error('The exchange was ended', { cause }));
  }

  readonly #aborted = (): void => {
    const cause: unknown = this.#request.signal.reason;
    this.#break('broken', new Error('The request was aborted', { cause }));
  };

  /** Ends what is not over. */
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
