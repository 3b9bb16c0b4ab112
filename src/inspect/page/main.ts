/**
 * The inspector's page: updates come in, the views are brought up to date, keys and clicks choose
 * what is looked at.
 */
import { createActor } from 'xstate';
import type { PageEvent, TransitionEvent } from '../page-messages.ts';
import { Charts } from './charts.ts';
import { connect } from './connection.ts';
import { nextOf, showDetail } from './detail.ts';
import { byId, element, setAttribute, setText } from './dom.ts';
import { showHeadline } from './headline.ts';
import { Model } from './model.ts';
import type { ShownSession } from './model.ts';
import { pageMachine } from './page.machine.ts';
import { Panels } from './panels.ts';
import { Timeline } from './timeline.ts';

/** Between two looks at ages that grow by themselves, milliseconds. */
const ageIntervalMs = 250;

const model = new Model();
const charts = new Charts();
const timeline = new Timeline(model, chosenIs);
const panels = new Panels((taskId) => {
  page.send({ type: 'task.choose', id: taskId });
  charts.show('task');
  show();
});
const pause = byId('pause');
const sessionList = byId('sessions') as HTMLSelectElement;

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
/** What was chosen. */
const chosen = () => page.getSnapshot().context;
page.subscribe(showConnection);

connect({
  update: (update) => {
    page.send({ type: 'update.received', update });
    if (page.getSnapshot().hasTag('moving')) show();
  },
  opened: () => page.send({ type: 'updates.opened' }),
  lost: () => page.send({ type: 'updates.lost' }),
});
setInterval(() => {
  const now = page.getSnapshot();
  if (now.hasTag('live') && now.hasTag('moving')) showAges();
}, ageIntervalMs);

function session(): ShownSession | undefined {
  const all = [...model.sessions.values()];
  return (
    all.find(({ id }) => id === chosen().session) ??
    all.findLast(({ closed }) => closed === undefined) ??
    all.at(-1)
  );
}

function show(): void {
  showSessions();
  const now = session();
  if (!now) return;
  if (!chosen().event) showDetail(model, now, undefined, () => {});
  timeline.show(now);
  showAges();
}

/** What changes with time alone too. */
function showAges(): void {
  const now = session();
  if (!now) return;
  const elapsedMs = now.closed === undefined ? performance.now() - now.dumpedAt : 0;
  showHeadline(now, elapsedMs);
  const { tasks } = now.dump;
  const moved = transitionOf(chosen().event, now);
  const chosenOne = tasks.find(({ taskId }) => taskId === chosen().task);
  // A task whose transition is looked at may be kept no longer: then no other is shown in its
  // place.
  const task = chosenOne ?? (moved?.task === undefined ? tasks[0] : undefined);
  panels.show(now.dump, elapsedMs, task?.taskId);
  charts.update(now, task, moved);
}

function transitionOf(
  event: PageEvent | undefined,
  now: ShownSession,
): TransitionEvent | undefined {
  if (event?.kind === 'transition') return event;
  return event && model.causedBy(now, event.seq)[0];
}

function chosenIs(event: PageEvent | undefined): void {
  const now = session();
  const moved = now && transitionOf(event, now);
  page.send({ type: 'event.choose', event, task: moved?.task });
  if (!now) return;
  showDetail(model, now, event, (seq) => timeline.choose(seq));
  if (moved) charts.show(moved.machine);
  showAges();
}

function showSessions(): void {
  const all = [...model.sessions.values()];
  byId('sessions-label').hidden = all.length < 2;
  const now = session();
  const texts = all.map(({ id, dump, closed }, at) => {
    const who = dump.client?.name ?? 'client unknown';
    return { id, text: `${at + 1}: ${who}${closed === undefined ? '' : ' (over)'}` };
  });
  if (sessionList.options.length !== texts.length) {
    sessionList.replaceChildren(
      ...texts.map(({ id, text }) => element('option', { value: id }, text)),
    );
  }
  texts.forEach(({ id, text }, at) => {
    const option = sessionList.options[at];
    if (!option) return;
    setAttribute(option, 'value', id);
    setText(option, text);
  });
  if (now) sessionList.value = now.id;
}

function chooseSession(id: string): void {
  page.send({ type: 'session.choose', id });
  timeline.choose(undefined);
  show();
}

const connectionWords = {
  connecting: 'connecting',
  live: 'live',
  lost: 'the server has gone; this is what was last seen',
};

function showConnection(): void {
  const { value, context } = page.getSnapshot();
  const { connection, view } = value;
  const isPaused = view === 'paused';
  const words = isPaused ? `paused, ${context.held.length} updates wait` : undefined;
  const badge = byId('connection');
  setText(badge, (connection === 'lost' ? undefined : words) ?? connectionWords[connection]);
  setAttribute(badge, 'data-connection', isPaused ? 'paused' : connection);
  setAttribute(pause, 'aria-pressed', String(isPaused));
  setText(pause, isPaused ? 'Go on' : 'Pause');
}

function togglePause(): void {
  page.send({ type: 'pause.toggle' });
  if (page.getSnapshot().hasTag('moving')) show();
}

const keys: { readonly [key: string]: () => void } = {
  p: togglePause,
  '/': () => timeline.focusFilter(),
  ArrowDown: () => timeline.move(1),
  ArrowUp: () => timeline.move(-1),
  c: () => {
    const now = session();
    const { event } = chosen();
    const next = now && event && nextOf(model, now, event);
    if (next) timeline.choose(next.seq);
  },
  s: () => {
    const ids = [...model.sessions.keys()];
    const next = ids[(ids.indexOf(session()?.id ?? '') + 1) % ids.length];
    if (next !== undefined) chooseSession(next);
  },
  Escape: () => timeline.choose(undefined),
  ...Object.fromEntries([0, 1, 2, 3].map((at) => [`${at + 1}`, () => charts.showNth(at)])),
};

/** Elements with keys of their own. */
function isTaken(key: string, target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target.matches('input[type=search], select')) return key !== 'Escape';
  return key.startsWith('Arrow') && target.closest('.scroll, pre, .chart, fieldset') !== null;
}

document.addEventListener('keydown', (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || isTaken(event.key, event.target)) return;
  const act = keys[event.key.length === 1 ? event.key.toLowerCase() : event.key];
  if (!act) return;
  if (event.key === 'Escape' && event.target instanceof HTMLInputElement) event.target.blur();
  act();
  event.preventDefault();
});
pause.addEventListener('click', togglePause);
sessionList.addEventListener('change', () => chooseSession(sessionList.value));
