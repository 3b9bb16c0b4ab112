/** Whether a run has succeeded: not by how long anything took, but by what was done wrong. */
import type { Results } from './results.ts';
import { floorName, ourName } from './servers.ts';

export interface Standard {
  /** True if a peer may not fail either; by default that is a finding. */
  readonly isStrict: boolean;
  /** Processor time and memory come from procfs, which only Linux has. */
  readonly platform: NodeJS.Platform;
}

/** What ours and the floor did wrong: a measure that failed, one that has no value, answers that were lost. */
export function faultsOf(
  { rows, failures }: Pick<Results, 'rows' | 'failures'>,
  { isStrict, platform }: Standard,
): readonly string[] {
  const isJudged = (server: string) => isStrict || server === floorName || server === ourName;
  return [
    ...failures
      .filter(({ server }) => isJudged(server))
      .map(({ server, measure, failure }) => `${server} failed ${measure}: ${failure}`),
    ...rows.flatMap(({ key, unit, cells }) =>
      cells.flatMap(({ server, value, failure, applies }) => {
        if (!isJudged(server) || failure !== undefined || !applies) return [];
        if (value === undefined) return platform === 'linux' ? [`${server} has no ${key}`] : [];
        return unit === 'lost' && value > 0 ? [`${server} lost ${value} answers`] : [];
      }),
    ),
  ];
}
