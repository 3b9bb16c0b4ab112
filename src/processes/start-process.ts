/** Starts a process that serves us, as the actor of its machine. */
import { createActor } from 'xstate';
import type { Actor } from 'xstate';
import { processMachine } from '../machines/process.machine.ts';
import type { StopTimes } from '../machines/process.machine.ts';
import { childActor } from './child.actor.ts';
import type { ChildScope } from './child.actor.ts';

/** The chart of a process, with what starts and ends real ones. */
const realProcessMachine = processMachine.provide({ actors: { child: childActor } });

/** One run of a process. Send it `process.stop`; the last that it emits is `process.gone`. */
export type ProcessActor = Actor<typeof processMachine>;

/**
 * Makes the actor of a process. Listen to it, then start it.
 *
 * @param machine by default the chart itself; it may be one whose transitions are observed
 */
export function processActor(
  scope: ChildScope,
  times: StopTimes,
  machine: typeof processMachine = realProcessMachine,
): ProcessActor {
  return createActor(machine, { input: { scope, times }, clock: scope.clock });
}
