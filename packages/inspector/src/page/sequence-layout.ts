/** Layout of a sequence diagram: lanes, arrows, states and open requests. */
import type { FrameEvent, PageEvent, TransitionEvent } from '../page-messages.ts';
import type { Row } from './model.ts';
import { formatCounts, isFault, nameOf, outcomeOf, shortenId } from './rows.ts';
import { timeOfDay } from './durations.ts';

/** Lanes from left to right: the peer first, then the parts of our side that talk to it. */
export const lanes = {
  server: ['client', 'session', 'roots', 'tools'],
  host: ['server', 'connection', 'lists', 'tools'],
} as const;
type Side = keyof typeof lanes;
export type Lane = (typeof lanes)[Side][number];

interface Placed {
  /** Baseline, pixels from the top. */
  readonly y: number;
  /** Text truncated to the available width. */
  readonly label: string;
  readonly labelX: number;
}

export type SequenceItem =
  | (Placed & {
      readonly kind: 'arrow';
      readonly event: FrameEvent;
      readonly fromX: number;
      readonly toX: number;
    })
  | (Placed & { readonly kind: 'state'; readonly event: PageEvent; readonly width: number })
  | (Placed & { readonly kind: 'counted'; readonly key: string });

/** Time between a request and its response, drawn on the lane that handles the request. */
export interface SequenceSpan {
  readonly seq: number;
  readonly x: number;
  readonly top: number;
  readonly bottom: number;
  readonly isOpen: boolean;
}

export interface SequenceLayout {
  readonly width: number;
  readonly height: number;
  readonly lanes: readonly { readonly name: Lane; readonly x: number }[];
  readonly items: readonly SequenceItem[];
  readonly spans: readonly SequenceSpan[];
  /** Time column; empty on narrow screens. */
  readonly times: readonly { readonly y: number; readonly text: string; readonly seq: string }[];
}

const step = 30;
const characterWidth = 6.7;
/** Minimum width for showing times, pixels. */
const roomForTimes = 560;
const timesWidth = 92;
const spanWidth = 7;
/** Maximum number of parallel spans per lane. */
const maxBeside = 5;

const toolTopics =
  /^(?:tools|prompts|resources|completion|elicitation|sampling|tasks|progress|message)\b/;

const listTopics = /^(?:\w+\/(?:templates\/)?list(?:_changed)?|subscriptions\/\w+)$/;

/** Lane of our side that an event belongs to. */
function laneOf(event: PageEvent, side: Side): Lane {
  return side === 'host' ? laneOfHost(event) : laneOfServer(event);
}

function laneOfHost(event: PageEvent): Lane {
  if (event.kind === 'transition') {
    return /(?:list|listening)$/.test(event.machine) ? 'lists' : 'connection';
  }
  const topic = event.method?.replace(/^notifications\//, '') ?? '';
  // `roots/list` asks for the host's own list, so it does not belong to the server's lists.
  if (listTopics.test(topic) && !topic.startsWith('roots/')) return 'lists';
  return toolTopics.test(topic) ? 'tools' : 'connection';
}

function laneOfServer(event: PageEvent): Lane {
  if (event.kind === 'transition') {
    if (event.machine === 'task') return 'tools';
    return event.machine === 'roots' ? 'roots' : 'session';
  }
  const topic = event.method?.replace(/^notifications\//, '') ?? '';
  if (topic.startsWith('roots/')) return 'roots';
  return toolTopics.test(topic) ? 'tools' : 'session';
}

/**
 * Lays out the rows from top to bottom.
 *
 * @param rows rows shown, oldest first
 * @param answered numbers of all answered requests, shown or not
 * @param width pixels
 * @param side our own side
 */
export function sequenceLayout(
  rows: readonly Row[],
  answered: ReadonlySet<number>,
  width: number,
  side: Side = 'server',
): SequenceLayout {
  const left = width >= roomForTimes ? timesWidth : 0;
  const names: readonly Lane[] = lanes[side];
  const gap = (width - left) / names.length;
  const placed = names.map((name, at) => ({ name, x: Math.round(left + gap * (at + 0.4)) }));
  const xOf = (lane: Lane) => placed[names.indexOf(lane)]?.x ?? 0;
  const places: Places = {
    peer: side === 'host' ? 'server' : 'client',
    laneOf: (event) => laneOf(event, side),
    xOf,
  };
  const yOf = (at: number) => (at + 1) * step - 6;
  const height = rows.length * step + 12;
  return {
    width,
    height,
    lanes: placed,
    items: rows.map((row, at) => itemOf(row, yOf(at), width, left, places)),
    spans: spansOf(rows, answered, height, places, yOf),
    times:
      left === 0
        ? []
        : rows.map((row, at) => ({ y: yOf(at), text: timeOfDay(row.at), seq: String(row.seq) })),
  };
}

/** Horizontal positions of the lanes. */
interface Places {
  readonly peer: Lane;
  laneOf(event: PageEvent): Lane;
  xOf(lane: Lane): number;
}

function itemOf(
  row: Row,
  y: number,
  width: number,
  left: number,
  { peer, laneOf: laneFor, xOf }: Places,
): SequenceItem {
  const fitting = (text: string, x: number) => {
    const room = Math.floor((width - x - 6) / characterWidth);
    return text.length > room ? `${text.slice(0, Math.max(0, room - 1))}…` : text;
  };
  if (row.kind === 'skipped') {
    const labelX = left + 8;
    return { kind: 'counted', key: row.seq, y, labelX, label: fitting(formatCounts(row), labelX) };
  }
  const x = xOf(laneFor(row));
  if (row.kind === 'transition') {
    const label = fitting(`${statePrefix(row)}${row.to}`, left + 16);
    const boxWidth = label.length * characterWidth + 16;
    const start = Math.max(left + 2, Math.min(x - boxWidth / 2, width - boxWidth - 2));
    return { kind: 'state', event: row, y, label, labelX: start + 8, width: boxWidth };
  }
  const peerX = xOf(peer);
  const [fromX, toX] = row.direction === 'in' ? [peerX, x] : [x, peerX];
  const labelX = peerX + 12;
  return { kind: 'arrow', event: row, y, fromX, toX, labelX, label: fitting(labelOf(row), labelX) };
}

/** Background rectangle that keeps span bars from crossing a label. */
export function labelBox({ label, labelX, y }: Placed) {
  return { x: labelX - 2, y: y - 16, width: label.length * characterWidth + 4, height: 14 };
}

/** Name prefix of a state label; empty for the main machine of a lane. */
function statePrefix({ machine, task = '' }: TransitionEvent): string {
  if (machine === 'task') return `task ${shortenId(task)}: `;
  return ['session', 'roots', 'connection'].includes(machine) ? '' : `${machine}: `;
}

function labelOf(event: FrameEvent): string {
  const { what, id, problem } = event;
  const called = `${nameOf(event)}${id === undefined ? '' : ` ${shortenId(id)}`}`;
  if (what === 'request' || what === 'notification') return called;
  const outcome = outcomeOf(event);
  return isFault(event) ? `${outcome}: ${problem ?? called}` : `${outcome} · ${called}`;
}

function spansOf(
  rows: readonly Row[],
  answered: ReadonlySet<number>,
  height: number,
  { peer, laneOf: laneFor, xOf }: Places,
  yOf: (at: number) => number,
): SequenceSpan[] {
  const ends = new Map<number, number>();
  rows.forEach((row, at) => {
    if (row.kind === 'frame' && row.answers !== undefined) ends.set(row.answers, yOf(at));
  });
  /** Bottom of the last span in each column, by lane. */
  const taken = new Map<Lane, number[]>();
  return rows.flatMap((row, at) => {
    if (row.kind !== 'frame' || row.what !== 'request') return [];
    const end = ends.get(row.seq);
    const isOpen = end === undefined;
    // The response exists but is filtered out.
    if (isOpen && answered.has(row.seq)) return [];
    const [top, bottom] = [yOf(at), end ?? height];
    const lane = row.direction === 'in' ? laneFor(row) : peer;
    const places = taken.get(lane) ?? [];
    taken.set(lane, places);
    const free = places.findIndex((busyUntil) => busyUntil <= top);
    const place = Math.min(free === -1 ? places.length : free, maxBeside - 1);
    places[place] = Math.max(places[place] ?? 0, bottom);
    const away = lane === peer ? -1 : 1;
    const x = xOf(lane) - spanWidth / 2 + away * place * (spanWidth - 2);
    return [{ seq: row.seq, x, top, bottom, isOpen }];
  });
}
