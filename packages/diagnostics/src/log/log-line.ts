/** The text of a log entry. */
import type { FactLevel } from '../../../../src/actors/facts.ts';
import { isJsonObject } from '../../../../src/protocol/classify.ts';
import { printable } from '../../../../src/protocol/printable.ts';
import { redact, redactText } from '../redaction.ts';

/** One entry of the log. */
export interface LogEntry {
  /** Milliseconds since 1970. */
  readonly time: number;
  readonly level: FactLevel;
  /** The fact's name. */
  readonly event: string;
  readonly message: string;
  /** The session's state at that time, such as `draining.flushing`, if there is a session. */
  readonly session?: string | undefined;
  readonly details?: { readonly [field: string]: unknown } | undefined;
}

/** Writes an entry as one line, with its line feed. */
export type LogForm = (entry: LogEntry) => string;

const maxMessage = 1000;
const maxDetails = 8000;

/**
 * One JSON object per line: `time`, `level`, `event`, `message`, and, if known, `session`,
 * `details`.
 */
export const jsonForm: LogForm = ({ time, level, event, message, session, details }) => {
  const head = {
    time: new Date(time).toISOString(),
    level,
    event,
    message: redactText(message, maxMessage),
    session,
  };
  return `${JSON.stringify({ ...head, details: boundedDetails(details) })}\n`;
};

/**
 * For people: the time of day, the level, the event, the state, the message; the stack of an error
 * and of its causes below it.
 */
export const humanForm: LogForm = ({ time, level, event, message, session, details }) => {
  const clock = new Date(time).toISOString().slice(11, 23);
  const state = session === undefined ? '' : ` [${session}]`;
  const { error, ...others } = details ?? {};
  const stack = stackLines(redact(error));
  const shown = stack.length > 0 ? others : details;
  const hasTail = shown && Object.keys(shown).length > 0;
  const tail = hasTail ? ` ${JSON.stringify(boundedDetails(shown))}` : '';
  const line = `${clock} ${level} ${event}${state} ${redactText(message, maxMessage)}${tail}`;
  // A client's text must not move the terminal's cursor.
  return [line, ...stack].map((text) => `${printable(text, Infinity)}\n`).join('');
};

/** The stack of an error, as {@link redact} has copied it, and those of its causes. */
function stackLines(error: unknown): readonly string[] {
  if (!isJsonObject(error) || typeof error['stack'] !== 'string') return [];
  const causes = stackLines(error['cause']).map((line) => `  ${line}`);
  return [...error['stack'].split('\n').map((line) => `    ${line}`), ...causes];
}

/** Bounds each value, and all together: many short values also make a long line. */
function boundedDetails(details: LogEntry['details']): unknown {
  if (details === undefined) return undefined;
  const clean = redact(details);
  const text = JSON.stringify(clean);
  if (text.length <= maxDetails) return clean;
  return `${text.slice(0, maxDetails)}… (${text.length - maxDetails} more)`;
}
