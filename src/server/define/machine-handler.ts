/** The handlers of tools that are machines. */
import type { AnyStateMachine } from 'xstate';
import { systemClock } from '../../actors/clock.ts';
import { LazyModule } from '../../actors/lazy-module.ts';
import { setMachine } from './tool-machine.ts';
import type { MachineHost, MachineRun, Migrate } from './tool-machine.ts';

/** Runs machines. Loaded when the first tool that is one is defined. */
const code = new LazyModule(() => import('./machine-run.ts'));

const plainHost: MachineHost = { clock: systemClock };

/** The handler of a tool that is this machine: its input is the arguments, its output the result. */
export function machineHandler(machine: AnyStateMachine, migrate?: Migrate): MachineRun {
  code.preload();
  const run: MachineRun = async (input, context, host = plainHost) =>
    await code.with(({ runMachine }) => {
      context.signal.throwIfAborted();
      return runMachine({ machine, migrate }, input, context, host);
    });
  setMachine(run, machine, migrate);
  return run;
}
