/** Machines as Mermaid state diagrams. */
import { not, or } from 'xstate';
import type { AnyStateMachine, AnyStateNode } from 'xstate';
import { readableEvent } from './readable-event.ts';

export type DrawnMachine = AnyStateMachine;

/** Parts of an XState transition that a diagram shows. */
export interface DrawnTransition {
  readonly eventType: string;
  readonly target: readonly AnyStateNode[] | undefined;
  readonly guard?: unknown;
  readonly actions: readonly unknown[];
}

/** Returns a machine as Mermaid `stateDiagram-v2` text ending in a newline. */
export function mermaidDiagram(machine: AnyStateMachine): string {
  const { root } = machine;
  const lines = [...drawInside(root, '  '), ...arrows(root, '  ')];
  return ['stateDiagram-v2', ...lines, ''].join('\n');
}

function drawInside(parent: AnyStateNode, indent: string): string[] {
  const lines: string[] = [];
  for (const target of parent.initial?.target ?? []) lines.push(`${indent}[*] --> ${idOf(target)}`);
  for (const [at, node] of Object.values(parent.states).entries()) {
    const children = Object.values(node.states);
    // `--` separates parallel regions.
    if (parent.type === 'parallel' && at > 0) lines.push(`${indent}--`);
    if (children.length > 0) {
      lines.push(
        `${indent}state ${idOf(node)} {`,
        ...drawInside(node, `${indent}  `),
        `${indent}}`,
      );
    } else {
      lines.push(`${indent}state "${node.key}" as ${idOf(node)}`);
    }
    if (node.type === 'final') lines.push(`${indent}${idOf(node)} --> [*]`);
  }
  return lines;
}

/** One arrow per pair of states, labelled with every event that takes it. */
function arrows(root: AnyStateNode, indent: string): string[] {
  const labels = new Map<string, string[]>();
  for (const node of descendants(root)) {
    for (const transition of transitionsOf(node, root)) {
      for (const target of transition.target ?? [node]) {
        const arrow = `${idOf(node)} --> ${idOf(target)}`;
        labels.set(arrow, [...(labels.get(arrow) ?? []), labelOf(transition)]);
      }
    }
  }
  return [...labels].map(([arrow, texts]) => `${indent}${arrow}: ${texts.join(' <br/> ')}`);
}

function descendants(node: AnyStateNode): AnyStateNode[] {
  return Object.values(node.states).flatMap((child) => [child, ...descendants(child)]);
}

/** A state's own transitions, plus those of the root that it does not override. */
function transitionsOf(node: AnyStateNode, root: AnyStateNode): DrawnTransition[] {
  const own = ownTransitions(node);
  const handled = new Set(own.map(({ eventType }) => eventType));
  const inherits = node.parent === root && node.type !== 'final';
  const inherited = inherits ? ownTransitions(root) : [];
  const leading = inherited.filter(({ eventType, target }) => target && !handled.has(eventType));
  return [...own, ...leading].filter(({ target, actions }) => target || actions.length > 0);
}

/** XState stores eventless transitions separately, in `always`. */
function ownTransitions(node: AnyStateNode): DrawnTransition[] {
  const always = (node.always ?? []) as readonly DrawnTransition[];
  return [...node.transitions.values(), always].flat();
}

function labelOf({ eventType, guard, actions }: DrawnTransition): string {
  const when = guard === undefined ? '' : ` [${guardName(guard)}]`;
  const then = actions.map(nameOf).filter((name) => name !== '');
  return `${readableEvent(eventType)}${when}${then.length > 0 ? ` / ${then.join(', ')}` : ''}`;
}

/** Readable name of a guard, such as `a and not b`. */
export function guardName(guard: unknown): string {
  const { guards, check } = guard as Partial<Combined>;
  if (!guards) return nameOf(guard);
  const names = guards.map(guardName);
  return check === isNot ? `not ${names.join()}` : names.join(check === isOr ? ' or ' : ' and ');
}

/**
 * Shape of XState's `and`, `or` and `not` guards. Their `check` function identifies the operator.
 */
interface Combined {
  readonly guards: readonly unknown[];
  readonly check: unknown;
}

const [isNot, isOr] = [not('a'), or(['a'])].map((guard) => (guard as unknown as Combined).check);

/**
 * Name of an action or a guard: the string itself or its `type`. Empty for XState's built-in
 * functions.
 */
function nameOf(named: unknown): string {
  if (typeof named === 'string') return named;
  const { type } = named as { readonly type?: unknown };
  return typeof named === 'object' && typeof type === 'string' ? type : '';
}

/**
 * Path of a state, unique in the diagram. Joined by underscores because dots have a meaning in
 * Mermaid.
 */
function idOf(node: AnyStateNode): string {
  return node.path.join('_');
}
