/**
 * Box model of a drawn machine: a box per visible state with a row per transition, and which of
 * them are highlighted.
 */
import { readableEvent } from './readable-event.ts';
import type {
  MachineDefinition,
  StateDefinition,
  TransitionDefinition,
} from './machine-definition.ts';

/** Current state and visible parts of a drawn machine. */
export interface ShownStates {
  /** Current state name; its boxes get the class `active`. */
  readonly state?: string | undefined;
  /** The highlighted transition and its CSS class. */
  readonly marked?: MarkedTransition | undefined;
  /**
   * True if a state's transitions and children are drawn. If given, a state with either becomes a
   * button with its path in `data-state`. Default: everything is drawn.
   */
  readonly isOpen?: (path: string) => boolean;
}

interface MarkedTransition {
  readonly from: string;
  readonly to: string;
  /** Readable name of the event. */
  readonly cause: string;
  readonly as: 'last' | 'chosen';
}

const maxCharacters = 200;

/** A drawn transition. */
export interface BoxRow {
  /** Path of the source state, which may be folded away. */
  readonly from: string;
  readonly cause: string;
  readonly text: string;
  /** Tooltip: target states and actions. */
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
  /** True if unfolding the box would show more. */
  readonly hasMore: boolean;
  readonly rows: BoxRow[];
  /** Child boxes that are drawn. */
  readonly inside: Box[];
  top: number;
  bottom: number;
}

/** A state with the box that represents it: its own, or that of the folded ancestor. */
interface PlacedState {
  readonly state: StateDefinition;
  readonly path: string;
  readonly box: Box;
  readonly isFolded: boolean;
}

/**
 * Paths of the active states and their ancestors, innermost first. State names leave out group
 * states: `b.d` gives `a_b_c_d`, `a_b_c`, `a_b` and `a`. A machine with parallel regions has
 * several active states.
 */
function activePaths(definition: MachineDefinition, state: string | undefined): string[] {
  const all = pathsIn(definition, []);
  return (state?.split(',') ?? []).flatMap((name) => {
    const called = name.split('.');
    const path = all.find((each) => matchesName(each, called)) ?? called;
    return path.map((_, at) => classPath(path.slice(0, path.length - at)));
  });
}

/**
 * Paths of the states to unfold by default: the active ones, except a compound state whose active
 * child is unknown.
 */
export function unfoldedPaths(definition: MachineDefinition, state: string | undefined): string[] {
  const all = pathsIn(definition, []).map(classPath);
  const active = activePaths(definition, state);
  const areInside = (path: string, paths: readonly string[]): boolean =>
    paths.some((each) => each.startsWith(`${path}_`));
  return active.filter((path) => areInside(path, active) || !areInside(path, all));
}

function matchesName(path: readonly string[], called: readonly string[]): boolean {
  if (path.at(-1) !== called.at(-1)) return false;
  let found = 0;
  for (const key of path) if (key === called[found]) found++;
  return found === called.length;
}

/** The part of a CSS class that names a state. State keys may contain spaces. */
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
  const byId = new Map<string, PlacedState>();
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
    findMarked(
      machine,
      mark,
      all.map(({ row }) => row),
    );
  for (const { place, row } of all) {
    // A folded state shows only the highlighted transition.
    if (!place.isFolded || row === marked) place.box.rows.push(row);
  }
  return { root, marked };
}

function rowOf(
  from: string,
  cause: string,
  { target = [], guard, actions = [] }: TransitionDefinition,
  byId: ReadonlyMap<string, PlacedState>,
): BoxRow {
  const targets = target.flatMap((id) => byId.get(id.slice(1)) ?? []);
  const when = guard === undefined ? '' : ` [${guard}]`;
  const names = targets.map(({ path }) => path.replaceAll('_', '.')).join(', ');
  const then = actions.length > 0 ? ` / ${actions.join(', ')}` : '';
  // A transition back to its own state gets no arrow.
  const stays = targets.every(({ path }) => path === from);
  const text = truncate(`${cause}${when}${stays ? ' ↺' : ''}`);
  const hint = truncate(`${cause}${when}${stays ? '' : ` → ${names}`}${then}`);
  return { from, cause, text, hint, targets: stays ? [] : targets, lines: [], y: 0 };
}

/**
 * Finds the row of a transition. The chart may draw it between ancestors of the states that were
 * left and entered, so the closest pair wins. If an eventless transition moved the machine on from
 * the target, the event name decides.
 */
function findMarked(
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

export function flattenBoxes(box: Box): Box[] {
  return [box, ...box.inside.flatMap(flattenBoxes)];
}

type CausedTransition = readonly [cause: string, transition: TransitionDefinition];

/**
 * Omits internal transitions of compound states, which would crowd out the transitions that change
 * state.
 */
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

export function truncate(text: string, characters = maxCharacters): string {
  return text.length > characters ? `${text.slice(0, Math.max(0, characters - 1))}…` : text;
}
