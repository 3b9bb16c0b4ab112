/** Entry of the page's script: applies updates, redraws, and handles keys. */
import { render } from 'preact';
import { createActor } from 'xstate';
import { App, pageTitleOf } from './app.tsx';
import { isUrgent, mostUrgent } from './attention.ts';
import { connectPage } from './connection.ts';
import { Model } from './model.ts';
import { pageMachine } from './page.machine.ts';
import type { PageMachineEvent } from './page.machine.ts';
import { press } from './shortcuts.ts';
import { shownSessionView } from './view.ts';
import type { View } from './view.ts';

/** Interval for refreshing the displayed ages, ms. */
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
const container = document.querySelector('#page') as HTMLElement;

/** Reference time of displayed ages; frozen while the page is paused. */
let now = performance.now();
let drawing: number | undefined;

const view = (): View => ({ page: page.getSnapshot(), model, send, now });

function draw(): void {
  drawing = undefined;
  render(<App {...view()} />, container);
  const title = pageTitleOf(view());
  if (document.title !== title) document.title = title;
}

/** Coalesces redraws into one per animation frame. */
function drawSoon(): void {
  drawing ??= requestAnimationFrame(draw);
}

function refreshAges(): void {
  const { connection, view: follows } = page.getSnapshot().value;
  if (connection !== 'live' || follows !== 'following') return;
  now = performance.now();
  drawSoon();
}

page.subscribe(drawSoon);
connectPage({
  update: (update) => {
    send({ type: 'update.received', update });
    const sessions = [...model.sessions.values()];
    const open = sessions.filter(({ closed }) => closed === undefined);
    const calm = open.filter((session) => !isUrgent(session));
    const idsOf = (some: typeof open) => some.map(({ id }) => id);
    const urgent = mostUrgent(sessions)?.id;
    send({ type: 'sessions.seen', urgent, open: idsOf(open), calm: idsOf(calm) });
    refreshAges();
  },
  opened: () => send({ type: 'updates.opened' }),
  lost: () => send({ type: 'updates.lost' }),
  ended: () => send({ type: 'updates.ended' }),
});
setInterval(refreshAges, ageIntervalMs);

document.addEventListener('keydown', (event) => {
  const shown = shownSessionView(view());
  if (shown) press(event, shown);
});
draw();
