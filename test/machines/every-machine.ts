/** All machines of the library, and the names in their configs. */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { StateMachine } from 'xstate';
import type { AnyStateMachine, AnyStateNode } from 'xstate';
import { libraryFolders } from '../tooling/layers.ts';

const repository = join(import.meta.dirname, '../..');

/** The machines by export name. */
export async function everyMachine(): Promise<ReadonlyMap<string, AnyStateMachine>> {
  const machines = new Map<string, AnyStateMachine>();
  for (const folder of libraryFolders) {
    for (const file of await readdir(join(repository, folder), { recursive: true })) {
      if (!file.endsWith('.machine.ts')) continue;
      const path = join(repository, folder, file);
      const exported = (await import(path)) as { readonly [name: string]: unknown };
      for (const [name, value] of Object.entries(exported)) {
        if (value instanceof StateMachine) machines.set(name, value as AnyStateMachine);
      }
    }
  }
  return machines;
}

/** A node and its descendants. */
export function nodesOf(node: AnyStateNode): readonly AnyStateNode[] {
  return [node, ...Object.values(node.states).flatMap(nodesOf)];
}

type Kind = 'actions' | 'actors' | 'delays' | 'guards';
export type UsedName = readonly [kind: Kind, name: string];

/**
 * A reference to an implementation: a name, an object with a name, or a built-in with nested
 * references.
 */
type Named =
  | string
  | number
  | undefined
  | ({
      readonly type?: string;
      readonly guards?: readonly Named[];
      readonly delay?: Named;
    } & object);

function namesOf(kind: Kind, used: Named): readonly UsedName[] {
  if (typeof used === 'string') return [[kind, used]];
  if (typeof used === 'number' || used === undefined) return [];
  const inside = [
    ...(used.guards ?? []).flatMap((guard) => namesOf('guards', guard)),
    ...namesOf('delays', used.delay),
  ];
  const isBuiltIn = typeof used === 'function';
  return isBuiltIn || used.type === undefined ? inside : [[kind, used.type], ...inside];
}

/**
 * All delays, guards, actions and actors that a machine names, in its config or inside its
 * implementations.
 */
export function usedNames(machine: AnyStateMachine): readonly UsedName[] {
  const { actions, guards } = machine.implementations;
  const inImplementations = [
    ...Object.values(actions ?? {}).flatMap((action) => namesOf('actions', action as Named)),
    ...Object.values(guards ?? {}).flatMap((guard) => namesOf('guards', guard as Named)),
  ];
  const inConfig = nodesOf(machine.root).flatMap((node) => [
    ...[...node.entry, ...node.exit].flatMap((action) => namesOf('actions', action as Named)),
    ...node.invoke.flatMap(({ src }) => namesOf('actors', src as Named)),
    ...delaysOf(node).flatMap((delay) => namesOf('delays', delay)),
    ...[...node.transitions.values(), node.always ?? []]
      .flat()
      .flatMap((transition) => [
        ...namesOf('guards', transition.guard as Named),
        ...transition.actions.flatMap((action) => namesOf('actions', action as Named)),
      ]),
  ]);
  return [...inConfig, ...inImplementations];
}

/** The delays of a node's `after`: names, or numbers of milliseconds. */
export function delaysOf(node: AnyStateNode): readonly Named[] {
  const config = node.config as { readonly after?: { readonly [delay: string]: unknown } };
  return Object.keys(config.after ?? {}).map((delay) => (/^\d+$/.test(delay) ? +delay : delay));
}

/** The reachable nodes of a machine, by its initial states and the targets of its transitions. */
export function reachableNodes(machine: AnyStateMachine): ReadonlySet<AnyStateNode> {
  const reached = new Set<AnyStateNode>();
  const enter = (node: AnyStateNode): void => {
    if (reached.has(node)) return;
    reached.add(node);
    if (node.parent) enter(node.parent);
    const inside =
      node.type === 'parallel' ? Object.values(node.states) : (node.initial?.target ?? []);
    inside.forEach(enter);
    const leaving = [...node.transitions.values(), node.always ?? []].flat();
    for (const { target = [] } of leaving) target.forEach(enter);
  };
  enter(machine.root);
  return reached;
}
