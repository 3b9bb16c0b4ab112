import type { Revision } from './revision.ts';

/** The first revision: stdio, roots, sampling, logging, ping, progress, cancellation. */
export const revision20241105: Revision = {
  version: '2024-11-05',
  era: 'handshake',
  batches: false,
  toolAnnotations: false,
  audio: false,
  completions: false,
  completionContext: false,
  structuredOutput: false,
  icons: false,
  invalidArgumentsAreResults: false,
  tasks: false,
  progressMessages: false,
  elicitation: false,
  urlElicitation: false,
  richForms: false,
  samplingTools: false,
};
