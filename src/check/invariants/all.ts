/** Every invariant, in the order of the report. */
import { answerInvariants } from './answers.ts';
import { cancellationInvariants } from './cancellation.ts';
import { capabilityInvariants } from './capabilities.ts';
import type { Invariant } from './invariant.ts';
import { lifecycleInvariants } from './lifecycle.ts';
import { messageInvariants } from './messages.ts';
import { progressInvariants } from './progress.ts';
import { robustnessInvariants } from './robustness.ts';
import { rootsInvariants } from './roots.ts';

export const invariants: readonly Invariant[] = [
  ...messageInvariants,
  ...answerInvariants,
  ...lifecycleInvariants,
  ...capabilityInvariants,
  ...cancellationInvariants,
  ...progressInvariants,
  ...rootsInvariants,
  ...robustnessInvariants,
];
