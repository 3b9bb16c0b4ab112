/** Keyboard shortcuts of the page. */
import { chartOfKey } from './charts.tsx';
import { nextOf } from './model.ts';
import { choose, moveBy } from './timeline.tsx';
import { inOrder } from './view.ts';
import type { ShownSessionView } from './view.ts';

interface Shortcut {
  /** Actions by key. */
  readonly keys: { readonly [key: string]: (shown: ShownSessionView) => void };
  /** Description shown on the page; undefined for standard keys. */
  readonly what?: string;
  /** True if the shortcut only applies while the list of events has the focus. */
  readonly inList?: true;
}

const rows = (): HTMLElement | null => document.querySelector('#rows');

function step(shown: ShownSessionView, by: number): void {
  moveBy(shown, by);
  rows()?.focus({ preventScroll: true });
}

const chartKeys = [1, 2, 3, 4, 5, 6, 7, 8, 9];

export const shortcuts: readonly Shortcut[] = [
  { keys: { P: ({ send }) => send({ type: 'pause.toggle' }) }, what: 'pause, resume' },
  {
    keys: { '/': () => (document.querySelector('#filter') as HTMLInputElement).select() },
    what: 'filter',
  },
  {
    keys: { ArrowUp: (shown) => step(shown, -1), ArrowDown: (shown) => step(shown, 1) },
    what: 'select an event',
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
    what: 'go to its cause or response',
  },
  { keys: { V: ({ send }) => send({ type: 'timeline.toggle' }) }, what: 'sequence diagram' },
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
  { keys: { F: ({ send }) => send({ type: 'chart.follow' }) }, what: 'follow the current chart' },
  { keys: { W: ({ send }) => send({ type: 'chart.unfold' }) }, what: 'whole chart' },
  {
    keys: {
      S: ({ session, model, send }) => {
        const all = inOrder(model);
        const next = all[(all.indexOf(session) + 1) % all.length];
        if (next) send({ type: 'session.choose', id: next.id });
      },
    },
    what: 'next session',
  },
  { keys: { Escape: (shown) => choose(shown, undefined) }, what: 'clear selection' },
];

/** Runs the shortcut of a pressed key unless the focused element uses the key itself. */
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

/**
 * True if the focused element uses the key: text typed into a search field, and arrow keys in
 * scrollable areas.
 */
function isTaken(key: string, target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target.matches('input[type=search]')) return key !== 'Escape';
  return key.startsWith('Arrow') && target.closest('#present, #event') !== null;
}
