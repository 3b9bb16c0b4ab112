/** Text of the timeline's rows, and filtering. */
import { Method } from 'mcp-actors/internal';
import type { FrameEvent, PageDump, PageEvent, TransitionEvent } from '../page-messages.ts';
import { durationText } from './durations.ts';
import type { Row, SkippedEvents } from './model.ts';
import type { RowKind } from './page.machine.ts';

/** UUID suffix that our ids carry after their number. */
const uuid = /(?<=.-)[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Shortens a request or task id: `#7`, `#s-1`, `#4f0c1d2e…`. */
export function shortenId(id: string | number): string {
  const text = String(id)
    .replace(uuid, '')
    .replace(/(?<=\d)-$/, '');
  return `#${text.length > 12 ? `${text.slice(0, 8)}…` : text}`;
}

/** Shortens a state name to fit a button; several parallel states become `running + kept`. */
export function shortenState(state: string): string {
  const parts = state.split(',');
  return parts.length === 1 ? state : parts.map((each) => each.split('.').at(-1)).join(' + ');
}

/** One-line name: `tools/call search_text`, `roots: known → querying.fresh`. */
export function nameOf(event: PageEvent): string {
  if (event.kind === 'transition') return `${event.machine}: ${event.from} → ${event.to}`;
  const { method, what, subject } = event;
  return subject === undefined ? (method ?? what) : `${method ?? what} ${subject}`;
}

/** Kind of message and response time: `result · 12 ms`, `tool error · 3 ms`. */
export function outcomeOf(event: FrameEvent): string {
  const { what, problem, tookMs } = event;
  const isToolError = what === 'result' && problem !== undefined;
  const kind = isToolError ? 'tool error' : isRefusedProbe(event) ? 'refused: legacy' : what;
  return tookMs === undefined ? kind : `${kind} · ${durationText(tookMs)}`;
}

/** A legacy server answers `server/discover` with an error. That is expected, not a fault. */
function isRefusedProbe({ direction, what, method }: FrameEvent): boolean {
  return direction === 'in' && what === 'error' && method === Method.discover;
}

export function isFault(event: PageEvent): boolean {
  if (event.kind === 'transition' || isRefusedProbe(event)) return false;
  return event.problem !== undefined || event.what === 'error' || event.what === 'invalid';
}

/** Link text of an event: `result of tools/call search_text #7`. */
export function titleOf(event: PageEvent): string {
  const name = nameOf(event);
  if (event.kind === 'transition') return name;
  const isAnswer = event.what === 'result' || event.what === 'error';
  const id = event.id === undefined ? '' : ` #${event.id}`;
  return `${isAnswer ? `${event.what} of ` : ''}${name}${id}`;
}

/** Role of the peer. */
export function peerLine({ side }: Pick<PageDump, 'side'>): 'client' | 'server' {
  return side === 'host' ? 'server' : 'client';
}

/** Accessible label of an event. */
export function accessibleLabel(event: PageEvent, peer: 'client' | 'server'): string {
  if (event.kind === 'transition') return `transition of ${formatTransition(event)}`;
  const way = `${event.direction === 'in' ? 'from' : 'to'} the ${peer}`;
  const problem = event.problem === undefined ? '' : `: ${event.problem}`;
  return `${way}: ${nameOf(event)} ${event.id ?? ''} ${outcomeOf(event)}${problem}`;
}

function formatTransition({ machine, task = '', from, to, cause }: TransitionEvent): string {
  return `${machine} ${task} from ${from} to ${to} by ${cause}`;
}

/** Formats counted events: `12 more, only counted: → ping ×12`. */
export function formatCounts({ counts }: SkippedEvents): string {
  const all = counts.reduce((sum, { count }) => sum + count, 0);
  const list = counts.map(
    ({ direction, label, count }) => `${direction === 'in' ? '→' : '←'} ${label} ×${count}`,
  );
  return `${all} more, only counted: ${list.join(', ')}`;
}

/**
 * Filters rows.
 *
 * @param filter words that must all occur; a word with a leading dash must not occur
 */
export function wantedRows(
  rows: readonly Row[],
  filter: string,
  kinds: readonly RowKind[],
): readonly Row[] {
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
  const isWord = (word: string) => !(word.length > 1 && word.startsWith('-'));
  const [present, absent] = [words.filter(isWord), words.filter((word) => !isWord(word))];
  return rows.filter((row) => {
    // Counted events have no text to match.
    if (row.kind === 'skipped') return words.length === 0;
    if (!kinds.includes(row.kind === 'transition' ? 'transition' : row.direction)) return false;
    if (words.length === 0) return true;
    const text = searchedText(row);
    return (
      present.every((word) => text.includes(word)) &&
      !absent.some((word) => text.includes(word.slice(1)))
    );
  });
}

function searchedText(event: PageEvent): string {
  const words =
    event.kind === 'transition'
      ? [event.machine, event.task, event.from, event.to, event.cause, event.event]
      : [event.direction, titleOf(event), outcomeOf(event), event.problem, event.frame];
  return words.join(' ').toLowerCase();
}
