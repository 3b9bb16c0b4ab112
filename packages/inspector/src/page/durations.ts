/** Formatting of durations and times. */

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;

/**
 * Formats a duration: `340 ms`, `2.4 s`, `9 min 48 s`, `3 h 5 min`. Negative durations become 0.
 */
export function durationText(ms: number): string {
  if (ms < second) return `${Math.max(0, Math.round(ms))} ms`;
  if (ms < minute) return `${(ms / second).toFixed(1)} s`;
  if (ms < hour) return `${Math.floor(ms / minute)} min ${Math.floor((ms % minute) / second)} s`;
  return `${Math.floor(ms / hour)} h ${Math.floor((ms % hour) / minute)} min`;
}

/** Formats a local time: `14:03:07.250`. */
export function timeOfDay(at: number): string {
  const date = new Date(at);
  const digits = (value: number, width: number) => String(value).padStart(width, '0');
  const [h, m, s] = [date.getHours(), date.getMinutes(), date.getSeconds()];
  return `${digits(h, 2)}:${digits(m, 2)}:${digits(s, 2)}.${digits(date.getMilliseconds(), 3)}`;
}
