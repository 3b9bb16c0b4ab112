/** Invariants shared by both eras, with quotations for the stateless one. */
import { always } from './invariant.ts';
import type { Demand, Invariant } from './invariant.ts';
import { statelessInvariants } from './modern.ts';

const stdio = 'basic/transports/stdio';
const progress = 'basic/patterns/progress';
const cancellation = 'basic/patterns/cancellation';

/**
 * Legacy invariants that also apply to the stateless era, with its quotations. `same` keeps the
 * original clause, which comes from JSON-RPC or is advice.
 */
const kept: {
  readonly [id: string]: readonly [Demand, page: string, heading: string, quote: string] | 'same';
} = {
  stdout: [
    'MUST',
    stdio,
    'Receiving Messages',
    'The server MUST NOT write anything to its stdout that is not a valid MCP message.',
  ],
  responses: [
    'MUST',
    'basic',
    'Error Responses',
    'Error responses MUST include an error field with a code and message. Error codes MUST be integers.',
  ],
  answered: 'same',
  'answered-once': 'same',
  'same-id': [
    'MUST',
    'basic',
    'Result Responses',
    'Result responses MUST include the same ID as the request they correspond to.',
  ],
  'notifications-silent': [
    'MUST',
    'basic',
    'Notifications',
    'The receiver MUST NOT send a response.',
  ],
  'method-not-found': 'same',
  ends: [
    'SHOULD',
    stdio,
    'Shutdown',
    'Servers SHOULD exit promptly when their standard input is closed or reads return end-of-file.',
  ],
  'ends-well': [
    'advice',
    stdio,
    'Shutdown',
    'Servers SHOULD exit promptly when their standard input is closed or reads return end-of-file.',
  ],
  'answers-before-end': 'same',
  'cancelled-silent': [
    'MUST',
    stdio,
    'Cancellation',
    'Servers SHOULD stop work on a cancelled request as soon as practical and MUST NOT send any further messages for it.',
  ],
  'cancelled-zero': [
    'MUST',
    stdio,
    'Cancellation',
    'Servers SHOULD stop work on a cancelled request as soon as practical and MUST NOT send any further messages for it.',
  ],
  'cancel-race': [
    'MUST',
    cancellation,
    'Timing Considerations',
    'Both parties MUST handle these race conditions gracefully',
  ],
  'invalid-cancel-ignored': [
    'SHOULD',
    cancellation,
    'Error Handling',
    'Invalid cancellation notifications SHOULD be ignored',
  ],
  'progress-token': [
    'MUST',
    progress,
    'Behavior Requirements',
    'Progress notifications MUST only reference tokens that: Were provided in an active request',
  ],
  'progress-increases': [
    'MUST',
    progress,
    'Progress Flow',
    'The progress value MUST increase with each notification, even if the total is unknown.',
  ],
  'progress-stops': [
    'MUST',
    progress,
    'Implementation Notes',
    'Progress notifications MUST stop after completion',
  ],
  'tools-declared': 'same',
  'resources-declared': 'same',
  'prompts-declared': 'same',
  'tool-schemas': 'same',
  'invalid-cursor': 'same',
  'prompt-not-found': 'same',
  'parse-error': 'same',
  'parse-error-survived': 'same',
  'invalid-request': 'same',
  'invalid-request-survived': 'same',
};

/** @param others invariants of the revisions with a handshake */
export function modernInvariants(others: readonly Invariant[]): readonly Invariant[] {
  const same = others.flatMap((invariant): Invariant[] => {
    const { [invariant.id]: words } = kept;
    if (!words) return [];
    return words === 'same' ? [invariant] : [{ ...invariant, demanded: always(...words) }];
  });
  return [...same, ...statelessInvariants];
}
