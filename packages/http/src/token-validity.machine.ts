/**
 * Validity of the token that a stream was opened with. The token is rechecked periodically while
 * the stream is open.
 *
 * A pure chart without context or actor: see {@link pureChart}.
 */
import { setup } from 'xstate';
import type { SnapshotFrom } from 'xstate';
import { pureChart } from '../../../src/machines/pure-chart.ts';
import type { PureChart } from '../../../src/machines/pure-chart.ts';

export type TokenValidityEvent =
  /** The recheck interval has elapsed. */
  | { readonly type: 'token.recheck' }
  /** The token is valid, or has been uncheckable only briefly. */
  | { readonly type: 'token.accepted' }
  /** The token is invalid or names another principal. */
  | { readonly type: 'token.rejected' }
  /** The token could not be checked for too long. */
  | { readonly type: 'token.unchecked' }
  /** The token has expired. */
  | { readonly type: 'token.expired' };

export const tokenValidityMachine = setup({
  types: { context: {} as Record<never, never>, events: {} as TokenValidityEvent },
}).createMachine({
  id: 'token-validity',
  context: {},
  initial: 'valid',
  states: {
    valid: {
      description: 'The stream stays open.',
      on: { 'token.recheck': 'rechecking', 'token.expired': 'expired' },
    },
    rechecking: {
      description: 'The stream stays open while the token is rechecked.',
      on: {
        'token.accepted': 'valid',
        'token.rejected': 'revoked',
        'token.unchecked': 'unchecked',
        'token.expired': 'expired',
      },
    },
    expired: { type: 'final', description: 'The stream ends.' },
    revoked: { type: 'final', description: 'The stream ends.' },
    unchecked: { type: 'final', description: 'The stream ends.' },
  },
});

/** State of a token. Tokens in the same state share one snapshot. */
export type TokenValiditySnapshot = SnapshotFrom<typeof tokenValidityMachine>;

export const tokenValidityChart: PureChart<TokenValiditySnapshot, TokenValidityEvent> =
  pureChart(tokenValidityMachine);
