import { revision20250618 } from './2025-06-18.ts';
import type { Revision } from './revision.ts';

/** Input-validation errors become tool results; adds icons, URL elicitation, tasks. */
export const revision20251125: Revision = {
  ...revision20250618,
  version: '2025-11-25',
  icons: true,
  invalidArgumentsAreResults: true,
  tasks: true,
  urlElicitation: true,
  richForms: true,
  samplingTools: true,
};
