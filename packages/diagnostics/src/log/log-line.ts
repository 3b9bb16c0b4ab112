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
  /** Name of the fact. */
  readonly event: string;
  readonly message: string;
  /** State of the session, such as `draining.flushing`; undefined without a session. */
  readonly session?: string | undefined;
  readonly details?: { readonly [field: string]: unknown } | undefined;
}

/** Formats an entry as one line with a line feed. */
export type LogForm = (entry: LogEntry) => string;

const maxMessage = 1000;
const maxDetails = 8000;

/**
 * Formats an entry as a JSON object: `time`, `level`, `event`, `message`, and `session` and `details` if known.
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
 * Formats an entry for people: time, level, event, state and message, followed by the stacks of an error and its causes.
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
  // Escape client text, which must not move the terminal's cursor.
  return [line, ...stack].map((text) => `${printable(text, Infinity)}\n`).join('');
};

/** Stacks of an error copied by {@link redact}, and of its causes. */
function stackLines(error: unknown): readonly string[] {
  if (!isJsonObject(error) || typeof error['stack'] !== 'string') return [];
  const causes = stackLines(error['cause']).map((line) => `  ${line}`);
  return [...error['stack'].split('\n').map((line) => `    ${line}`), ...causes];
}

/** Limits each value and their total length, because many short values also make a long line. */
function boundedDetails(details: LogEntry['details']): unknown {
  if (details === undefined) return undefined;
  const clean = redact(details);
  const text = JSON.stringify(clean);
  if (text.length <= maxDetails) return clean;
  return `${text.slice(0, maxDetails)}… (${text.length - maxDetails} more)`;
}
