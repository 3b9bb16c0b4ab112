/** Handlers of machine tools. */
import type { AnyStateMachine } from 'xstate';
import { systemClock } from '../../actors/clock.ts';
import { LazyModule } from '../../actors/lazy-module.ts';
import { registerMachine } from './tool-machine.ts';
import type { MachineHost, MachineHandler, Migrate } from './tool-machine.ts';

/** Machine runner, loaded with the first machine tool. */
const code = new LazyModule(() => import('./machine-run.ts'));

const defaultHost: MachineHost = { clock: systemClock };

/** Creates a handler that runs the machine with the arguments as its input and returns its output. */
export function machineHandler(machine: AnyStateMachine, migrate?: Migrate): MachineHandler {
  code.preload();
  const run: MachineHandler = async (input, context, host = defaultHost) =>
    await code.with(({ runMachine }) => {
      context.signal.throwIfAborted();
      return runMachine({ machine, migrate }, input, context, host);
    });
  registerMachine(run, machine, migrate);
  return run;
}
