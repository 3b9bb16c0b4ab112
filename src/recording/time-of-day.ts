/** The time of day in a recorded session: it goes with the session's clock, so that a replay has the same. */
import type { RecordingHeader } from './format.ts';

/** ISO 8601. */
export function timeOfDayAt(start: Pick<RecordingHeader, 'at' | 'startedAt'>, now: number): string {
  return new Date(Date.parse(start.startedAt) + (now - start.at)).toISOString();
}
