/** The edge of a replayed session: the world as the recording has it. */
import type { Clock } from '../../actors/clock.ts';
import type { ServerDescription } from '../../protocol/implementation.ts';
import type { Transport } from '../../transports/transport.ts';
import { plainEdge } from '../../session/session-edge.ts';
import type { SessionEdge } from '../../session/session-edge.ts';
import type { OutputOfSession, RecordingHeader } from '../format.ts';
import { machineLines } from '../machine-lines.ts';
import { timeOfDayAt } from '../time-of-day.ts';

/** What the edges of all replays have in common: they hear the machines, and the time and the ids are the recording's. */
export function replayEdge(options: {
  readonly header: RecordingHeader;
  readonly clock: Clock;
  readonly transport: Transport;
  /** An id as it was recorded; undefined where none was. */
  random(of: string): string | undefined;
  output(line: OutputOfSession): void;
  /** What `initialize` is answered with, given what the server that plays would answer. */
  server(live: ServerDescription): ServerDescription;
  /** Called before and after the session tells its host of something. */
  afterwards(): void;
}): SessionEdge {
  const { header, clock, transport, random, output, server, afterwards } = options;
  return {
    ...plainEdge,
    clock: () => clock,
    timeOfDay: () => timeOfDayAt(header, clock.now()),
    randomId: (of, make) => random(of) ?? make(),
    transport: () => transport,
    begin: ({ server: live, transitions }) => {
      transitions.listen(machineLines(output));
      return server(live);
    },
    listener: (_, call) => {
      call();
      afterwards();
    },
    closed: (cause) =>
      output({ closed: cause.kind, ...('reason' in cause ? { reason: cause.reason } : {}) }),
  };
}
