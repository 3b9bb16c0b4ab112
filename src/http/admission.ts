/**
 * For how long a stream may go on with the token that it was opened with: until that expires, or is
 * refused when it is looked at again.
 */
import type { Authorization, AuthorizationRefusal, Authorizer } from './auth/authorizer.ts';
import type { RequestToAuthorize } from './auth/bearer-token.ts';
import { tell } from './facts.ts';
import type { HttpReport } from './facts.ts';
import type { Principal } from '../protocol/request-origin.ts';

/** A request that was let in. */
export interface AdmittedRequest extends RequestToAuthorize {
  readonly principal?: Principal;
}

/** Why a stream has to end. */
export type AdmissionEnd = 'expired' | 'revoked';

/** How that is told. */
export const endInWords: { readonly [end in AdmissionEnd]: string } = {
  expired: 'has expired',
  revoked: 'is not valid any more',
};

type State =
  | { readonly name: 'valid'; readonly lookedAtMs: number }
  | { readonly name: 'rechecking' }
  | { readonly name: 'refused' };

export class Admission {
  readonly #request: AdmittedRequest;
  readonly #rechecks: Rechecks;
  #until: number;
  #state: State;

  /** @param expiresInMs for how long the token is accepted; undefined if it does not expire */
  constructor(request: AdmittedRequest, expiresInMs: number | undefined, rechecks: Rechecks) {
    this.#request = request;
    this.#rechecks = rechecks;
    const now = rechecks.now();
    this.#until = now + (expiresInMs ?? Infinity);
    this.#state = { name: 'valid', lookedAtMs: now };
  }

  /** When the token expires, the endpoint's clock; `Infinity` if it does not. */
  get until(): number {
    return this.#until;
  }

  /**
   * Why a stream has to end now; undefined if it may go on. If the token was not looked at for long,
   * that is begun, and a later call says what came of it.
   *
   * @param now the endpoint's clock
   */
  endedBy(now: number): AdmissionEnd | undefined {
    if (now >= this.#until) return 'expired';
    const { recheckMs } = this.#rechecks;
    const state = this.#state;
    if (state.name === 'refused') return 'revoked';
    if (state.name === 'valid' && recheckMs > 0 && now - state.lookedAtMs >= recheckMs) {
      void this.#lookAgain();
    }
    return undefined;
  }

  async #lookAgain(): Promise<void> {
    this.#state = { name: 'rechecking' };
    const found = await this.#rechecks.recheck(this.#request);
    const now = this.#rechecks.now();
    // If nobody can tell, it was valid when it was looked at last.
    const isRefused = found.ok
      ? found.principal.id !== this.#request.principal?.id
      : found.status !== 503;
    this.#state = isRefused ? { name: 'refused' } : { name: 'valid', lookedAtMs: now };
    // No token lasts longer than it did at first.
    if (found.ok) this.#until = Math.min(this.#until, now + (found.expiresInMs ?? Infinity));
  }
}

/** Looks at the tokens of streams again, a few at a time: requests that come have most of the room. */
export class Rechecks {
  readonly #authorizer: Authorizer;
  readonly #report: HttpReport;
  /** The endpoint's clock, milliseconds. */
  readonly now: () => number;
  #running = 0;
  readonly #waiting: (() => void)[] = [];

  constructor(authorizer: Authorizer, now: () => number, report: HttpReport) {
    this.#authorizer = authorizer;
    this.#report = report;
    this.now = now;
  }

  /** How long a stream goes on until its token is looked at again, milliseconds; 0 = for ever. */
  get recheckMs(): number {
    return this.#authorizer.limits.recheckMs;
  }

  /** Says who makes the request now. It does not fail, and may take its time. */
  async recheck(request: RequestToAuthorize): Promise<Authorization> {
    if (this.#running < this.#authorizer.limits.maxRechecks) this.#running++;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    const found = await this.#authorizer.authenticate(request);
    const next = this.#waiting.shift();
    if (next) next();
    else this.#running--;
    const what = 'The token of a stream could not be checked again, and the stream goes on';
    if (!found.ok) tellUnknown(this.#report, what, found);
    return found;
  }
}

/** Reports that nobody could tell whether a token is valid. */
export function tellUnknown(report: HttpReport, what: string, refusal: AuthorizationRefusal): void {
  const { detail } = refusal;
  if (detail !== undefined)
    tell(report, 'warning', 'authorization.unavailable', `${what}: ${detail}`);
}
