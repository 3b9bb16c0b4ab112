/**
 * Chart panel: active states are highlighted and unfolded, and so is the arrow of the last
 * transition.
 */
import { h } from 'preact';
import type { ComponentChild } from 'preact';
import { useLayoutEffect, useMemo, useRef } from 'preact/hooks';
import type { MachineDefinition } from '../charts/machine-definition.ts';
import { unfoldedPaths } from '../charts/chart-boxes.ts';
import { drawMachine } from '../charts/machine-drawing.ts';
import type { SvgElement } from '../charts/machine-drawing.ts';
import type { PageConnectionDump, PageSessionDump, TransitionEvent } from '../page-messages.ts';
import { followedChart } from './attention.ts';
import { transitionOf, transitionKey } from './model.ts';
import { shortenState } from './rows.ts';
import { useWidth } from './view.ts';
import type { ShownSessionView } from './view.ts';

type Task = PageSessionDump['tasks'][number];
type Call = PageSessionDump['calls'][number];

/** One chart tab. There may be any number, including several of the same machine. */
interface ShownChart {
  readonly name: string;
  /** Label of the tab. */
  readonly title: string;
  /** Number key that selects the chart. */
  readonly number: number;
  /** Undefined for a tool that has not been called yet. */
  readonly machine: MachineDefinition | undefined;
  /** Undefined if no such actor is running. */
  readonly state: string | undefined;
  /** The highlighted transition. */
  readonly last: TransitionEvent | undefined;
}

/** Machine definitions embedded in the document. */
const machines: ReadonlyMap<string, MachineDefinition> = new Map(
  Object.entries(
    JSON.parse(document.querySelector('#machines')?.textContent ?? '{}') as {
      readonly [name: string]: MachineDefinition;
    },
  ),
);

/** A session's charts in the order of their number keys. The selected tool's chart follows. */
const sessionCharts = [
  'session',
  'roots',
  'keepalive',
  'task',
  'subscription',
  'http',
  'call',
  'session-stream',
];

/** Name of the chart that a number key selects; undefined if there is none. */
export function chartOfKey(view: ShownSessionView, key: number): string | undefined {
  return chartsOf(view, undefined).find(({ number }) => number === key)?.name;
}

export function Charts(view: ShownSessionView) {
  const { page, send, session } = view;
  const chosen = transitionOf(session, page.context.event);
  const charts = chartsOf(view, chosen);
  const followed = followedChart(session.dump);
  const isPinned = page.hasTag('chartIsPinned');
  const shownName = isPinned ? page.context.chart : (chosen?.machine ?? followed);
  const shown = charts.find(({ name }) => name === shownName) ?? charts[0];
  if (!shown) return null;
  // Hide charts without a running actor, except a selected one.
  const tabs = charts.filter((chart) => chart.state !== undefined || chart === shown);
  const isWhole = page.hasTag('chartIsWhole');
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
              {title}{' '}
              <code title={state}>{state === undefined ? 'none' : shortenState(state)}</code>
            </button>
          ))}
        </div>
        <span class="tools">
          <button
            id="follow"
            type="button"
            aria-pressed={!isPinned}
            aria-keyshortcuts="f"
            title="Show the chart of the machine that is being waited for"
            onClick={() =>
              send(isPinned ? { type: 'chart.follow' } : { type: 'chart.choose', name: shown.name })
            }
          >
            Follow
          </button>
          <button
            id="whole"
            type="button"
            aria-pressed={isWhole}
            aria-keyshortcuts="w"
            title="Unfold every state"
            onClick={() => send({ type: 'chart.unfold' })}
          >
            Whole
          </button>
        </span>
      </header>
      <Chart key={shown.name} chart={shown} isChosen={chosen === shown.last} {...view} />
    </section>
  );
}

/** Draws a chart with the active states unfolded, and those the person unfolded. */
function Chart(
  props: ShownSessionView & { readonly chart: ShownChart; readonly isChosen: boolean },
) {
  const { chart, isChosen, page, send } = props;
  const { name, title, machine, state, last } = chart;
  const { folds } = page.context;
  const box = useRef<HTMLDivElement>(null);
  const width = useWidth(box);
  const isWhole = page.hasTag('chartIsWhole') || state === undefined;
  const drawn = useMemo(() => {
    if (!machine || width === 0) return undefined;
    const unfolded = new Set(unfoldedPaths(machine, state));
    const isOpen = (path: string) =>
      folds[inId(`${name} ${path}`)] ?? (isWhole || unfolded.has(path));
    const marked = last && { ...last, as: isChosen ? ('chosen' as const) : ('last' as const) };
    return svgOf(drawMachine(machine, { width, state, marked, isOpen }));
  }, [machine, width, state, last, isChosen, isWhole, folds]);
  useLayoutEffect(() => {
    const { current } = box;
    const lit = current?.querySelector('.node.active')?.getBoundingClientRect();
    if (!current || !lit) return;
    const { top, bottom } = current.getBoundingClientRect();
    // Scroll within the panel only; `scrollIntoView` would also move the page.
    if (lit.bottom > bottom) current.scrollTop += Math.min(lit.bottom - bottom, lit.top - top);
    if (lit.top < top) current.scrollTop += lit.top - top;
  }, [state, isWhole]);
  const fold = (event: MouseEvent | KeyboardEvent) => {
    if ('key' in event && event.key !== 'Enter' && event.key !== ' ') return;
    const button = event.target instanceof Element && event.target.closest('[data-state]');
    if (!button) return;
    const path = inId(`${name} ${button.getAttribute('data-state')}`);
    send({ type: 'chart.fold', path, isOpen: button.getAttribute('aria-expanded') !== 'true' });
    event.preventDefault();
  };
  const now =
    state === undefined ? `No ${title} machine is running` : `The ${title} machine is in ${state}`;
  const by = last && state !== undefined ? `; it came from ${last.from} on ${last.cause}` : '';
  return (
    <div
      role="tabpanel"
      id={`chart-${inId(name)}`}
      class="chart"
      ref={box}
      tabIndex={0}
      aria-labelledby={`tab-${inId(name)}`}
      onClick={fold}
      onKeyDown={fold}
    >
      <p class="visually-hidden">{`${now}${by}.`}</p>
      <div class="drawing">{drawn}</div>
    </div>
  );
}

function svgOf({ tag, attributes, children }: SvgElement): ComponentChild {
  const inside = children.map((child) => (typeof child === 'string' ? child : svgOf(child)));
  return h(tag, attributes, inside);
}

/** Converts a name for use in an element id. */
function inId(name: string): string {
  return name.replaceAll(/[^\w-]+/g, '-');
}

function chartsOf(view: ShownSessionView, chosen: TransitionEvent | undefined): ShownChart[] {
  const { dump } = view.session;
  return dump.side === 'host'
    ? connectionCharts(view, dump, chosen)
    : chartsOfSession(view, dump, chosen);
}

/** One chart per running machine of a connection. */
function connectionCharts(
  { session }: ShownSessionView,
  { actors }: PageConnectionDump,
  chosen: TransitionEvent | undefined,
): ShownChart[] {
  const drawn = actors.filter(({ id, chart = id }) => machines.has(chart));
  return drawn.map(({ id: name, chart = name, state }, at) => {
    const last = chosen?.machine === name ? chosen : session.lastTransitions.get(name);
    return { name, title: name, number: at + 1, machine: machines.get(chart), state, last };
  });
}

/** Charts of a session's machines, the selected task and the selected tool. */
function chartsOfSession(
  view: ShownSessionView,
  dump: PageSessionDump,
  chosen: TransitionEvent | undefined,
): ShownChart[] {
  const { session } = view;
  const task = taskOf(view, chosen);
  const own = sessionCharts.map((name, at): ShownChart => {
    const owner =
      name === 'task' ? transitionKey({ machine: name, task: task?.taskId ?? '' }) : name;
    const isHere = chosen?.machine === name && (!task || transitionKey(chosen) === owner);
    const last = isHere ? chosen : session.lastTransitions.get(owner);
    const state = stateOf(dump, name, task);
    return { name, title: name, number: at + 1, machine: machines.get(name), state, last };
  });
  return [...own, toolChart(view)];
}

function toolChart(view: ShownSessionView): ShownChart {
  const call = callOf(view);
  const { machines: tools } = view.session;
  const tool = call?.subject ?? [...tools.keys()].at(-1) ?? '';
  return {
    ...{ name: 'tool', title: tool || 'tool', last: undefined },
    number: sessionCharts.length + 1,
    machine: tools.get(tool),
    state: call?.machine?.state,
  };
}

/** The selected call whose tool is a machine; by default the oldest. */
export function callOf({ page, session }: ShownSessionView): Call | undefined {
  const calls = session.dump.calls.filter(({ machine }) => machine !== undefined);
  const chosen = calls.find(({ machine }) => machine?.id === page.context.machine);
  return chosen ?? calls.toSorted((a, b) => b.ageMs - a.ageMs)[0];
}

/** The selected task, else the selected event's task, else the newest. */
export function taskOf(
  { page, session }: ShownSessionView,
  chosen = transitionOf(session, page.context.event),
): Task | undefined {
  const tasks = session.dump.side === 'server' ? session.dump.tasks : [];
  const task = tasks.find(({ taskId }) => taskId === page.context.task);
  // The selected event's task may be gone: do not substitute another.
  return task ?? (chosen?.task === undefined ? tasks[0] : undefined);
}

function stateOf(dump: PageSessionDump, name: string, task: Task | undefined): string | undefined {
  if (name === 'session') return dump.state;
  if (name === 'roots') return dump.roots.state;
  if (name === 'http') return dump.http?.kind === 'session' ? dump.http.state : undefined;
  // Shows the newest stream.
  if (name === 'session-stream') return dump.http?.streams.at(-1)?.state;
  // Only suspended calls report their chart's state; shows the oldest.
  if (name === 'call') return dump.calls.find(({ state }) => state === 'suspended')?.state;
  // A task's status is the innermost state of its machine.
  if (name === 'task') return task?.status;
  return dump.actors.find(({ id }) => id === name)?.state;
}
