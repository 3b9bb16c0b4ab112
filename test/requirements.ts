/**
 * What the tests hold this project to, for a session of the revisions 2024-11-05 to 2025-11-25: one row per demand.
 * A test cites a row in its name, `test('refuses … [LIFE-04]')`; `requirements.test.ts` checks that every row is cited and every citation known.
 */
import { base } from './requirements/base.ts';
import { clientFeatures } from './requirements/client-features.ts';
import { serverFeatures } from './requirements/server-features.ts';
import { tasks } from './requirements/tasks.ts';

export interface Requirement {
  readonly id: string;
  /** The page of the specification; "ours" is a decision where the specification leaves one open. */
  readonly source: string;
  readonly text: string;
}

export const requirements: readonly Requirement[] = [base, clientFeatures, serverFeatures, tasks]
  .flatMap((demands) => Object.entries(demands))
  .flatMap(([source, rows]) => Object.entries(rows).map(([id, text]) => ({ id, source, text })))
  .sort((one, other) => (one.id < other.id ? -1 : 1));
