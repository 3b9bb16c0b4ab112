/**
 * Loopback listener for the browser request that returns a person from the authorization server.
 *
 * @see RFC 8252, section 7.3
 */
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { refusedAuthorization } from './sdk-auth.ts';
import { unlessAborted } from '../../../../src/actors/wait-for.ts';

/** Redirect target of one login. */
export interface Callback {
  /** `redirect_uri` for the authorization server. */
  readonly redirectUrl: string;
  /**
   * Resolves to the URL of the request with this `state`. Other requests are rejected without
   * ending the wait.
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

/** Preferred loopback URL: exactly this one, or the given port if free, otherwise any free port. */
export type Wish = { readonly redirectUrl: string } | { readonly port: number | undefined };

/** @throws {RefusedAuthorization} the preferred URL cannot be listened on */
export async function listenForCallback(wish: Wish): Promise<Callback> {
  if ('redirectUrl' in wish) {
    return await LoopbackCallback.at(new URL(wish.redirectUrl)).catch((error: unknown) => {
      const { code, message } = error as NodeJS.ErrnoException;
      const why = code === 'EADDRINUSE' ? 'the port is in use' : message;
      throw refusedAuthorization(
        'declined',
        `Cannot start a login: listening on ${wish.redirectUrl} failed: ${why}`,
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
      // `new URL` drops the scheme's default port but keeps port 0.
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
    // A pending login must not keep the process alive.
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
      // The page's address contains the code.
      'referrer-policy': 'no-referrer',
      'cache-control': 'no-store',
      'content-security-policy': "default-src 'none'",
      connection: 'close',
    });
    response.end(page(text), after);
  }

  /** Response to the browser, and the callback to run once it was sent. */
  #judge(request: IncomingMessage): { status: number; text: string; after?: () => void } {
    const { headers, method, url = '/' } = request;
    const target = URL.canParse(url, this.#url.href) ? new URL(url, this.#url) : undefined;
    if (target?.host !== this.#url.host || headers.host !== this.#url.host) {
      return { status: 403, text: 'Wrong host: this address serves one program on this machine.' };
    }
    if (target.pathname !== this.#url.pathname) return { status: 404, text: 'Not found.' };
    // A person arrives by navigation. Any other request comes from another page.
    const mode = headers['sec-fetch-mode'];
    if (method !== 'GET' || headers.origin !== undefined || (mode ?? 'navigate') !== 'navigate') {
      return { status: 403, text: 'Only browser navigations are accepted.' };
    }
    const phase = this.#phase;
    if (phase.name === 'answered') return { status: 410, text: 'This login is already complete.' };
    if (phase.name === 'idle' || target.searchParams.get('state') !== phase.state) {
      return { status: 400, text: 'This response does not belong to a pending login.' };
    }
    this.#phase = { name: 'answered' };
    return {
      status: 200,
      text: 'Login received. You can close this page.',
      after: () => phase.take(target),
    };
  }
}

const page = (text: string): string =>
  `<!doctype html><html lang="en"><meta charset="utf-8"><title>Login</title><p>${text}</p></html>`;
