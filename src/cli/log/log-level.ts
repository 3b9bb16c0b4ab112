/** How much is logged. */
import type { FactLevel } from '../../actors/facts.ts';

/** From the most to the least; `silent` logs nothing. */
export const logLevels = ['debug', 'info', 'warning', 'error', 'silent'] as const;

export type LogLevel = (typeof logLevels)[number];

/** True where a fact of level `level` is logged by a log of level `threshold`. */
export function isLogged(level: FactLevel, threshold: LogLevel): boolean {
  return logLevels.indexOf(level) >= logLevels.indexOf(threshold);
}
