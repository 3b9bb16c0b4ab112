/** A machine as a Mermaid state diagram, drawn from its code. */
import { not, or } from 'xstate';
import type { AnyStateMachine, AnyStateNode } from 'xstate';
import { readableEvent } from './readable-event.ts';

/** Any machine. */
export type DrawnMachine = AnyStateMachine;

/** What the diagram needs of a transition. */
export interface DrawnTransition {
  readonly eventType: string;
  readonly target: readonly AnyStateNode[] | undefined;
  readonly guard?: unknown;
  readonly actions: readonly unknown[];
}

/** A machine as Mermaid's `stateDiagram-v2` text, with a line feed at the end. */
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
    // Between what goes on at once.
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

/** One arrow for each pair of states, labelled with every event that leads along it. */
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

/**
 * A state's own transitions, and the root's for those that may happen in any state and that it does
 * not handle itself.
 */
function transitionsOf(node: AnyStateNode, root: AnyStateNode): DrawnTransition[] {
  const own = ownTransitions(node);
  const handled = new Set(own.map(({ eventType }) => eventType));
  const inherits = node.parent === root && node.type !== 'final';
  const inherited = inherits ? ownTransitions(root) : [];
  const leading = inherited.filter(({ eventType, target }) => target && !handled.has(eventType));
  return [...own, ...leading].filter(({ target, actions }) => target || actions.length > 0);
}

/** XState keeps eventless transitions apart from those of events. */
function ownTransitions(node: AnyStateNode): DrawnTransition[] {
  const always = (node.always ?? []) as readonly DrawnTransition[];
  return [...node.transitions.values(), always].flat();
}

function labelOf({ eventType, guard, actions }: DrawnTransition): string {
  const when = guard === undefined ? '' : ` [${guardName(guard)}]`;
  const then = actions.map(nameOf).filter((name) => name !== '');
  return `${readableEvent(eventType)}${when}${then.length > 0 ? ` / ${then.join(', ')}` : ''}`;
}

/** The name of a guard, for a person. */
export function guardName(guard: unknown): string {
  const { guards, check } = guard as Partial<Combined>;
  if (!guards) return nameOf(guard);
  const names = guards.map(guardName);
  return check === isNot ? `not ${names.join()}` : names.join(check === isOr ? ' or ' : ' and ');
}

/** What XState makes of `and`, `or` and `not`: their check tells which one it is. */
interface Combined {
  readonly guards: readonly unknown[];
  readonly check: unknown;
}

const [isNot, isOr] = [not('a'), or(['a'])].map((guard) => (guard as unknown as Combined).check);

/**
 * The name of an action or a guard: a string, or its `type`. XState's own functions have no name
 * worth drawing.
 */
function nameOf(named: unknown): string {
  if (typeof named === 'string') return named;
  const { type } = named as { readonly type?: unknown };
  return typeof named === 'object' && typeof type === 'string' ? type : '';
}

/** The path of a state, unique in the diagram. Dots mean something else to Mermaid. */
function idOf(node: AnyStateNode): string {
  return node.path.join('_');
}
