/** Common interface of token checks. */
import type { Principal } from '../../../../src/protocol/request-origin.ts';
import type { RequestToAuthorize } from './bearer-token.ts';

/** Why a token is checked: for a new request, or to recheck an open stream. */
export type CheckPurpose = 'request' | 'recheck';

/**
 * Checks a token.
 *
 * @throws {InvalidToken} or {@link AuthorizationUnavailable}; anything else is a bug
 */
export type CheckToken = (
  token: string,
  request: RequestToAuthorize,
  purpose: CheckPurpose,
) => Promise<Principal>;

/** Two clocks: tokens expire by date, while pauses must not depend on date changes. */
export interface Time {
  /** Milliseconds since 1970. */
  wall(): number;
  /** Milliseconds since an arbitrary time. */
  monotonic(): number;
}

/** An invalid token, with a message for developers that reveals only what the token contains. */
export class InvalidToken extends Error {
  override readonly name = 'InvalidToken';
}

/** The authorization server cannot be reached, so a token's validity is unknown. */
export class AuthorizationUnavailable extends Error {
  override readonly name = 'AuthorizationUnavailable';
  /** Delay before a retry, milliseconds. */
  readonly retryAfterMs: number;

  constructor(
    message: string,
    options: { readonly retryAfterMs: number; readonly cause?: unknown },
  ) {
    super(message, options);
    this.retryAfterMs = options.retryAfterMs;
  }
}
