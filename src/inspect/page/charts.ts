/** The charts: the states that a machine is in are lit, and the arrow that it came by. */
import type { TransitionEvent } from '../page-messages.ts';
import { byId, setAttribute, setText } from './dom.ts';
import { ownerOf } from './model.ts';
import type { ShownSession } from './model.ts';

type Task = ShownSession['dump']['tasks'][number];

const tabs = [...document.querySelectorAll<HTMLButtonElement>('[role=tab]')];

export class Charts {
  #shown = 'session';

  constructor() {
    for (const tab of tabs) {
      tab.addEventListener('click', () => this.show(nameOf(tab)));
      tab.addEventListener('keydown', (event) => this.#move(event, tab));
    }
  }

  show(name: string): void {
    this.#shown = name;
    for (const tab of tabs) {
      const isShown = nameOf(tab) === name;
      setAttribute(tab, 'aria-selected', String(isShown));
      tab.tabIndex = isShown ? 0 : -1;
      panelOf(nameOf(tab)).hidden = !isShown;
    }
  }

  showNth(index: number): void {
    const tab = tabs[index];
    if (tab) this.show(nameOf(tab));
  }

  /**
   * @param task the task whose chart is shown, if there is one
   * @param chosen the transition that is looked at; otherwise each machine's last is marked
   */
  update(session: ShownSession, task: Task | undefined, chosen: TransitionEvent | undefined): void {
    for (const tab of tabs) {
      const name = nameOf(tab);
      const state = stateOf(session, name, task?.status);
      setText(tab.querySelector('code') as Element, state ?? 'none');
      const owner = name === 'task' ? ownerOf({ machine: name, task: task?.taskId ?? '' }) : name;
      const isHere = chosen?.machine === name && (!task || ownerOf(chosen) === owner);
      const last = isHere ? chosen : session.lastTransitions.get(owner);
      light(panelOf(name), name, state, last, chosen !== undefined && last === chosen);
    }
  }

  #move(event: KeyboardEvent, from: HTMLButtonElement): void {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step === undefined) return;
    const to = tabs[(tabs.indexOf(from) + step + tabs.length) % tabs.length];
    if (!to) return;
    this.show(nameOf(to));
    to.focus();
    event.preventDefault();
  }

  get shown(): string {
    return this.#shown;
  }
}

const nameOf = (tab: HTMLElement): string => tab.dataset['chart'] ?? '';
const panelOf = (name: string): HTMLElement => byId(`chart-${name}`);

function stateOf(
  { dump }: ShownSession,
  name: string,
  task: string | undefined,
): string | undefined {
  if (name === 'session') return dump.state;
  if (name === 'roots') return dump.roots.state;
  // A task's status is the innermost state of its machine.
  if (name === 'task') return task;
  return dump.actors.find(({ id }) => id === name)?.state;
}

function light(
  panel: HTMLElement,
  name: string,
  state: string | undefined,
  last: TransitionEvent | undefined,
  isChosen: boolean,
): void {
  const active = new Set(
    state === undefined ? [] : pathsOf(panel, state).map((path) => `s-${path}`),
  );
  const arrow = last && arrowOf(panel, last);
  for (const shape of panel.querySelectorAll('.state')) {
    const isActive = [...shape.classList].some((each) => active.has(each));
    shape.classList.toggle('active', isActive);
  }
  for (const each of panel.querySelectorAll('.transition')) {
    each.classList.toggle('last', each === arrow && !isChosen);
    each.classList.toggle('chosen', each === arrow && isChosen);
  }
  const text = state === undefined ? `There is no ${name} now` : `The ${name} is in ${state}`;
  const by =
    last && state !== undefined ? `; it came there from ${last.from} by ${last.cause}` : '';
  setText(panel.querySelector('p') as Element, `${text}${by}.`);
}

/** The state as it is drawn, and the boxes around it, which its name need not tell: `b.c` is `a`, `a_b`, `a_b_c`. */
function pathsOf(panel: HTMLElement, state: string): string[] {
  const called = state.replaceAll('.', '_');
  const drawn = [...panel.querySelectorAll('.state')].flatMap(({ classList }) => [...classList]);
  const path = drawn.find((each) => `_${each.slice(2)}`.endsWith(`_${called}`))?.slice(2) ?? called;
  const parts = path.split('_');
  return parts.map((_, at) => parts.slice(0, at + 1).join('_'));
}

/** A transition may be drawn between parents of the states that it left and entered: the closest are meant. */
function arrowOf(panel: HTMLElement, { from, to }: TransitionEvent): Element | undefined {
  const sources = pathsOf(panel, from).reverse();
  const targets = pathsOf(panel, to).reverse();
  for (const source of sources) {
    for (const target of targets) {
      const [arrow] = panel.getElementsByClassName(`t-${source}--${target}`);
      if (arrow) return arrow;
    }
  }
  return undefined;
}
