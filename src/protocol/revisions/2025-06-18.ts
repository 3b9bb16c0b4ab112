import { revision20250326 } from './2025-03-26.ts';
import type { Revision } from './revision.ts';

/** Removes batches; adds structured output, titles, resource links, elicitation. */
export const revision20250618: Revision = {
  ...revision20250326,
  version: '2025-06-18',
  batches: false,
  completionContext: true,
  structuredOutput: true,
  elicitation: true,
};
