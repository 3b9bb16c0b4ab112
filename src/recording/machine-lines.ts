/** What the machines do, as lines of a recording. */
import type { AnyActorRef } from 'xstate';
import { stateName } from '../machines/state-name.ts';
import type { TransitionListener } from '../session/transitions.ts';
import type { TransitionLine } from './format.ts';

/** Gives what hears one session's machines. Tasks are counted in the order in which they are first heard. */
export function machineLines(put: (line: TransitionLine) => void): TransitionListener {
  const tasks = new WeakMap<AnyActorRef, number>();
  let counted = 0;
  const numberOf = (actor: AnyActorRef): number => {
    const known = tasks.get(actor);
    if (known !== undefined) return known;
    tasks.set(actor, ++counted);
    return counted;
  };
  return ({ machine, actor, event, before, after }) =>
    put({
      machine,
      ...(machine === 'task' ? { task: numberOf(actor) } : {}),
      on: event.type,
      from: stateName(before),
      to: stateName(after),
    });
}
