/** An exchange over the request and the response of `node:http`. */
import { isUtf8 } from 'node:buffer';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Body, EventSink, HttpAnswer, HttpExchange } from '../http-exchange.ts';

type Headers = { readonly [name: string]: string };

export class NodeExchange implements HttpExchange {
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  #added: Headers | undefined = undefined;

  constructor(request: IncomingMessage, response: ServerResponse) {
    this.#request = request;
    this.#response = response;
  }

  get method(): string {
    return this.#request.method ?? 'GET';
  }

  /** A framework that mounts a handler below a path takes that path off `url`. */
  get target(): string {
    return this.#request.url ?? '/';
  }

  get remoteAddress(): string | undefined {
    return this.#request.socket.remoteAddress;
  }

  header(name: string): string | undefined {
    const value = this.#request.headers[name];
    return typeof value === 'object' ? value.join(', ') : value;
  }

  headerCount(name: string): number {
    return this.#request.headersDistinct[name]?.length ?? 0;
  }

  readBody(maxBytes: number, done: (body: Body) => void): void {
    const request = this.#request;
    const given = parsedBody(request);
    if (given !== undefined) return done({ ok: true, text: given });
    if (Number(request.headers['content-length']) > maxBytes) return done(tooLarge(maxBytes));
    const chunks: Buffer[] = [];
    let length = 0;
    const take = (chunk: Buffer) => {
      length += chunk.length;
      chunks.push(chunk);
      if (length <= maxBytes) return;
      request.off('data', take);
      request.off('end', end);
      chunks.length = 0;
      done(tooLarge(maxBytes));
    };
    const end = () =>
      done(textOf(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks)));
    request.on('data', take);
    request.on('end', end);
  }

  /** What is left of a body that is not read would be taken for the next request. */
  get #hasUnreadBody(): boolean {
    const { complete, headers } = this.#request;
    if (complete) return false;
    return headers['transfer-encoding'] !== undefined || Number(headers['content-length']) > 0;
  }

  addHeaders(headers: Headers): void {
    this.#added = { ...this.#added, ...headers };
  }

  answer({ status, headers, body }: HttpAnswer): void {
    const response = this.#response;
    if (response.headersSent) return;
    const length = { 'content-length': body === undefined ? 0 : Buffer.byteLength(body) };
    const close = this.#hasUnreadBody ? { connection: 'close' } : undefined;
    const bodiless = status === 204 || status === 304;
    response.writeHead(status, {
      ...this.#added,
      ...headers,
      ...(bodiless ? {} : length),
      ...close,
    });
    if (body === undefined || this.method === 'HEAD') response.end();
    else response.end(body);
    if (close) this.#request.resume();
  }

  stream(headers: Headers): EventSink {
    const response = this.#response;
    response.writeHead(200, { ...this.#added, ...headers });
    response.flushHeaders();
    return new NodeEventSink(response);
  }

  onGone(callback: () => void): void {
    const response = this.#response;
    response.on('close', () => {
      if (!response.writableFinished) callback();
    });
  }
}

class NodeEventSink implements EventSink {
  readonly #response: ServerResponse;

  constructor(response: ServerResponse) {
    this.#response = response;
    // A client that resets the connection is heard of by its close.
    response.on('error', () => {});
  }

  get untakenBytes(): number {
    return this.#response.writableLength;
  }

  write(text: string): void {
    if (!this.#response.destroyed) this.#response.write(text);
  }

  end(): void {
    this.#response.end();
  }

  cut(): void {
    this.#response.destroy();
  }
}

/** A framework's body parser may have read the body before. */
function parsedBody(request: IncomingMessage): string | undefined {
  const { body } = request as { readonly body?: unknown };
  if (body === undefined || !request.readableEnded) return undefined;
  if (typeof body === 'string') return body;
  return body instanceof Uint8Array ? Buffer.from(body).toString() : JSON.stringify(body);
}

function tooLarge(maxBytes: number): Body {
  return { ok: false, status: 413, message: `The body is longer than ${maxBytes} bytes` };
}

function textOf(bytes: Buffer): Body {
  if (isUtf8(bytes)) return { ok: true, text: bytes.toString() };
  return { ok: false, status: 400, message: 'The body is not UTF-8' };
}
