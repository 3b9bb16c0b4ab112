/** What a machine's states are called by those outside of it. */
import type { AnyMachineSnapshot, AnyStateNode, StateValue } from 'xstate';

/** Of a state of a machine. */
export interface StateMeta {
  /**
   * The state only holds others together: they are called by their own names, wherever they stand.
   */
  readonly isNameless?: true;
}

/** The name of the state that a machine is in, with its inner states: `draining.flushing`. */
export function stateName({
  machine,
  value,
}: Pick<AnyMachineSnapshot, 'machine' | 'value'>): string {
  return nameIn(machine.root as AnyStateNode, value as StateValue);
}

function nameIn(node: AnyStateNode | undefined, value: StateValue): string {
  if (typeof value === 'string') return value;
  return Object.entries(value)
    .flatMap(([name, inner]) => {
      if (inner === undefined) return [name];
      const child = node?.states[name];
      const rest = nameIn(child, inner);
      const meta = child?.meta as StateMeta | undefined;
      return [meta?.isNameless ? rest : `${name}.${rest}`];
    })
    .join(',');
}
