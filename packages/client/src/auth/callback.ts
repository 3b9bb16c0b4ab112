/**
 * Listens on loopback for the one request that a browser makes when the authorization server sends a
 * person back.
 *
 * @see RFC 8252, section 7.3
 */
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { refusedAuthorization } from './sdk-auth.ts';
import { unlessAborted } from '../../../../src/actors/waiting.ts';

/** Where a person is sent back to. */
export interface Callback {
  /** For the authorization server. */
  readonly redirectUrl: string;
  /**
   * Resolves to the URL of the request that has this `state`. Other requests are refused, and the
   * wait goes on.
   *
   * @throws the signal's reason
   */
  answer(state: string, signal: AbortSignal): Promise<URL>;
  /** Stops listening. */
  close(): void;
}

type Phase =
  | { readonly name: 'idle' }
  | { readonly name: 'waiting'; readonly state: string; readonly take: (url: URL) => void }
  | { readonly name: 'answered' };

/**
 * Which loopback URL to listen on: this one, or the given port if it is free, otherwise any free
 * port.
 */
export type Wish = { readonly redirectUrl: string } | { readonly port: number | undefined };

/** @throws {RefusedAuthorization} it cannot listen on the wanted URL */
export async function listenForCallback(wish: Wish): Promise<Callback> {
  if ('redirectUrl' in wish) {
    return await LoopbackCallback.at(new URL(wish.redirectUrl)).catch((error: unknown) => {
      const { code, message } = error as NodeJS.ErrnoException;
      const why = code === 'EADDRINUSE' ? 'the port is taken' : message;
      throw refusedAuthorization(
        'declined',
        `A login was not begun: nobody can come back to ${wish.redirectUrl}: ${why}`,
        error,
      );
    });
  }
  const at = (port = 0) => LoopbackCallback.at(new URL(`http://127.0.0.1:${port}/callback`));
  return await at(wish.port).catch(() => at());
}

class LoopbackCallback implements Callback {
  readonly redirectUrl: string;
  readonly #url: URL;
  readonly #http: ReturnType<typeof createServer>;
  #phase: Phase = { name: 'idle' };

  static async at(url: URL): Promise<LoopbackCallback> {
    const http = createServer();
    const host = url.hostname === 'localhost' ? '127.0.0.1' : url.hostname.replace(/^\[|\]$/g, '');
    await new Promise<void>((resolve, reject) => {
      http.once('error', reject);
      // `new URL` leaves out the port of the scheme; 0 is written.
      http.listen(url.port === '' ? 80 : Number(url.port), host, resolve);
    });
    const actual = new URL(url);
    actual.port = String((http.address() as AddressInfo).port);
    return new LoopbackCallback(actual, http);
  }

  private constructor(url: URL, http: ReturnType<typeof createServer>) {
    this.#url = url;
    this.#http = http;
    this.redirectUrl = url.href;
    http.on('request', (request, response) => this.#serve(request, response));
    // It must not keep a process alive that wants to end.
    http.unref();
  }

  async answer(state: string, signal: AbortSignal): Promise<URL> {
    const answered = new Promise<URL>((take) => {
      this.#phase = { name: 'waiting', state, take };
    });
    return await unlessAborted(answered, signal);
  }

  close(): void {
    this.#http.close();
    this.#http.closeAllConnections();
  }

  #serve(request: IncomingMessage, response: ServerResponse): void {
    const { status, text, after } = this.#judge(request);
    response.writeHead(status, {
      'content-type': 'text/html; charset=utf-8',
      // The code is in this page's address.
      'referrer-policy': 'no-referrer',
      'cache-control': 'no-store',
      'content-security-policy': "default-src 'none'",
      connection: 'close',
    });
    response.end(page(text), after);
  }

  /** The answer to the browser, and what to do once it was sent. */
  #judge(request: IncomingMessage): { status: number; text: string; after?: () => void } {
    const { headers, method, url = '/' } = request;
    const target = URL.canParse(url, this.#url.href) ? new URL(url, this.#url) : undefined;
    if (target?.host !== this.#url.host || headers.host !== this.#url.host) {
      return { status: 403, text: 'This address is for one program on this machine.' };
    }
    if (target.pathname !== this.#url.pathname) return { status: 404, text: 'Nothing is here.' };
    // A person arrives by a navigation. Any other request comes from another page.
    const mode = headers['sec-fetch-mode'];
    if (method !== 'GET' || headers.origin !== undefined || (mode ?? 'navigate') !== 'navigate') {
      return { status: 403, text: 'Only a browser that was sent here is answered.' };
    }
    const phase = this.#phase;
    if (phase.name === 'answered') return { status: 410, text: 'This login is done already.' };
    if (phase.name === 'idle' || target.searchParams.get('state') !== phase.state) {
      return { status: 400, text: 'This is not the answer to the login that was begun here.' };
    }
    this.#phase = { name: 'answered' };
    return {
      status: 200,
      text: 'The answer has been received. You can close this page.',
      after: () => phase.take(target),
    };
  }
}

const page = (text: string): string =>
  `<!doctype html><html lang="en"><meta charset="utf-8"><title>Login</title><p>${text}</p></html>`;
