/**
 * Validity of the token that a stream was opened with: until it expires, or a recheck rejects it.
 */
import { FairSemaphore } from '../../../src/actors/fair-semaphore.ts';
import type { Authorization, AuthorizationRefusal, Authorizer } from './auth/authorizer.ts';
import type { RequestToAuthorize } from './auth/bearer-token.ts';
import type { TokenLimits } from './auth/options.ts';
import { formatReport } from './facts.ts';
import type { HttpReport } from './facts.ts';
import { tokenValidityChart } from './token-validity.machine.ts';
import type { TokenValidityEvent, TokenValiditySnapshot } from './token-validity.machine.ts';
import type { Principal } from '../../../src/protocol/request-origin.ts';

/** A request that passed authorization. */
export interface AuthorizedRequest extends RequestToAuthorize {
  readonly principal?: Principal;
}

/** Why a stream must end: the final states of its token. */
export type TokenEnd = Exclude<TokenValiditySnapshot['value'], 'valid' | 'rechecking'>;

/** Predicates for log messages. */
export const describeEnd: { readonly [end in TokenEnd]: string } = {
  expired: 'has expired',
  revoked: 'is no longer valid',
  unchecked: 'could not be checked for too long',
};

/** How long a stream may stay open. */
export interface TokenValidity {
  /** Expiry of the token, endpoint clock ms; `Infinity` if it never expires. */
  readonly until: number;
  /**
   * Why the stream must end now; undefined if it may stay open.
   *
   * @param now endpoint clock, ms
   */
  endReason(now: number): TokenEnd | undefined;
}

export class RecheckedToken implements TokenValidity {
  readonly #request: AuthorizedRequest;
  readonly #rechecks: TokenRechecks;
  #until: number;
  #state = tokenValidityChart.initial;
  /** Time of the last check, endpoint clock ms. */
  #checkedAtMs: number;
  /** Time it was last known to be valid, endpoint clock ms. */
  #validAtMs: number;

  /** @param expiresInMs remaining lifetime of the token; undefined if it does not expire */
  constructor(
    request: AuthorizedRequest,
    expiresInMs: number | undefined,
    rechecks: TokenRechecks,
  ) {
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

  /** Starts a recheck once the interval has elapsed; a later call returns its outcome. */
  endReason(now: number): TokenEnd | undefined {
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
    this.#move(this.#eventFor(found, now));
    // A recheck must not extend a token's lifetime.
    if (found.ok) this.#until = Math.min(this.#until, now + (found.expiresInMs ?? Infinity));
  }

  #eventFor(found: Authorization, now: number): TokenValidityEvent {
    if (found.ok && found.principal.id === this.#request.principal?.id) {
      this.#validAtMs = now;
      return { type: 'token.accepted' };
    }
    if (found.ok || found.status !== 503) return { type: 'token.rejected' };
    const isTooLong = now - this.#validAtMs >= this.#rechecks.limits.uncheckedTimeoutMs;
    return { type: isTooLong ? 'token.unchecked' : 'token.accepted' };
  }

  #move(event: TokenValidityEvent): void {
    this.#state = tokenValidityChart.next(this.#state, event);
  }
}

/** Rechecks the tokens of streams, a few at a time. */
export class TokenRechecks {
  readonly #authorizer: Authorizer;
  readonly #report: HttpReport;
  /** Endpoint clock, ms. */
  readonly now: () => number;
  readonly #semaphore: FairSemaphore;

  constructor(authorizer: Authorizer, now: () => number, report: HttpReport) {
    this.#authorizer = authorizer;
    this.#report = report;
    this.now = now;
    const { maxRechecks } = authorizer.limits;
    this.#semaphore = new FairSemaphore(maxRechecks);
  }

  get limits(): TokenLimits {
    return this.#authorizer.limits;
  }

  /** Authenticates a stream's request again. Never rejects. */
  async recheck(request: AuthorizedRequest): Promise<Authorization> {
    const checking = () => this.#authorizer.authenticate(request, 'recheck');
    const found = await this.#semaphore.run(checking, undefined, request.principal?.id);
    const what = 'The token of a stream could not be rechecked; the stream stays open';
    if (!found.ok) reportUnavailableCheck(this.#report, what, found);
    return found;
  }
}

/** Reports that a token could not be checked. */
export function reportUnavailableCheck(
  report: HttpReport,
  what: string,
  refusal: AuthorizationRefusal,
): void {
  const { detail } = refusal;
  if (detail !== undefined)
    formatReport(report, 'warning', 'authorization.unavailable', `${what}: ${detail}`);
}
