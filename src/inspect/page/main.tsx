/**
 * The inspector's page: updates come in, what is drawn is brought up to date, keys choose what is
 * looked at.
 */
import { render } from 'preact';
import { createActor } from 'xstate';
import { App, sessionView } from './app.tsx';
import { mostUrgent } from './attention.ts';
import { drawings } from './charts.tsx';
import { connect } from './connection.ts';
import { Model, nextOf } from './model.ts';
import { pageMachine } from './page.machine.ts';
import type { PageMachineEvent } from './page.machine.ts';
import { choose, moveBy } from './timeline.tsx';
import type { SessionView, View } from './view.ts';

/** Between two looks at ages that grow by themselves, milliseconds. */
const ageIntervalMs = 250;

const model = new Model();
const page = createActor(
  pageMachine.provide({
    actions: {
      apply: (_, { updates }) => updates.forEach((update) => model.apply(update)),
      countMissed: () => {
        model.missed += 1;
      },
    },
  }),
).start();
const send = (event: PageMachineEvent) => page.send(event);
const place = document.querySelector('#page') as HTMLElement;

/** Ages stand still while the page does. */
let now = performance.now();
let drawing: number | undefined;

const view = (): View => ({ page: page.getSnapshot(), model, send, now });

function draw(): void {
  drawing = undefined;
  render(<App {...view()} />, place);
}

/** Once for everything that happens until the browser draws. */
function drawSoon(): void {
  drawing ??= requestAnimationFrame(draw);
}

function grow(): void {
  const { connection, view: follows } = page.getSnapshot().value;
  if (connection !== 'live' || follows !== 'following') return;
  now = performance.now();
  drawSoon();
}

page.subscribe(drawSoon);
connect({
  update: (update) => {
    send({ type: 'update.received', update });
    const sessions = [...model.sessions.values()];
    const open = sessions.filter(({ closed }) => closed === undefined).map(({ id }) => id);
    send({ type: 'sessions.seen', urgent: mostUrgent(sessions)?.id, open });
    grow();
  },
  opened: () => send({ type: 'updates.opened' }),
  lost: () => send({ type: 'updates.lost' }),
  ended: () => send({ type: 'updates.ended' }),
});
setInterval(grow, ageIntervalMs);

const chooseNthChart = (at: number) => () => {
  const name = [...drawings.keys()][at];
  if (name !== undefined) send({ type: 'chart.choose', name });
};

const keys: { readonly [key: string]: (shown: SessionView) => void } = {
  p: () => send({ type: 'pause.toggle' }),
  v: () => send({ type: 'timeline.turn' }),
  l: () => send({ type: 'chart.resize' }),
  f: () => send({ type: 'chart.follow' }),
  '/': () => (document.querySelector('#filter') as HTMLInputElement).select(),
  ArrowDown: (shown) => moveBy(shown, 1),
  ArrowUp: (shown) => moveBy(shown, -1),
  c: (shown) => {
    const { event } = shown.page.context;
    const next = event && nextOf(shown.session, event);
    if (next) choose(shown, next.seq);
  },
  s: ({ session }) => {
    const ids = [...model.sessions.keys()];
    const next = ids[(ids.indexOf(session.id) + 1) % ids.length];
    if (next !== undefined) send({ type: 'session.choose', id: next });
  },
  Escape: (shown) => choose(shown, undefined),
  ...Object.fromEntries([...drawings.keys()].map((_, at) => [`${at + 1}`, chooseNthChart(at)])),
};

/** Within the list of events. */
const listKeys: typeof keys = {
  Home: (shown) => moveBy(shown, -Infinity),
  End: (shown) => moveBy(shown, Infinity),
  PageUp: (shown) => moveBy(shown, -10),
  PageDown: (shown) => moveBy(shown, 10),
};

/** Elements with keys of their own. */
function isTaken(key: string, target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target.matches('input[type=search]')) return key !== 'Escape';
  return key.startsWith('Arrow') && target.closest('#present, #event') !== null;
}

document.addEventListener('keydown', (event) => {
  const { key, target } = event;
  if (event.ctrlKey || event.metaKey || event.altKey || isTaken(key, target)) return;
  const isInList = target instanceof Element && target.id === 'rows';
  const act = keys[key.length === 1 ? key.toLowerCase() : key] ?? (isInList && listKeys[key]);
  const shown = sessionView(view());
  if (!act || !shown) return;
  if (key === 'Escape' && target instanceof HTMLInputElement) target.blur();
  act(shown);
  if (key.startsWith('Arrow'))
    document.querySelector<HTMLElement>('#rows')?.focus({ preventScroll: true });
  event.preventDefault();
});
draw();
