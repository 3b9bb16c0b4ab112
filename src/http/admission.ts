/**
 * For how long a stream may go on with the token that it was opened with: until that expires, or is
 * refused when it is looked at again.
 */
import type { Authorization, AuthorizationRefusal, Authorizer } from './auth/authorizer.ts';
import type { RequestToAuthorize } from './auth/bearer-token.ts';
import type { TokenLimits } from './auth/options.ts';
import { tell } from './facts.ts';
import type { HttpReport } from './facts.ts';
import type { Principal } from '../protocol/request-origin.ts';
import { Turns } from './auth/turns.ts';

/** A request that was let in. */
export interface AdmittedRequest extends RequestToAuthorize {
  readonly principal?: Principal;
}

/** Why a stream has to end. */
export type AdmissionEnd = 'expired' | 'revoked' | 'unchecked';

/** How that is told. */
export const endInWords: { readonly [end in AdmissionEnd]: string } = {
  expired: 'has expired',
  revoked: 'is not valid any more',
  unchecked: 'could not be checked for too long',
};

/** When somebody could tell last that it is valid, the endpoint's clock. */
interface Known {
  readonly knownAtMs: number;
}

type State =
  | (Known & { readonly name: 'valid'; readonly lookedAtMs: number })
  | (Known & { readonly name: 'rechecking' })
  | { readonly name: 'refused'; readonly as: AdmissionEnd };

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
    this.#state = { name: 'valid', lookedAtMs: now, knownAtMs: now };
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
    const { recheckMs } = this.#rechecks.limits;
    const state = this.#state;
    if (state.name === 'refused') return state.as;
    if (state.name === 'valid' && recheckMs > 0 && now - state.lookedAtMs >= recheckMs) {
      void this.#lookAgain(state);
    }
    return undefined;
  }

  async #lookAgain({ knownAtMs }: Known): Promise<void> {
    this.#state = { name: 'rechecking', knownAtMs };
    const found = await this.#rechecks.recheck(this.#request);
    const now = this.#rechecks.now();
    this.#state = this.#judged(found, knownAtMs, now);
    // No token lasts longer than it did at first.
    if (found.ok) this.#until = Math.min(this.#until, now + (found.expiresInMs ?? Infinity));
  }

  #judged(found: Authorization, knownAtMs: number, now: number): State {
    if (found.ok) {
      const isSame = found.principal.id === this.#request.principal?.id;
      return isSame
        ? { name: 'valid', lookedAtMs: now, knownAtMs: now }
        : { name: 'refused', as: 'revoked' };
    }
    if (found.status !== 503) return { name: 'refused', as: 'revoked' };
    // If nobody can tell, it was valid when it was looked at last.
    const isTooLong = now - knownAtMs >= this.#rechecks.limits.uncheckedTimeoutMs;
    return isTooLong
      ? { name: 'refused', as: 'unchecked' }
      : { name: 'valid', lookedAtMs: now, knownAtMs };
  }
}

/** Looks at the tokens of streams again, a few at a time, whatever else there is to check. */
export class Rechecks {
  readonly #authorizer: Authorizer;
  readonly #report: HttpReport;
  /** The endpoint's clock, milliseconds. */
  readonly now: () => number;
  readonly #turns: Turns;

  constructor(authorizer: Authorizer, now: () => number, report: HttpReport) {
    this.#authorizer = authorizer;
    this.#report = report;
    this.now = now;
    const { maxRechecks } = authorizer.limits;
    // As many wait as there are streams.
    this.#turns = new Turns({ maxRunning: maxRechecks, maxWaiting: Infinity });
  }

  get limits(): TokenLimits {
    return this.#authorizer.limits;
  }

  /** Says who makes the request now. It does not fail, and may take its time. */
  async recheck(request: AdmittedRequest): Promise<Authorization> {
    const checking = () => this.#authorizer.authenticate(request, 'recheck');
    const found = await this.#turns.run(request.principal?.id ?? '', checking);
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
