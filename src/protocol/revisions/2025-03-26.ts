import { revision20241105 } from './2024-11-05.ts';
import type { Revision } from './revision.ts';

/** Adds tool annotations, audio, progress messages; the one revision in which batches MUST be received. */
export const revision20250326: Revision = {
  ...revision20241105,
  version: '2025-03-26',
  batches: true,
  toolAnnotations: true,
  audio: true,
  completions: true,
  progressMessages: true,
};
