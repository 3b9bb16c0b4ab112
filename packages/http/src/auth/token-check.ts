/** What the ways to check a token have in common: whom it names, or one of two errors. */
import type { Principal } from '../../../../src/protocol/request-origin.ts';
import type { RequestToAuthorize } from './bearer-token.ts';

/** What a token is checked for: a request that has come, or a stream that goes on. */
export type CheckPurpose = 'request' | 'recheck';

/**
 * Checks a token.
 *
 * @throws {InvalidToken} or {@link AuthorizationUnavailable}, and nothing else on purpose
 */
export type CheckToken = (
  token: string,
  request: RequestToAuthorize,
  purpose: CheckPurpose,
) => Promise<Principal>;

/** Two clocks: tokens expire by the date; pauses must not depend on changes of the date. */
export interface Time {
  /** Milliseconds since 1970. */
  wall(): number;
  /** Milliseconds since any moment. */
  monotonic(): number;
}

/** Why a token is not valid: for a developer. It says nothing that the token does not. */
export class InvalidToken extends Error {
  override readonly name = 'InvalidToken';
}

/** What is needed of the authorization server cannot be had now: nobody knows whether a token is valid. */
export class AuthorizationUnavailable extends Error {
  override readonly name = 'AuthorizationUnavailable';
  /** When to try again, milliseconds from now. */
  readonly retryAfterMs: number;

  constructor(
    message: string,
    options: { readonly retryAfterMs: number; readonly cause?: unknown },
  ) {
    super(message, options);
    this.retryAfterMs = options.retryAfterMs;
  }
}
