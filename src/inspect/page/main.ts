/** The inspector's page: updates come in, the views are brought up to date, keys and clicks choose what is looked at. */
import type { PageEvent, PageUpdate, TransitionEvent } from '../page-messages.ts';
import { Charts } from './charts.ts';
import { connect } from './connection.ts';
import type { Connection } from './connection.ts';
import { nextOf, showDetail } from './detail.ts';
import { byId, element, setAttribute, setText } from './dom.ts';
import { showHeadline } from './headline.ts';
import { Model } from './model.ts';
import type { ShownSession } from './model.ts';
import { Panels } from './panels.ts';
import { Timeline } from './timeline.ts';

/** Between two looks at ages that grow by themselves, milliseconds. */
const ageIntervalMs = 250;
/** Updates that wait while the page is paused; older ones are let go, and counted. */
const maxWaiting = 600;

const model = new Model();
const charts = new Charts();
const timeline = new Timeline(model, chosenIs);
const panels = new Panels((taskId) => {
  chosenTask = taskId;
  charts.show('task');
  show();
});
const pause = byId('pause');
const sessionList = byId('sessions') as HTMLSelectElement;

/** What waits while nothing moves; undefined while the page is live. */
let waiting: PageUpdate[] | undefined;
let connection: Connection = 'connecting';
let chosenSession: string | undefined;
let chosenTask: string | undefined;
let chosen: PageEvent | undefined;

connect(
  (update) => {
    if (waiting) hold(waiting, update);
    else {
      model.apply(update);
      show();
    }
  },
  (now) => {
    connection = now;
    showConnection();
  },
);
setInterval(() => {
  if (!waiting && connection === 'live') showAges();
}, ageIntervalMs);

function hold(held: PageUpdate[], update: PageUpdate): void {
  held.push(update);
  if (held.length > maxWaiting) {
    held.shift();
    model.missed += 1;
  }
  showConnection();
}

function session(): ShownSession | undefined {
  const all = [...model.sessions.values()];
  return (
    all.find(({ id }) => id === chosenSession) ??
    all.findLast(({ closed }) => closed === undefined) ??
    all.at(-1)
  );
}

function show(): void {
  showSessions();
  const now = session();
  if (!now) return;
  if (!chosen) showDetail(model, now, undefined, () => {});
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
  const moved = chosenTransition(now);
  const chosenOne = tasks.find(({ taskId }) => taskId === chosenTask);
  // A task whose transition is looked at may be kept no longer: then no other is shown in its place.
  const task = chosenOne ?? (moved?.task === undefined ? tasks[0] : undefined);
  panels.show(now.dump, elapsedMs, task?.taskId);
  charts.update(now, task, moved);
}

function chosenTransition(now: ShownSession): TransitionEvent | undefined {
  if (chosen?.kind === 'transition') return chosen;
  return chosen && model.causedBy(now, chosen.seq)[0];
}

function chosenIs(event: PageEvent | undefined): void {
  chosen = event;
  const now = session();
  if (!now) return;
  showDetail(model, now, event, (seq) => timeline.choose(seq));
  const moved = chosenTransition(now);
  if (moved?.task !== undefined) chosenTask = moved.task;
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
  chosenSession = id;
  timeline.choose(undefined);
  show();
}

function showConnection(): void {
  const badge = byId('connection');
  const words: { readonly [C in Connection]: string } = {
    connecting: 'connecting',
    live: 'live',
    lost: 'the server has gone; this is what was last seen',
  };
  const held = waiting ? `paused, ${waiting.length} updates wait` : undefined;
  setText(badge, connection === 'lost' ? words.lost : (held ?? words[connection]));
  setAttribute(badge, 'data-connection', waiting ? 'paused' : connection);
}

function togglePause(): void {
  const held = waiting;
  waiting = held ? undefined : [];
  setAttribute(pause, 'aria-pressed', String(waiting !== undefined));
  setText(pause, waiting ? 'Go on' : 'Pause');
  for (const update of held ?? []) model.apply(update);
  if (held) show();
  showConnection();
}

const keys: { readonly [key: string]: () => void } = {
  p: togglePause,
  '/': () => timeline.focusFilter(),
  ArrowDown: () => timeline.move(1),
  ArrowUp: () => timeline.move(-1),
  c: () => {
    const now = session();
    const next = now && chosen && nextOf(model, now, chosen);
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
