/**
 * What a drawing of a machine has: a box for each state that is shown, with a row for each transition, and which of
 * them are lit.
 */
import { readableEvent } from './readable-event.ts';
import type {
  MachineDefinition,
  StateDefinition,
  TransitionDefinition,
} from './machine-definition.ts';

/** What is shown of a machine. */
export interface ShownStates {
  /** The state that the machine is in, by its name; its boxes are `active`. */
  readonly state?: string | undefined;
  /** The transition that is marked, and the class that marks it. */
  readonly marked?: MarkedTransition | undefined;
  /**
   * Whether a state shows what leads from it and what it holds. If it is given, a state that has
   * something to show is a button, with its path as `data-state`. By default all is shown.
   */
  readonly isOpen?: (path: string) => boolean;
}

interface MarkedTransition {
  readonly from: string;
  readonly to: string;
  /** The event, as a person calls it. */
  readonly cause: string;
  readonly as: 'last' | 'chosen';
}

const maxCharacters = 200;

/** A transition, as it is drawn. */
export interface BoxRow {
  /** The path of its state, which may be folded away. */
  readonly from: string;
  readonly cause: string;
  readonly text: string;
  /** What it does, for who points at it. */
  readonly hint: string;
  readonly targets: readonly { readonly path: string; readonly box: Box }[];
  lines: readonly string[];
  y: number;
}

export interface Box {
  readonly path: string;
  readonly title: string;
  readonly depth: number;
  readonly isActive: boolean;
  readonly isOpen: boolean;
  /** Whether there is anything that it shows only if it is open. */
  readonly hasMore: boolean;
  readonly rows: BoxRow[];
  /** Those inside that are drawn. */
  readonly inside: Box[];
  top: number;
  bottom: number;
}

/** A state, and what is drawn of it: its box, or that of the folded state around it. */
interface Place {
  readonly state: StateDefinition;
  readonly path: string;
  readonly box: Box;
  readonly isFolded: boolean;
}

/**
 * The paths of the states that a machine is in, with those around them, innermost first. A name leaves out states that
 * only hold others: `b.d` is `a_b_c_d`, `a_b_c`, `a_b` and `a`. A machine with regions is in several states at once.
 */
function activePaths(definition: MachineDefinition, state: string | undefined): string[] {
  const all = pathsIn(definition, []);
  return (state?.split(',') ?? []).flatMap((name) => {
    const called = name.split('.');
    const path = all.find((each) => isCalled(each, called)) ?? called;
    return path.map((_, at) => classPath(path.slice(0, path.length - at)));
  });
}

/**
 * The paths of the states that are unfolded by themselves: the active ones, but for a state that holds others if the
 * machine's state does not tell which of them is active.
 */
export function unfoldedPaths(definition: MachineDefinition, state: string | undefined): string[] {
  const all = pathsIn(definition, []).map(classPath);
  const active = activePaths(definition, state);
  const areInside = (path: string, paths: readonly string[]): boolean =>
    paths.some((each) => each.startsWith(`${path}_`));
  return active.filter((path) => areInside(path, active) || !areInside(path, all));
}

function isCalled(path: readonly string[], called: readonly string[]): boolean {
  if (path.at(-1) !== called.at(-1)) return false;
  let found = 0;
  for (const key of path) if (key === called[found]) found++;
  return found === called.length;
}

/** The part of a class that names a state: a key may hold spaces. */
function classPath(path: readonly string[]): string {
  return path.join('_').replaceAll(/\s/g, '-');
}

function pathsIn({ states = {} }: StateDefinition, path: readonly string[]): (readonly string[])[] {
  return Object.entries(states).flatMap(([key, state]) => {
    const inside = [...path, key];
    return [inside, ...pathsIn(state, inside)];
  });
}

export function boxesOf(
  machine: MachineDefinition,
  { state: now, isOpen, marked: mark }: ShownStates,
): { readonly root: Box; readonly marked: BoxRow | undefined } {
  const active = new Set(activePaths(machine, now));
  const byId = new Map<string, Place>();
  const add = (
    state: StateDefinition,
    path: readonly string[],
    isInitial: boolean,
    folded: Box | undefined,
  ): Box => {
    const inside = Object.entries(state.states ?? {});
    const name = classPath(path);
    const own: Box = {
      path: name,
      title: `${isInitial ? '● ' : ''}${path.at(-1) ?? machine.id}${state.type === 'final' ? ' ◉' : ''}`,
      depth: path.length,
      isActive: active.has(name),
      isOpen: path.length === 0 || (isOpen?.(name) ?? true),
      hasMore: path.length > 0 && inside.length + transitionsOf(state).length > 0,
      ...{ rows: [], inside: [], top: 0, bottom: 0 },
    };
    const box = folded ?? own;
    const place = { state, path: name, box, isFolded: !box.isOpen };
    byId.set(state.id ?? [machine.id, ...path].join('.'), place);
    for (const [key, child] of inside) {
      const isFirst = state.type === 'parallel' || key === state.initial;
      const drawn = add(child, [...path, key], isFirst, place.isFolded ? box : undefined);
      if (!place.isFolded) own.inside.push(drawn);
    }
    return own;
  };
  const root = add(machine, [], false, undefined);
  const all = [...byId.values()].flatMap((place) =>
    transitionsOf(place.state).map(([cause, transition]) => ({
      place,
      row: rowOf(place.path, cause, transition, byId),
    })),
  );
  const marked =
    mark &&
    markedOf(
      machine,
      mark,
      all.map(({ row }) => row),
    );
  for (const { place, row } of all) {
    // A folded state shows nothing but the transition that was taken last.
    if (!place.isFolded || row === marked) place.box.rows.push(row);
  }
  return { root, marked };
}

function rowOf(
  from: string,
  cause: string,
  { target = [], guard, actions = [] }: TransitionDefinition,
  byId: ReadonlyMap<string, Place>,
): BoxRow {
  const targets = target.flatMap((id) => byId.get(id.slice(1)) ?? []);
  const when = guard === undefined ? '' : ` [${guard}]`;
  const names = targets.map(({ path }) => path.replaceAll('_', '.')).join(', ');
  const then = actions.length > 0 ? ` / ${actions.join(', ')}` : '';
  // It has no arrow if it leads nowhere else.
  const stays = targets.every(({ path }) => path === from);
  const text = cut(`${cause}${when}${stays ? ' ↺' : ''}`);
  const hint = cut(`${cause}${when}${stays ? '' : ` → ${names}`}${then}`);
  return { from, cause, text, hint, targets: stays ? [] : targets, lines: [], y: 0 };
}

/**
 * A transition may be drawn between states around those that were left and entered: the closest are meant. It may also go
 * on from its target at once, and end elsewhere: then its event tells which it is.
 */
function markedOf(
  machine: MachineDefinition,
  { from, to, cause }: MarkedTransition,
  rows: readonly BoxRow[],
): BoxRow | undefined {
  const [sources, goals] = [activePaths(machine, from), activePaths(machine, to)];
  const between = [...sources, ''].flatMap((source) =>
    goals.flatMap((goal) =>
      rows.filter((row) => row.from === source && row.targets.some(({ path }) => path === goal)),
    ),
  );
  const [taken, ...others] = rows.filter(
    (row) => row.cause === cause && row.targets.length > 0 && sources.includes(row.from),
  );
  return (
    between.find((row) => row.cause === cause) ??
    (others.length === 0 ? taken : undefined) ??
    between[0]
  );
}

export function withInner(box: Box): Box[] {
  return [box, ...box.inside.flatMap(withInner)];
}

type CausedTransition = readonly [cause: string, transition: TransitionDefinition];

/** Of a state that holds others, what only acts and changes no state is left out: it would hide what does. */
function transitionsOf(state: StateDefinition): readonly CausedTransition[] {
  const { on = {}, after = {}, always = [], onDone = [], invoke = [], states } = state;
  const caused = (cause: string, transitions: readonly TransitionDefinition[] = []) =>
    transitions
      .filter(({ target }) => target !== undefined || states === undefined)
      .map((transition): CausedTransition => [cause, transition]);
  return [
    ...Object.entries(on).flatMap(([event, each]) => caused(readableEvent(event), each)),
    ...Object.entries(after).flatMap(([delay, each]) => caused(`after ${delay}`, each)),
    ...invoke.flatMap(({ id, onDone: done, onError: failed }) => [
      ...caused(readableEvent(`xstate.done.actor.${id}`), done),
      ...caused(readableEvent(`xstate.error.actor.${id}`), failed),
    ]),
    ...caused('done', onDone),
    ...caused('always', always),
  ];
}

export function cut(text: string, characters = maxCharacters): string {
  return text.length > characters ? `${text.slice(0, Math.max(0, characters - 1))}…` : text;
}
