/**
 * For how long a stream may go on with the token that it was opened with: until that expires, or is
 * refused when it is looked at again.
 */
import { FairSemaphore } from '../../../src/actors/party-turns.ts';
import type { Authorization, AuthorizationRefusal, Authorizer } from './auth/authorizer.ts';
import type { RequestToAuthorize } from './auth/bearer-token.ts';
import type { TokenLimits } from './auth/options.ts';
import { formatReport } from './facts.ts';
import type { HttpReport } from './facts.ts';
import { admissionChart } from './admission.machine.ts';
import type { AdmissionEvent, AdmissionSnapshot } from './admission.machine.ts';
import type { Principal } from '../../../src/protocol/request-origin.ts';

/** A request that was let in. */
export interface AdmittedRequest extends RequestToAuthorize {
  readonly principal?: Principal;
}

/** Why a stream has to end: the final states of its admission. */
export type TokenEnd = Exclude<AdmissionSnapshot['value'], 'valid' | 'rechecking'>;

/** How that is told. */
export const describeEnd: { readonly [end in TokenEnd]: string } = {
  expired: 'has expired',
  revoked: 'is not valid any more',
  unchecked: 'could not be checked for too long',
};

/** For how long a stream may go on. */
export interface TokenValidity {
  /** When the token expires, the endpoint's clock; `Infinity` if it does not. */
  readonly until: number;
  /**
   * Why a stream has to end now; undefined if it may go on.
   * @param now the endpoint's clock
   */
  endedBy(now: number): TokenEnd | undefined;
}

export class TokenAdmission implements TokenValidity {
  readonly #request: AdmittedRequest;
  readonly #rechecks: Rechecks;
  #until: number;
  #state = admissionChart.begun;
  /** When it was checked last, the endpoint's clock. */
  #checkedAtMs: number;
  /** When it was valid last, the endpoint's clock. */
  #validAtMs: number;

  /** @param expiresInMs for how long the token is accepted; undefined if it does not expire */
  constructor(request: AdmittedRequest, expiresInMs: number | undefined, rechecks: Rechecks) {
    this.#request = request;
    this.#rechecks = rechecks;
    const now = rechecks.now();
    this.#until = now + (expiresInMs ?? Infinity);
    this.#checkedAtMs = now;
    this.#validAtMs = now;
  }

  get until(): number {
    return this.#until;
  }

  /** If the token was not checked for long, it is checked again, and a later call says what came of that. */
  endedBy(now: number): TokenEnd | undefined {
    if (now >= this.#until) this.#move({ type: 'token.expired' });
    const { value } = this.#state;
    if (value !== 'valid' && value !== 'rechecking') return value;
    const { recheckMs } = this.#rechecks.limits;
    const isDue = recheckMs > 0 && now - this.#checkedAtMs >= recheckMs;
    if (value === 'valid' && isDue) void this.#recheck();
    return undefined;
  }

  async #recheck(): Promise<void> {
    this.#move({ type: 'token.recheck' });
    const found = await this.#rechecks.recheck(this.#request);
    const now = this.#rechecks.now();
    this.#checkedAtMs = now;
    this.#move(this.#judged(found, now));
    // No token lasts longer than it did at first.
    if (found.ok) this.#until = Math.min(this.#until, now + (found.expiresInMs ?? Infinity));
  }

  #judged(found: Authorization, now: number): AdmissionEvent {
    if (found.ok && found.principal.id === this.#request.principal?.id) {
      this.#validAtMs = now;
      return { type: 'token.accepted' };
    }
    if (found.ok || found.status !== 503) return { type: 'token.refused' };
    const isTooLong = now - this.#validAtMs >= this.#rechecks.limits.uncheckedTimeoutMs;
    return { type: isTooLong ? 'token.unknown' : 'token.accepted' };
  }

  #move(event: AdmissionEvent): void {
    this.#state = admissionChart.next(this.#state, event);
  }
}

/** Looks at the tokens of streams again, a few at a time, whatever else there is to check. */
export class Rechecks {
  readonly #authorizer: Authorizer;
  readonly #report: HttpReport;
  /** The endpoint's clock, milliseconds. */
  readonly now: () => number;
  readonly #turns: FairSemaphore;

  constructor(authorizer: Authorizer, now: () => number, report: HttpReport) {
    this.#authorizer = authorizer;
    this.#report = report;
    this.now = now;
    const { maxRechecks } = authorizer.limits;
    this.#turns = new FairSemaphore(maxRechecks);
  }

  get limits(): TokenLimits {
    return this.#authorizer.limits;
  }

  /** Says who makes the request now. It does not fail, and may take its time. */
  async recheck(request: AdmittedRequest): Promise<Authorization> {
    const checking = () => this.#authorizer.authenticate(request, 'recheck');
    const found = await this.#turns.run(checking, undefined, request.principal?.id);
    const what = 'The token of a stream could not be checked again, and the stream goes on';
    if (!found.ok) tellUnknown(this.#report, what, found);
    return found;
  }
}

/** Reports that nobody could tell whether a token is valid. */
export function tellUnknown(report: HttpReport, what: string, refusal: AuthorizationRefusal): void {
  const { detail } = refusal;
  if (detail !== undefined)
    formatReport(report, 'warning', 'authorization.unavailable', `${what}: ${detail}`);
}
