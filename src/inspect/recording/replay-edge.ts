/** The edge of a replayed session: the world as the recording has it. */
import type { Clock } from '../../actors/clock.ts';
import type { Transport } from '../../server/transport.ts';
import type { MachineName, Notify, SessionEdge } from '../../server/session-edge.ts';
import type { OutputOfSession, RecordingHeader } from './format.ts';
import { heardMachine } from './heard-machine.ts';
import { timeOfDayAt } from './time-of-day.ts';

/** What the edges of all replays have in common: they hear the machines, and the time and the ids are the recording's. */
export function replayEdge(options: {
  readonly header: RecordingHeader;
  readonly clock: Clock;
  readonly transport: Transport;
  /** An id as it was recorded; undefined where none was. */
  random(of: string): string | undefined;
  output(line: OutputOfSession): void;
  /** Called before and after the session tells its host of something. */
  afterwards(): void;
}): SessionEdge {
  const { header, clock, transport, random, output, afterwards } = options;
  let tasks = 0;
  return {
    clock: () => clock,
    timeOfDay: () => () => timeOfDayAt(header, clock.now()),
    randomId: (of, make) => random(of) ?? make(),
    transport: () => transport,
    begin: ({ server }) => server,
    handlers: (handlers) => handlers,
    resolveRoots: (resolve) => resolve,
    notify: (notify: Notify) => notify,
    shutdown: (shutdown) => shutdown,
    ping: (_, signal, send) => send(signal),
    listener: (_, call) => {
      call();
      afterwards();
    },
    machine: (name: MachineName, machine) => {
      const task = name === 'task' ? { task: ++tasks } : {};
      return heardMachine(machine, (transition) =>
        output({ machine: name, ...task, ...transition }),
      );
    },
    closed: (cause) =>
      output({ closed: cause.kind, ...('reason' in cause ? { reason: cause.reason } : {}) }),
  };
}
