/** Every machine of the library, and the names that its config uses. */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { StateMachine } from 'xstate';
import type { AnyStateMachine, AnyStateNode } from 'xstate';
import { libraryFolders } from '../tooling/layers.ts';

const repository = join(import.meta.dirname, '../..');

/** The machines by the names they are exported with. */
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

/** A node and all below it. */
export function nodesOf(node: AnyStateNode): readonly AnyStateNode[] {
  return [node, ...Object.values(node.states).flatMap(nodesOf)];
}

type Kind = 'actions' | 'actors' | 'delays' | 'guards';
export type UsedName = readonly [kind: Kind, name: string];

/** What stands where an implementation is named: a name, an object with one, or a built-in with things inside. */
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

/** Every delay, guard, action and actor that a machine names, in its config or inside its own implementations. */
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

/** The delays of a node's own `after`: names, and numbers of milliseconds as such. */
export function delaysOf(node: AnyStateNode): readonly Named[] {
  const config = node.config as { readonly after?: { readonly [delay: string]: unknown } };
  return Object.keys(config.after ?? {}).map((delay) => (/^\d+$/.test(delay) ? +delay : delay));
}

/** The nodes that a machine can be in, by its initial states and the targets of its transitions. */
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
