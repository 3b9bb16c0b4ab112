/**
 * Sends one HTTP request to a server and reads the response headers. Adds the headers of the entry
 * and of the login, only for the server's origin, and resends after a login.
 *
 * @see MCP 2025-11-25, basic/authorization, "Access Token Usage"
 */
import { RuntimeError, textOfError } from '../../../../src/protocol/errors.ts';
import { quoted } from '../../../../src/protocol/printable.ts';
import { placeOf } from './address.ts';
import type { HttpAddress } from './address.ts';
import { bearerChallenge, whyRefused } from './authorization.ts';
import type { Challenge, HttpAuthorization, LoginWatch } from './authorization.ts';
import { networkFailure } from './failures.ts';
import type { NetworkFailure } from './failures.ts';
import { discard } from './response.ts';
import type { HttpRequest, HttpResponse, SendRequest } from './response.ts';

export interface WireRequest extends HttpRequest {
  /** Name of the request in errors, such as its method. */
  readonly what: string;
}

/** Result of a request; irrelevant once its signal has fired. */
export type SendOutcome =
  | { readonly kind: 'answered'; readonly response: HttpResponse; readonly url: URL }
  | NetworkFailure
  /** The request was redirected to another origin, or needs a login that cannot be obtained. */
  | { readonly kind: 'refused'; readonly error: RuntimeError };

export interface WireOptions {
  readonly send: SendRequest;
  readonly authorization: HttpAuthorization | undefined;
  /** A different identity may be logged in than for the last request. */
  readonly relogged: () => void;
  readonly logins: LoginWatch;
  /** A request waits for a login. Returns a function to call when it continues. */
  readonly challenged: () => () => void;
}

/** Maximum redirects of a request, and maximum resends after a login. */
const maxRedirects = 5;
const maxLogins = 5;

type Headers = Readonly<Record<string, string>>;
type Answer = Extract<SendOutcome, { readonly kind: 'answered' }>;
type Verdict = { readonly kind: 'retry' } | Exclude<SendOutcome, Answer>;

export class HttpWire {
  readonly #address: HttpAddress;
  readonly #options: WireOptions;

  constructor(address: HttpAddress, options: WireOptions) {
    this.#address = address;
    this.#options = options;
  }

  async send(request: WireRequest): Promise<SendOutcome> {
    for (let retries = 0; ; retries++) {
      const login = await this.#login(request.url);
      if (login instanceof RuntimeError) return { kind: 'refused', error: login };
      const sent = await this.#follow(request, login);
      if (sent.kind !== 'answered') return sent;
      const { status } = sent.response;
      if (status !== 401 && !isInsufficientScope(sent.response)) return sent;
      const verdict = await this.#challenge(request, sent, {
        status: status === 401 ? 401 : 403,
        wwwAuthenticate: sent.response.header('www-authenticate'),
        url: sent.url.href,
        sent: login,
        retries,
        signal: request.signal,
      });
      if (verdict.kind !== 'retry') return verdict;
    }
  }

  async #login({ href }: URL): Promise<Headers | RuntimeError> {
    const { authorization, logins, relogged } = this.#options;
    if (!authorization) return {};
    try {
      const headers = await authorization.headers(href);
      if (logins.changesTo(authorization.holder)) relogged();
      return headers;
    } catch (cause) {
      return new RuntimeError('UNAUTHORIZED', `No login available: ${textOfError(cause)}`, {
        cause,
      });
    }
  }

  async #follow(request: WireRequest, login: Headers): Promise<SendOutcome> {
    const { what, method, body, signal } = request;
    // Several spreads in one object would cost as much as everything else here.
    const headers = Object.assign({}, this.#address.headers, login, request.headers);
    let { url } = request;
    for (let redirects = 0; ; redirects++) {
      let response: HttpResponse;
      try {
        response = await this.#options.send({ method, url, headers, body, signal });
      } catch (error) {
        return networkFailure(what, url, error);
      }
      if (!isRedirect(response)) return { kind: 'answered', response, url };
      await discard(response);
      const target = targetOf(response, url);
      if (!target || target.origin !== url.origin || redirects === maxRedirects) {
        return redirected(what, { url, target, status: response.status });
      }
      url = target;
    }
  }

  async #challenge(
    request: WireRequest,
    { response, url }: Answer,
    challenge: Challenge,
  ): Promise<Verdict> {
    const { authorization, challenged } = this.#options;
    const { status } = challenge;
    await discard(response);
    const refused = (why: string, cause?: unknown): Verdict => {
      const message = `${request.what}: ${placeOf(url)} answered with status ${status}: ${why}`;
      return {
        kind: 'refused',
        error: new RuntimeError('UNAUTHORIZED', message, { status, cause }),
      };
    };
    if (!authorization) {
      const sent = 'authorization' in this.#address.headers ? 'a token' : 'nothing';
      return refused(whyRefused(status, challenge.wwwAuthenticate, sent));
    }
    if (challenge.retries === maxLogins) return refused(`all ${maxLogins} logins were rejected`);
    const goOn = challenged();
    try {
      const outcome = await authorization.challenged(challenge);
      if (outcome.kind === 'retry') return outcome;
      if (outcome.kind === 'refused')
        return refused(textOfError(outcome.error.message), outcome.error);
      const { error: cause } = outcome;
      const error = new RuntimeError('CLOSED', `${request.what}: ${cause.message}`, { cause });
      return { kind: 'unreachable', error };
    } catch (error) {
      return refused(textOfError(error), error);
    } finally {
      goOn();
    }
  }
}

/**
 * True for a login whose scopes can be extended.
 *
 * @see MCP 2025-11-25, basic/authorization, "Scope Challenge Handling"
 */
function isInsufficientScope(response: HttpResponse): boolean {
  if (response.status !== 403) return false;
  return bearerChallenge(response.header('www-authenticate'))?.['error'] === 'insufficient_scope';
}

/** A browser hides the target of a redirect. */
function isRedirect({ status }: HttpResponse): boolean {
  return [0, 301, 302, 303, 307, 308].includes(status);
}

function targetOf(response: HttpResponse, from: URL): URL | undefined {
  const location = response.header('location');
  // Status 303 would drop the message.
  if (response.status === 303 || location === undefined || !URL.canParse(location, from.href))
    return undefined;
  return new URL(location, from);
}

function redirected(
  what: string,
  {
    url,
    target,
    status,
  }: { readonly url: URL; readonly target: URL | undefined; readonly status: number },
): SendOutcome {
  const where = target ? `to ${quoted(placeOf(target))}` : 'to an unusable location';
  const why =
    target && target.origin === url.origin
      ? 'too many redirects'
      : 'redirects to another origin are not followed. If that is the server, use its URL';
  const message = `${what}: ${placeOf(url)} redirects ${where} (status ${status}): ${why}`;
  return {
    kind: 'refused',
    error: new RuntimeError('HTTP_STATUS', message, { status }),
  };
}
