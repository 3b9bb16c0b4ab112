/**
 * Whether a stream may go on with the token that it was opened with. The token is checked again
 * from time to time while the stream is open.
 *
 * It has no context and does nothing by itself, so a stream needs no actor for it: see {@link
 * pureChart}.
 */
import { setup } from 'xstate';
import type { SnapshotFrom } from 'xstate';
import { pureChart } from '../../../src/machines/pure-chart.ts';
import type { PureChart } from '../../../src/machines/pure-chart.ts';

export type AdmissionEvent =
  /** It is due to be checked again. */
  | { readonly type: 'token.recheck' }
  /** It is valid, or could not be checked for only a short while. */
  | { readonly type: 'token.accepted' }
  /** It is not valid, or belongs to someone else. */
  | { readonly type: 'token.refused' }
  /** It could not be checked for too long. */
  | { readonly type: 'token.unknown' }
  /** It has expired. */
  | { readonly type: 'token.expired' };

export const admissionMachine = setup({
  types: { context: {} as Record<never, never>, events: {} as AdmissionEvent },
}).createMachine({
  id: 'admission',
  context: {},
  initial: 'valid',
  states: {
    valid: {
      description: 'The stream goes on.',
      on: { 'token.recheck': 'rechecking', 'token.expired': 'expired' },
    },
    rechecking: {
      description: 'The stream goes on while the token is checked.',
      on: {
        'token.accepted': 'valid',
        'token.refused': 'revoked',
        'token.unknown': 'unchecked',
        'token.expired': 'expired',
      },
    },
    expired: { type: 'final', description: 'The stream ends.' },
    revoked: { type: 'final', description: 'The stream ends.' },
    unchecked: { type: 'final', description: 'The stream ends.' },
  },
});

/** The state of an admission. Admissions in the same state share one snapshot. */
export type AdmissionSnapshot = SnapshotFrom<typeof admissionMachine>;

export const admissionChart: PureChart<AdmissionSnapshot, AdmissionEvent> =
  pureChart(admissionMachine);
