/**
 * What the tests hold this project to, in each revision: one row per demand.
 * A test cites a row in its name, `test('refuses … [LIFE-04]')`; a whole run fails if a citation is unknown, or if a row is not cited by tests that are
 * run for each revision or transport that could change it. `requirements/clauses-2025-11-25.md` and `clauses-2026-07-28.md` have the sentences of the specification with their rows.
 */
import { byteTransports, modern, revisions, transportNames } from './contract/everywhere.ts';
import type { Combination, Revision } from './contract/everywhere.ts';
import { base } from './requirements/base.ts';
import { clientFeatures } from './requirements/client-features.ts';
import type { Demand } from './requirements/demands.ts';
import { hostExchanges } from './requirements/host-exchanges.ts';
import { hostLogins } from './requirements/host-logins.ts';
import { hostFeatures } from './requirements/host-features.ts';
import { hostProcesses } from './requirements/host-processes.ts';
import { httpSessions } from './requirements/http-sessions.ts';
import { httpStateless } from './requirements/http-stateless.ts';
import { roots } from './requirements/roots.ts';
import { serverFeatures } from './requirements/server-features.ts';
import { statelessFeatures, statelessMessages } from './requirements/stateless.ts';
import { tasks } from './requirements/tasks.ts';

export interface Requirement extends Demand {
  readonly id: string;
  /** The page of the specification; "ours" is a decision where the specification leaves one open. */
  readonly source: string;
}

export const requirements: readonly Requirement[] = [
  base,
  roots,
  clientFeatures,
  serverFeatures,
  tasks,
  httpSessions,
  httpStateless,
  statelessFeatures,
  statelessMessages,
  hostExchanges,
  hostLogins,
  hostProcesses,
  hostFeatures,
]
  .flatMap((demands) => Object.entries(demands))
  .flatMap(([source, rows]) =>
    Object.entries(rows).map(([id, row]) => ({
      id,
      source,
      ...(typeof row === 'string' ? { text: row } : row),
    })),
  )
  .sort((one, other) => (one.id < other.id ? -1 : 1));

/** The revisions that a row belongs to: those with a handshake, unless it begins with the one that has none. */
function revisionsOf({ since, before }: Demand): readonly Revision[] {
  if (since === modern) return [since];
  return revisions.filter(
    (revision) =>
      (since === undefined || revision >= since) && (before === undefined || revision < before),
  );
}

/** What the tests of a row must be run for; nothing if once is enough. */
export function combinationsOf(row: Demand): readonly Partial<Combination>[] {
  if (row.apart !== undefined || row.by === undefined) return [];
  const transports = row.over === 'bytes' ? byteTransports : transportNames;
  if (row.by === 'transport' && row.since !== modern) {
    return transports.map((transport) => ({ transport }));
  }
  if (row.by === 'revision') return revisionsOf(row).map((revision) => ({ revision }));
  return revisionsOf(row).flatMap((revision) =>
    transports.map((transport) => ({ revision, transport })),
  );
}
