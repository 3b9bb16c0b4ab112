/** Decides whether a run has succeeded, by errors, not by durations. */
import type { Results } from './results.ts';
import { floorName, ourName } from './servers.ts';

export interface Standard {
  /** True if failures of peers fail the run; otherwise they are findings. */
  readonly isStrict: boolean;
  /** CPU time and memory are only available on Linux (procfs). */
  readonly platform: NodeJS.Platform;
}

/** Faults of ours and the floor: failed measures, missing values, lost responses. */
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
