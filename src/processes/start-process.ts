/** Starts a process that serves us, as the actor of its machine. */
import { createActor } from 'xstate';
import type { Actor } from 'xstate';
import { observedMachine, unobserved } from '../actors/transitions.ts';
import { processMachine } from '../machines/process.machine.ts';
import type { StopTimes } from '../machines/process.machine.ts';
import { childActor } from './child.actor.ts';
import type { ChildScope } from './child.actor.ts';

/** The chart of a process, with what starts and ends real ones. */
const realProcessMachine = observedMachine(
  'process',
  processMachine.provide({ actors: { child: childActor } }),
  (input) => (input as { readonly scope: ChildScope }).scope.observed ?? unobserved,
);

/** One run of a process. Send it `process.stop`; the last that it emits is `process.gone`. */
export type ProcessActor = Actor<typeof processMachine>;

/** Makes the actor of a process. Listen to it, then start it. */
export function processActor(scope: ChildScope, times: StopTimes): ProcessActor {
  const { clock } = scope;
  return createActor(realProcessMachine, { id: 'process', input: { scope, times }, clock });
}
