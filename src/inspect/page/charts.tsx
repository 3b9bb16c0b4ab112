/** The charts: the states that a machine is in are lit, and the arrow that it came by. */
import { h } from 'preact';
import type { ComponentChild } from 'preact';
import { useLayoutEffect, useMemo, useRef } from 'preact/hooks';
import type { MachineDefinition } from '../charts/machine-definition.ts';
import { classPath, drawMachine } from '../charts/machine-drawing.ts';
import type { SvgElement } from '../charts/machine-drawing.ts';
import type { PageConnectionDump, PageSessionDump, TransitionEvent } from '../page-messages.ts';
import { followedChart } from './attention.ts';
import { movedBy, ownerOf } from './model.ts';
import type { SessionView } from './view.ts';

type Task = PageSessionDump['tasks'][number];
type Call = PageSessionDump['calls'][number];

/** One chart. There may be any number of them, and several with the same drawing. */
interface ShownChart {
  readonly name: string;
  /** The name of its drawing. */
  readonly drawing: string;
  /** What it is called on the page. */
  readonly title: string;
  /** The key that shows it. */
  readonly number: number;
  /** The machine, if it is a tool's; the others are drawn in the document. */
  readonly machine?: MachineDefinition | undefined;
  /** Undefined if there is no such actor now. */
  readonly state: string | undefined;
  /** The transition that is marked. */
  readonly last: TransitionEvent | undefined;
}

/** The charts that the document contains, in its order. */
const drawings: ReadonlyMap<string, HTMLTemplateElement> = new Map(
  [...document.querySelectorAll<HTMLTemplateElement>('template[data-drawing]')].map((template) => [
    template.dataset['drawing'] ?? '',
    template,
  ]),
);

/** Those of a session, in the order of their keys; after them comes that of the tool that is looked at. */
const sessionDrawings = ['session', 'roots', 'keepalive', 'task', 'subscription', 'http'];

/** The chart that a key shows, of what is looked at; undefined if there is none. */
export function chartOfKey(view: SessionView, key: number): string | undefined {
  return chartsOf(view, undefined).find(({ number }) => number === key)?.name;
}

export function Charts(view: SessionView) {
  const { page, send, session } = view;
  const chosen = movedBy(session, page.context.event);
  const charts = chartsOf(view, chosen);
  const followed = followedChart(session.dump);
  const isPinned = page.hasTag('chartIsPinned');
  const shownName = isPinned ? page.context.chart : (chosen?.machine ?? followed);
  const shown = charts.find(({ name }) => name === shownName) ?? charts[0];
  if (!shown) return null;
  // A chart whose actor is not there takes no room, unless it was asked for.
  const tabs = charts.filter((chart) => chart.state !== undefined || chart === shown);
  const isLarge = page.hasTag('chartIsLarge');
  const choose = (name: string) => send({ type: 'chart.choose', name });
  const move = (event: KeyboardEvent) => {
    const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (by === undefined) return;
    const next = tabs.at((tabs.indexOf(shown) + by) % tabs.length);
    if (!next) return;
    choose(next.name);
    document.getElementById(`tab-${inId(next.name)}`)?.focus();
    event.preventDefault();
  };
  return (
    <section id="charts" class="panel" aria-label="Statecharts">
      <header>
        <div role="tablist" aria-label="Charts" onKeyDown={move}>
          {tabs.map(({ name, title, number, state }) => (
            <button
              key={name}
              type="button"
              role="tab"
              id={`tab-${inId(name)}`}
              aria-controls={`chart-${inId(name)}`}
              aria-selected={name === shown.name}
              aria-keyshortcuts={`${number}`}
              tabIndex={name === shown.name ? 0 : -1}
              onClick={() => choose(name)}
            >
              {title} <code>{state ?? 'none'}</code>
            </button>
          ))}
        </div>
        <span class="tools">
          <button
            id="follow"
            type="button"
            aria-pressed={!isPinned}
            aria-keyshortcuts="f"
            title="Show the chart of what is waited for"
            onClick={() =>
              send(isPinned ? { type: 'chart.follow' } : { type: 'chart.choose', name: shown.name })
            }
          >
            Follow
          </button>
          <button
            id="large"
            type="button"
            aria-pressed={isLarge}
            aria-keyshortcuts="l"
            onClick={() => send({ type: 'chart.resize' })}
          >
            Large
          </button>
        </span>
      </header>
      <Chart key={shown.name} chart={shown} isChosen={chosen === shown.last} isLarge={isLarge} />
    </section>
  );
}

function Chart(props: {
  readonly chart: ShownChart;
  readonly isChosen: boolean;
  readonly isLarge: boolean;
}) {
  const { chart, isChosen, isLarge } = props;
  const { name, drawing, title, machine, state, last } = chart;
  const box = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const drawn = drawings.get(drawing)?.content.cloneNode(true);
    if (drawn) box.current?.replaceChildren(drawn);
  }, [drawing]);
  const drawn = useMemo(() => machine && svgOf(drawMachine(machine)), [machine]);
  useLayoutEffect(() => {
    if (box.current) light(box.current, state, last, isChosen);
  });
  useLayoutEffect(() => {
    const active = box.current?.querySelector('.node.active');
    if (isLarge) active?.scrollIntoView({ block: 'nearest', inline: 'center' });
  }, [isLarge, state]);
  const now =
    state === undefined
      ? `There is no ${title} machine now`
      : `The ${title} machine is in ${state}`;
  const by = last && state !== undefined ? `; it came from ${last.from} by ${last.cause}` : '';
  return (
    <div
      role="tabpanel"
      id={`chart-${inId(name)}`}
      class={isLarge ? 'chart large' : 'chart'}
      tabIndex={0}
      aria-labelledby={`tab-${inId(name)}`}
    >
      <p class="visually-hidden">{`${now}${by}.`}</p>
      <div class="drawing" aria-hidden="true" ref={box}>
        {drawn}
      </div>
    </div>
  );
}

function svgOf({ tag, attributes, children }: SvgElement): ComponentChild {
  const inside = children.map((child) => (typeof child === 'string' ? child : svgOf(child)));
  return h(tag, attributes, inside);
}

/** A name as part of an element's id. */
function inId(name: string): string {
  return name.replaceAll(/[^\w-]+/g, '-');
}

function chartsOf(view: SessionView, chosen: TransitionEvent | undefined): ShownChart[] {
  const { dump } = view.session;
  return dump.side === 'host'
    ? connectionCharts(view, dump, chosen)
    : sessionCharts(view, dump, chosen);
}

/** One for each machine of a connection that there is now. */
function connectionCharts(
  { session }: SessionView,
  { actors }: PageConnectionDump,
  chosen: TransitionEvent | undefined,
): ShownChart[] {
  const machines = actors.filter(({ id, chart = id }) => drawings.has(chart));
  return machines.map(({ id: name, chart: drawing = name, state }, at) => {
    const last = chosen?.machine === name ? chosen : session.lastTransitions.get(name);
    return { name, drawing, title: name, number: at + 1, state, last };
  });
}

/** One for each machine of a session, that of a task, and that of a tool. */
function sessionCharts(
  view: SessionView,
  dump: PageSessionDump,
  chosen: TransitionEvent | undefined,
): ShownChart[] {
  const { session } = view;
  const task = taskOf(view, chosen);
  const own = sessionDrawings.map((name, at): ShownChart => {
    const owner = name === 'task' ? ownerOf({ machine: name, task: task?.taskId ?? '' }) : name;
    const isHere = chosen?.machine === name && (!task || ownerOf(chosen) === owner);
    const last = isHere ? chosen : session.lastTransitions.get(owner);
    const state = stateOf(dump, name, task);
    return { name, drawing: name, title: name, number: at + 1, state, last };
  });
  return [...own, toolChart(view)];
}

function toolChart(view: SessionView): ShownChart {
  const call = callOf(view);
  const { machines } = view.session;
  const tool = call?.subject ?? [...machines.keys()].at(-1) ?? '';
  return {
    ...{ name: 'tool', drawing: 'tool', title: tool || 'tool', last: undefined },
    number: sessionDrawings.length + 1,
    machine: machines.get(tool),
    state: call?.machine?.state,
  };
}

/** The call that is looked at, of those whose tools are machines: the chosen one, or the oldest. */
export function callOf({ page, session }: SessionView): Call | undefined {
  const calls = session.dump.calls.filter(({ machine }) => machine !== undefined);
  const chosen = calls.find(({ machine }) => machine?.id === page.context.machine);
  return chosen ?? calls.toSorted((a, b) => b.ageMs - a.ageMs)[0];
}

/** The task that is looked at: the chosen one, or that of the chosen event, or the newest. */
export function taskOf(
  { page, session }: SessionView,
  chosen = movedBy(session, page.context.event),
): Task | undefined {
  const tasks = session.dump.side === 'server' ? session.dump.tasks : [];
  const task = tasks.find(({ taskId }) => taskId === page.context.task);
  // A task whose transition is looked at may be kept no longer: no other is shown in its place.
  return task ?? (chosen?.task === undefined ? tasks[0] : undefined);
}

function stateOf(dump: PageSessionDump, name: string, task: Task | undefined): string | undefined {
  if (name === 'session') return dump.state;
  if (name === 'roots') return dump.roots.state;
  if (name === 'http') return dump.http?.kind === 'session' ? dump.http.state : undefined;
  // A task's status is the innermost state of its machine.
  if (name === 'task') return task?.status;
  return dump.actors.find(({ id }) => id === name)?.state;
}

function light(
  box: HTMLElement,
  state: string | undefined,
  last: TransitionEvent | undefined,
  isChosen: boolean,
): void {
  // A machine with regions is in several states at once.
  const paths = state?.split(',').flatMap((each) => pathsOf(box, each)) ?? [];
  const active = new Set(paths.map((path) => `s-${path}`));
  for (const shape of box.querySelectorAll('.state')) {
    const isActive = [...shape.classList].some((each) => active.has(each));
    shape.classList.toggle('active', isActive);
  }
  const arrow = last && arrowOf(box, last);
  for (const each of box.querySelectorAll('.transition')) {
    each.classList.toggle('last', each === arrow && !isChosen);
    each.classList.toggle('chosen', each === arrow && isChosen);
  }
}

/** The state as it is drawn, and the boxes around it, which its name need not tell: `b.c` is `a`, `a_b`, `a_b_c`. */
function pathsOf(box: HTMLElement, state: string): string[] {
  const called = classPath(state.split('.'));
  const drawn = [...box.querySelectorAll('.state')].flatMap(({ classList }) => [...classList]);
  const path = drawn.find((each) => `_${each.slice(2)}`.endsWith(`_${called}`))?.slice(2) ?? called;
  const parts = path.split('_');
  return parts.map((_, at) => parts.slice(0, at + 1).join('_'));
}

/** A transition may be drawn between parents of the states that it left and entered: the closest are meant. */
function arrowOf(box: HTMLElement, { from, to }: TransitionEvent): Element | undefined {
  const sources = pathsOf(box, from).reverse();
  const targets = pathsOf(box, to).reverse();
  for (const source of sources) {
    for (const target of targets) {
      const [arrow] = box.getElementsByClassName(`t-${source}--${target}`);
      if (arrow) return arrow;
    }
  }
  return undefined;
}
