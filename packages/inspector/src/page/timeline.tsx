/** Timeline panel: filtered events as rows or as a sequence diagram, with one selected. */
import { useLayoutEffect, useMemo, useRef } from 'preact/hooks';
import type { PageEvent } from '../page-messages.ts';
import { timeOfDay } from './durations.ts';
import { eventOf, transitionOf } from './model.ts';
import type { Row } from './model.ts';
import { rowKinds } from './page.machine.ts';
import type { RowKind } from './page.machine.ts';
import {
  formatCounts,
  isFault,
  nameOf,
  outcomeOf,
  peerLine,
  shortenId,
  accessibleLabel,
  wantedRows,
} from './rows.ts';
import { Sequence, saveSequence } from './sequence.tsx';
import type { ShownSessionView } from './view.ts';

/** Maximum number of rows drawn. */
const maxDrawn = 400;
/** Distance from the end within which a list counts as scrolled to the end, pixels. */
const nearEnd = 40;

const kindNames = { in: '→ in', out: '← out', transition: '◆ states' } as const;

/** Label of a kind of row. */
function formatKind(kind: RowKind, peer: 'client' | 'server'): string {
  if (kind === 'transition') return 'transitions';
  return `${kind === 'in' ? 'from' : 'to'} the ${peer}`;
}

/** The newest rows that match the filter. */
function drawnRows({ page, session }: ShownSessionView): readonly Row[] {
  const { filter, kinds } = page.context;
  return wantedRows(session.rows, filter, kinds).slice(-maxDrawn);
}

export function TimelinePanel(view: ShownSessionView) {
  const { page, send, session } = view;
  const { filter, kinds, event: chosen } = page.context;
  const peer = peerLine(session.dump);
  const rows = useMemo(() => drawnRows(view), [session.rows, filter, kinds]);
  const isList = page.hasTag('asList');
  const box = useRef<HTMLDivElement>(null);
  const isAtEnd = useRef(true);
  useLayoutEffect(() => {
    const { current } = box;
    if (current && isAtEnd.current) current.scrollTop = current.scrollHeight;
  }, [rows, isList]);
  useLayoutEffect(() => {
    if (chosen) document.getElementById(`row-${chosen.seq}`)?.scrollIntoView({ block: 'nearest' });
  }, [chosen, isList]);
  const seq = chosen?.seq;
  const content = useMemo(
    () =>
      isList
        ? rows.map((row) => (
            <TimelineRow key={row.seq} row={row} isChosen={row.seq === seq} peer={peer} />
          ))
        : undefined,
    [rows, seq, isList],
  );
  const scrolled = () => {
    const { current } = box;
    if (!current) return;
    const { scrollHeight, scrollTop, clientHeight } = current;
    isAtEnd.current = scrollHeight - scrollTop - clientHeight < nearEnd;
  };
  return (
    <section id="timeline" class="panel" aria-labelledby="timeline-title">
      <header>
        <h2 id="timeline-title">Timeline</h2>
        <input
          id="filter"
          type="search"
          value={filter}
          aria-label="Filter"
          placeholder="Filter: method, tool, id, text; -word leaves out"
          autocomplete="off"
          spellcheck={false}
          aria-keyshortcuts="/"
          onInput={({ currentTarget }) =>
            send({ type: 'filter.change', text: currentTarget.value })
          }
        />
        <fieldset>
          <legend class="visually-hidden">Show</legend>
          {rowKinds.map((kind) => (
            <label key={kind} title={formatKind(kind, peer)}>
              <input
                type="checkbox"
                value={kind}
                aria-label={formatKind(kind, peer)}
                checked={kinds.includes(kind)}
                onChange={() => send({ type: 'kind.toggle', kind })}
              />
              {` ${kindNames[kind]}`}
            </label>
          ))}
        </fieldset>
        <span class="tools">
          <button
            id="sequence"
            type="button"
            aria-pressed={!isList}
            aria-keyshortcuts="v"
            onClick={() => send({ type: 'timeline.toggle' })}
          >
            Sequence
          </button>
          {!isList && (
            <button id="save" type="button" onClick={() => saveSequence(rows, session)}>
              Save SVG
            </button>
          )}
        </span>
      </header>
      <div
        id="rows"
        ref={box}
        role={rows.length > 0 ? 'listbox' : 'group'}
        tabIndex={0}
        aria-label="Events, oldest first"
        aria-describedby="timeline-note"
        aria-activedescendant={rows.some((row) => row.seq === seq) ? `row-${seq}` : undefined}
        onScroll={scrolled}
        onClick={({ target }) => choose(view, clickedSeq(target))}
      >
        {content ?? <Sequence rows={rows} session={session} chosen={seq} />}
      </div>
      <p id="timeline-note" class="note">
        {noteOf(view, rows.length)}
      </p>
    </section>
  );
}

/** Selects an event by its number, together with the transition it is or caused. */
export function choose({ send, session }: ShownSessionView, seq: number | undefined): void {
  const event = eventOf(session, seq);
  if (event || seq === undefined) {
    send({ type: 'event.choose', event, moved: transitionOf(session, event) });
  }
}

/** Chooses the event so many further down, among those that are drawn. */
export function moveBy(view: ShownSessionView, step: number): void {
  const events = drawnRows(view).filter((row): row is PageEvent => row.kind !== 'skipped');
  const at = events.findIndex(({ seq }) => seq === view.page.context.event?.seq);
  const from = at === -1 ? (step > 0 ? -1 : events.length) : at;
  const next = events[Math.max(0, Math.min(events.length - 1, from + step))];
  if (next) choose(view, next.seq);
}

function clickedSeq(target: EventTarget | null): number {
  const row = target instanceof Element ? target.closest('[data-seq]') : null;
  return Number(row?.getAttribute('data-seq') ?? Number.NaN);
}

interface TimelineRowProps {
  readonly row: Row;
  readonly isChosen: boolean;
  readonly peer: 'client' | 'server';
}

function TimelineRow({ row, isChosen, peer }: TimelineRowProps) {
  const time = timeOfDay(row.at);
  if (row.kind === 'skipped') {
    return (
      <div class="row skipped" role="option" aria-disabled="true" aria-selected={false}>
        <time>{time}</time>
        <span class="way">⋯</span>
        <span class="words">{formatCounts(row)}</span>
      </div>
    );
  }
  const kind = row.kind === 'transition' ? 'transition' : `${row.direction} ${row.what}`;
  const id = row.kind === 'transition' ? row.task : row.id;
  return (
    <div
      class={`row ${kind}${isFault(row) ? ' fault' : ''}${id === undefined ? ' without-id' : ''}`}
      role="option"
      id={`row-${row.seq}`}
      data-seq={row.seq}
      aria-selected={isChosen}
      aria-label={`${time} ${accessibleLabel(row, peer)}`}
    >
      <time>{time}</time>
      <span class="way">
        {row.kind === 'transition' ? '◆' : row.direction === 'in' ? '→' : '←'}
      </span>
      <span class="words" title={nameOf(row)}>
        {nameOf(row)}
      </span>
      {id !== undefined && (
        <span class="id" title={String(id)}>
          {shortenId(id)}
        </span>
      )}
      <span class="what">{row.kind === 'transition' ? row.cause : outcomeOf(row)}</span>
      {row.kind === 'frame' && row.problem !== undefined && (
        <span class="problem" title={row.problem}>
          {row.problem}
        </span>
      )}
    </div>
  );
}

function noteOf({ session, model }: ShownSessionView, drawn: number): string {
  const { rows, dropped } = session;
  if (rows.length === 0)
    return 'No events yet. Recording starts when the page opens; unanswered requests are included.';
  return [
    `${drawn} of ${rows.length} rows`,
    ...(dropped > 0 ? [`${dropped} older rows dropped`] : []),
    ...(model.missed > 0 ? [`${model.missed} updates missed by this page`] : []),
    ...(rows.some(({ kind }) => kind === 'skipped') ? ['excess messages are only counted'] : []),
  ].join('; ');
}
