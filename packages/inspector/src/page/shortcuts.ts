/** The keyboard's shortcuts: what each does, and how the page lists it. */
import { chartOfKey } from './charts.tsx';
import { nextOf } from './model.ts';
import { choose, moveBy } from './timeline.tsx';
import { inOrder } from './view.ts';
import type { ShownSessionView } from './view.ts';

interface Shortcut {
  /** Each key, with what it does. */
  readonly keys: { readonly [key: string]: (shown: ShownSessionView) => void };
  /** What it does, for a person; undefined if the key does the same everywhere. */
  readonly what?: string;
  /** Whether it holds only while the list of events has the focus. */
  readonly inList?: true;
}

const rows = (): HTMLElement | null => document.querySelector('#rows');

function step(shown: ShownSessionView, by: number): void {
  moveBy(shown, by);
  rows()?.focus({ preventScroll: true });
}

const chartKeys = [1, 2, 3, 4, 5, 6, 7, 8, 9];

export const shortcuts: readonly Shortcut[] = [
  { keys: { P: ({ send }) => send({ type: 'pause.toggle' }) }, what: 'pause, go on' },
  {
    keys: { '/': () => (document.querySelector('#filter') as HTMLInputElement).select() },
    what: 'filter',
  },
  {
    keys: { ArrowUp: (shown) => step(shown, -1), ArrowDown: (shown) => step(shown, 1) },
    what: 'choose an event',
  },
  {
    keys: {
      Home: (shown) => step(shown, -Infinity),
      End: (shown) => step(shown, Infinity),
      PageUp: (shown) => step(shown, -10),
      PageDown: (shown) => step(shown, 10),
    },
    inList: true,
  },
  {
    keys: {
      C: (shown) => {
        const { event } = shown.page.context;
        const next = event && nextOf(shown.session, event);
        if (next) choose(shown, next.seq);
      },
    },
    what: 'to its cause or answer',
  },
  { keys: { V: ({ send }) => send({ type: 'timeline.turn' }) }, what: 'sequence diagram' },
  {
    keys: Object.fromEntries(
      chartKeys.map((key) => [
        `${key}`,
        (shown: ShownSessionView) => {
          const name = chartOfKey(shown, key);
          if (name !== undefined) shown.send({ type: 'chart.choose', name });
        },
      ]),
    ),
    what: 'charts',
  },
  { keys: { F: ({ send }) => send({ type: 'chart.follow' }) }, what: 'follow with the chart' },
  { keys: { W: ({ send }) => send({ type: 'chart.unfold' }) }, what: 'whole chart' },
  {
    keys: {
      S: ({ session, model, send }) => {
        const all = inOrder(model);
        const next = all[(all.indexOf(session) + 1) % all.length];
        if (next) send({ type: 'session.choose', id: next.id });
      },
    },
    what: 'next in the list',
  },
  { keys: { Escape: (shown) => choose(shown, undefined) }, what: 'choose nothing' },
];

/** Does what the pressed key is for, unless the focused element has a use of its own for it. */
export function press(event: KeyboardEvent, shown: ShownSessionView): void {
  const { target, ctrlKey, metaKey, altKey } = event;
  const key = event.key.length === 1 ? event.key.toUpperCase() : event.key;
  if (ctrlKey || metaKey || altKey || isTaken(key, target)) return;
  const isInList = target === rows();
  const shortcut = shortcuts.find(({ keys, inList }) => key in keys && (!inList || isInList));
  if (!shortcut) return;
  if (key === 'Escape' && target instanceof HTMLInputElement) target.blur();
  shortcut.keys[key]?.(shown);
  event.preventDefault();
}

/** What is typed into the filter is the filter's, and arrows scroll what can be scrolled. */
function isTaken(key: string, target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target.matches('input[type=search]')) return key !== 'Escape';
  return key.startsWith('Arrow') && target.closest('#present, #event') !== null;
}
