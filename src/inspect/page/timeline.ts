/** The timeline: rows of what passed, filtered, one of them chosen. */
import type { PageEvent } from '../page-messages.ts';
import { byId, element, setAttribute, setText, shortId } from './dom.ts';
import { duration, timeOfDay } from './durations.ts';
import { ownerOf } from './model.ts';
import type { Model, Row, ShownSession } from './model.ts';

/** Rows that are drawn at once. */
const maxDrawn = 400;

export class Timeline {
  readonly #model: Model;
  readonly #choose: (event: PageEvent | undefined) => void;
  readonly #rows = byId('rows');
  readonly #filter = byId('filter') as HTMLInputElement;
  readonly #drawn = new Map<string, { readonly element: HTMLElement; readonly row: Row }>();
  #session: ShownSession | undefined;
  #chosen: number | undefined;
  /** The last row that was looked at, drawn or not. */
  #lastSeen: Row | undefined;

  constructor(model: Model, choose: (event: PageEvent | undefined) => void) {
    this.#model = model;
    this.#choose = choose;
    this.#filter.addEventListener('input', () => this.#redraw());
    for (const box of document.querySelectorAll('input[name=show]')) {
      box.addEventListener('change', () => this.#redraw());
    }
    this.#rows.addEventListener('click', ({ target }) => {
      const row = target instanceof Element ? target.closest('[role=option]') : null;
      if (row instanceof HTMLElement && row.dataset['seq']) this.choose(Number(row.dataset['seq']));
    });
    this.#rows.addEventListener('keydown', (event) => {
      const far = { Home: -Infinity, End: Infinity, PageUp: -10, PageDown: 10 }[event.key];
      if (far === undefined) return;
      this.move(far);
      event.preventDefault();
    });
  }

  get chosen(): number | undefined {
    return this.#chosen;
  }

  focusFilter(): void {
    this.#filter.focus();
    this.#filter.select();
  }

  show(session: ShownSession): void {
    if (session !== this.#session) {
      this.#session = session;
      this.#chosen = undefined;
      this.#redraw();
      return;
    }
    const { rows } = session;
    const from = this.#lastSeen === undefined ? 0 : rows.lastIndexOf(this.#lastSeen) + 1;
    // What was seen last has been let go meanwhile: everything is new.
    if (from === 0 && this.#lastSeen !== undefined) this.#redraw();
    else this.#append(rows.slice(from));
  }

  choose(seq: number | undefined): void {
    this.#mark(this.#chosen, false);
    this.#chosen = seq;
    this.#mark(seq, true);
    const session = this.#session;
    this.#choose(session && this.#model.find(session, seq));
  }

  /** Chooses the row so many further down, among those that are drawn. */
  move(step: number): void {
    const events = [...this.#drawn.values()].filter(({ row }) => row.kind !== 'skipped');
    const at = events.findIndex(({ row }) => row.seq === this.#chosen);
    const from = at === -1 ? (step > 0 ? -1 : events.length) : at;
    const next = events[Math.max(0, Math.min(events.length - 1, from + step))];
    if (!next) return;
    this.choose(next.row.seq as number);
    this.#rows.focus({ preventScroll: true });
    next.element.scrollIntoView({ block: 'nearest' });
  }

  #redraw(): void {
    this.#rows.replaceChildren();
    this.#drawn.clear();
    this.#append(this.#session?.rows ?? []);
  }

  #append(rows: readonly Row[]): void {
    const { scrollHeight, scrollTop, clientHeight } = this.#rows;
    const isAtEnd = scrollHeight - scrollTop - clientHeight < 40;
    this.#lastSeen = this.#session?.rows.at(-1);
    const wanted = rows.filter(this.#isWanted()).slice(-maxDrawn);
    for (const row of wanted) this.#draw(row);
    while (this.#drawn.size > maxDrawn) {
      for (const [key, { element: oldest }] of this.#drawn) {
        oldest.remove();
        this.#drawn.delete(key);
        break;
      }
    }
    if (wanted.length > 0 && isAtEnd) this.#rows.scrollTop = this.#rows.scrollHeight;
    this.#note();
  }

  #draw(row: Row): void {
    const made = row.kind === 'skipped' ? skippedRow(row) : this.#eventRow(row);
    this.#rows.append(made);
    this.#drawn.set(String(row.seq), { element: made, row });
    if (row.seq === this.#chosen) this.#mark(this.#chosen, true);
  }

  #eventRow(event: PageEvent): HTMLElement {
    const { seq, at } = event;
    const time = timeOfDay(at);
    const row = (kind: string, words: string, ...cells: readonly HTMLElement[]) =>
      element(
        'div',
        {
          class: `row ${kind}`,
          role: 'option',
          id: `row-${seq}`,
          'data-seq': String(seq),
          'aria-selected': 'false',
          'aria-label': `${time} ${words}`,
        },
        element('time', {}, time),
        ...cells,
      );
    if (event.kind === 'transition') {
      const { machine, task, from, to, cause } = event;
      return row(
        task === undefined ? 'transition' : 'transition of-task',
        `transition of ${ownerOf(event)} from ${from} to ${to} by ${cause}`,
        element('span', { class: 'arrow' }, '◆'),
        element('span', { class: 'method' }, `${machine}: ${from} → ${to}`),
        ...(task === undefined ? [] : [shortId(task)]),
        element('span', { class: 'what' }, cause),
      );
    }
    const { direction, what, method = what, id } = event;
    const request = this.#session && this.#model.find(this.#session, event.answers);
    const took = request ? ` · ${duration(at - request.at)}` : '';
    const way = direction === 'in' ? 'from the client' : 'to the client';
    return row(
      `${direction} ${what}`,
      `${way}: ${method} ${id ?? ''} ${what}${took}`,
      element('span', { class: 'arrow', title: way }, direction === 'in' ? '→' : '←'),
      element('span', { class: 'method' }, method),
      id === undefined ? element('span') : shortId(id),
      element('span', { class: 'what' }, `${what}${took}`),
    );
  }

  #mark(seq: number | undefined, isChosen: boolean): void {
    const row = this.#drawn.get(String(seq))?.element;
    if (row) setAttribute(row, 'aria-selected', String(isChosen));
    if (isChosen && row) setAttribute(this.#rows, 'aria-activedescendant', row.id);
    else this.#rows.removeAttribute('aria-activedescendant');
  }

  /** Every word has to occur, and none of those with a dash before them. */
  #isWanted(): (row: Row) => boolean {
    const words = this.#filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    const kinds = new Set(
      [...document.querySelectorAll<HTMLInputElement>('input[name=show]:checked')].map(
        ({ value }) => value,
      ),
    );
    return (row) => {
      // What is not shown has no text to be found by.
      if (row.kind === 'skipped') return words.length === 0;
      const kind = row.kind === 'transition' ? 'transition' : row.direction;
      if (!kinds.has(kind)) return false;
      const text = textOf(row);
      return words.every((word) =>
        word.length > 1 && word.startsWith('-')
          ? !text.includes(word.slice(1))
          : text.includes(word),
      );
    };
  }

  #note(): void {
    const { rows = [], dropped = 0 } = this.#session ?? {};
    if (rows.length === 0) return;
    const shown = `${this.#drawn.size} of ${rows.length} rows shown`;
    const gone = dropped > 0 ? `; ${dropped} older ones were let go` : '';
    const missed =
      this.#model.missed > 0 ? `; ${this.#model.missed} updates did not reach this page` : '';
    setText(
      byId('timeline-note'),
      `${shown}${gone}${missed}. Of a flood, the first of each kind are shown and the rest is counted.`,
    );
  }
}

function textOf(row: PageEvent): string {
  const words =
    row.kind === 'transition'
      ? [row.machine, row.task, row.from, row.to, row.cause, row.event]
      : [row.direction, row.what, row.method, row.id === undefined ? '' : `#${row.id}`, row.frame];
  return words.join(' ').toLowerCase();
}

function skippedRow({ at, counts }: Extract<Row, { readonly kind: 'skipped' }>): HTMLElement {
  const all = counts.reduce((sum, { count }) => sum + count, 0);
  const list = counts
    .map(({ direction, label, count }) => `${direction === 'in' ? '→' : '←'} ${label} ×${count}`)
    .join(', ');
  return element(
    'div',
    { class: 'row skipped', role: 'option', 'aria-disabled': 'true', 'aria-selected': 'false' },
    element('time', {}, timeOfDay(at)),
    element('span', { class: 'arrow' }, '⋯'),
    element('span', { class: 'method' }, `${all} more, only counted: ${list}`),
  );
}
