/** A server without sockets, in the place of `fetch`: it never hears that its host has left, as a host's own `fetch` may not. */
import { HttpHost } from './http-host.ts';
import type { HostOptions } from './http-host.ts';
import type { Scripted } from './scripted-server.ts';

export interface Fetched extends Pick<Scripted, 'message'> {
  readonly method: string | undefined;
  readonly url: URL;
  readonly headers: Headers;
}

export const anywhere = { url: 'http://127.0.0.1/mcp' };

/** Answers as its script says; without an answer the request stays open. */
export function scriptedFetch(script: (asked: Fetched) => unknown) {
  const asked: Fetched[] = [];
  const answer = async (url: URL, { method, headers, body }: RequestInit): Promise<unknown> => {
    const text = typeof body === 'string' ? body : '';
    const message = text === '' ? undefined : (JSON.parse(text) as Scripted['message']);
    const one = { method, url, headers: new Headers(headers), message };
    asked.push(one);
    return (await script(one)) ?? new Promise(() => {});
  };
  return { asked, fetch: answer as typeof fetch };
}

/** A host, in no session, whose handshake is over. */
export function fetchingHost(script: (asked: Fetched) => unknown, options: HostOptions = {}) {
  const { fetch, asked } = scriptedFetch(script);
  const host = new HttpHost(anywhere, { fetch, ...options });
  host.channel.send({ type: 'channel.negotiated', revision: '2025-11-25' });
  const methods = () => asked.map(({ message, method }) => message?.method ?? method);
  return { host, asked, methods };
}

/** What a host was told. */
export const typesOf = ({ reports }: HttpHost): string[] => reports.all.map(({ type }) => type);

export function jsonOf(body: unknown, status = 200, headers = {}): Response {
  return Response.json(body, { status, headers });
}

export function resultOf({ message }: Fetched, headers = {}): Response {
  return jsonOf({ jsonrpc: '2.0', id: message?.id, result: {} }, 200, headers);
}

/** Answers as a server with sessions does, as long as nothing else does. @returns undefined if it is a request */
export function greetedIn(session: string, asked: Fetched): Response | undefined {
  const { method, id } = asked.message ?? {};
  if (method === 'initialize') return resultOf(asked, { 'mcp-session-id': session });
  if (asked.method === 'GET') return new Response(null, { status: 405 });
  return id === undefined ? new Response(null, { status: 202 }) : undefined;
}

/** What became of a request whose connection has broken. */
export function brokenWith(code: string): never {
  throw new TypeError('fetch failed', { cause: Object.assign(new Error(code), { code }) });
}

/** A body that the test writes. */
export class Poured {
  #controller!: ReadableStreamDefaultController<Uint8Array>;
  #let!: () => void;
  /** Resolves once its host needs no more of it. */
  readonly letGo = new Promise<void>((resolve) => {
    this.#let = resolve;
  });
  readonly #body = new ReadableStream<Uint8Array>({
    start: (controller) => {
      this.#controller = controller;
    },
    cancel: () => this.#let(),
  });

  answer(type = 'text/event-stream', status = 200, headers = {}): Response {
    return new Response(this.#body, { status, headers: { 'content-type': type, ...headers } });
  }

  write(piece: string | Uint8Array): void {
    this.#controller.enqueue(typeof piece === 'string' ? new TextEncoder().encode(piece) : piece);
  }

  event(message: unknown): void {
    this.write(`data: ${JSON.stringify(message)}\n\n`);
  }

  end(): void {
    this.#controller.close();
  }

  break(error: unknown): void {
    this.#controller.error(error);
  }
}
