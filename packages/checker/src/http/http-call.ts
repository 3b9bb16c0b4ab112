/** Sends one HTTP request and reads the response. */
import { request as plainRequest } from 'node:http';
import type { Agent, ClientRequest, IncomingMessage } from 'node:http';
import { request as secureRequest } from 'node:https';
import { isStream } from './exchange.ts';
import type { ObservedExchange, Purpose, SseEvent } from './exchange.ts';
import type { Headers } from './mirrored-headers.ts';
import { SseReader } from './sse-reader.ts';

export interface CallListener {
  /**
   * Called when the status is known and, unless the response is a stream, its body. At most once.
   */
  answered(call: HttpCall): void;
  event(call: HttpCall, event: SseEvent): void;
  /** Called exactly once, when nothing more will arrive. */
  over(call: HttpCall): void;
}

export interface HttpCallOptions {
  readonly url: URL;
  readonly agent: Agent;
  readonly purpose: Purpose;
  readonly method: ObservedExchange['method'];
  readonly headers: Headers;
  readonly body?: string;
  readonly sent?: unknown;
  readonly resumes?: ObservedExchange;
}

/** Longer bodies are not read to the end. */
const maxBodyBytes = 16 * 1024 * 1024;

export class HttpCall implements ObservedExchange {
  readonly purpose: Purpose;
  readonly method: ObservedExchange['method'];
  readonly sent: unknown;
  readonly resumes: ObservedExchange | undefined;
  status = 0;
  contentType = '';
  headers: ObservedExchange['headers'] = {};
  body = '';
  readonly events: SseEvent[] = [];
  outcome: ObservedExchange['outcome'] = 'open';
  failure: string | undefined;
  /** Reason the connection could not be established. */
  unreachable: string | undefined;
  /** Reconnection delay requested by the server, ms. */
  retryMs: number | undefined;
  /** Resolves once everything is handed to the operating system, or sending failed. */
  readonly written: Promise<void>;
  /** Resolves with {@link CallListener.answered}, or at the end without a response. */
  readonly settled: Promise<void>;
  readonly ended: Promise<void>;
  readonly #listener: CallListener;
  readonly #request: ClientRequest;
  #settle!: () => void;
  #end!: () => void;

  constructor(options: HttpCallOptions, listener: CallListener) {
    const { purpose, method, sent, resumes, url, agent, headers, body } = options;
    this.purpose = purpose;
    this.method = method;
    this.sent = sent;
    this.resumes = resumes;
    this.#listener = listener;
    this.settled = new Promise((resolve) => (this.#settle = resolve));
    this.ended = new Promise((resolve) => (this.#end = resolve));
    const send = url.protocol === 'https:' ? secureRequest : plainRequest;
    const length = body === undefined ? {} : { 'content-length': Buffer.byteLength(body) };
    this.#request = send(url, { method, agent, headers: { ...headers, ...length } });
    this.written = new Promise((resolve) => {
      this.#request.once('finish', resolve).once('close', resolve);
    });
    this.#request.on('response', (response) => this.#read(response));
    this.#request.on('error', (error: NodeJS.ErrnoException) => {
      const isUnreachable = error.syscall === 'connect' || error.syscall === 'getaddrinfo';
      if (isUnreachable) this.unreachable = error.message || error.code || 'no connection';
      this.#over('cut', error.message || error.code);
    });
    this.#request.end(body);
  }

  /** Closes the request unless it is over. */
  close(): void {
    this.#over('closed');
    this.#request.destroy();
  }

  #read(response: IncomingMessage): void {
    if (this.outcome !== 'open') return;
    this.status = response.statusCode ?? 0;
    this.contentType = (response.headers['content-type'] ?? '').split(';')[0]?.trim() ?? '';
    this.contentType = this.contentType.toLowerCase();
    this.headers = Object.fromEntries(
      Object.entries(response.headers).map(([name, value]) => [name, String(value)]),
    );
    // A broken connection emits "aborted".
    response.on('error', (error) => this.#over('cut', error.message));
    response.on('close', () => this.#over('cut', 'connection closed'));
    if (isStream(this)) this.#readStream(response);
    else this.#readBody(response);
  }

  #readStream(response: IncomingMessage): void {
    const reader = new SseReader({
      event: (event) => {
        if (this.outcome !== 'open') return;
        this.events.push(event);
        this.#listener.event(this, event);
      },
      retry: (afterMs) => {
        this.retryMs = afterMs;
      },
    });
    this.#answered();
    response.on('data', (chunk: Buffer) => {
      try {
        reader.take(chunk);
      } catch (error) {
        this.#over('cut', (error as Error).message);
        this.#request.destroy();
      }
    });
    response.on('end', () => this.#over('whole'));
  }

  #readBody(response: IncomingMessage): void {
    const parts: Buffer[] = [];
    let bytes = 0;
    response.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      parts.push(chunk);
      if (bytes <= maxBodyBytes) return;
      this.#over('cut', 'body longer than 16 MiB');
      this.#request.destroy();
    });
    response.on('end', () => {
      this.body = bodyText(Buffer.concat(parts));
      this.#answered();
      this.#over('whole');
    });
  }

  #answered(): void {
    if (this.outcome !== 'open') return;
    this.#listener.answered(this);
    this.#settle();
  }

  #over(outcome: ObservedExchange['outcome'], failure?: string): void {
    if (this.outcome !== 'open') return;
    this.outcome = outcome;
    this.failure = failure;
    this.#listener.over(this);
    this.#settle();
    this.#end();
  }
}

function bodyText(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return `(not UTF-8) ${bytes.toString('latin1')}`;
  }
}
