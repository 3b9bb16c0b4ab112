/**
 * Stream for messages that answer no POST: the standalone stream of a session, and the event stream
 * of 2024-11-05. A rejection has a different meaning before the stream was served than after.
 *
 * The machine has no context and no actions: see {@link pureChart}.
 *
 * @see MCP 2025-11-25, basic/transports, "Listening for Messages from the Server"
 */
import { setup } from 'xstate';
import type { SnapshotFrom } from 'xstate';
import { pureChart } from '../../../../src/machines/pure-chart.ts';
import type { PureChart } from '../../../../src/machines/pure-chart.ts';

export type ServerPushEvent =
  /** The server opened the stream or, in 2024-11-05, named the endpoint for messages. */
  | { readonly type: 'stream.served' }
  /** The stream ended for good. */
  | { readonly type: 'stream.ended' };

export const serverPushMachine = setup({
  types: { context: {} as Record<never, never>, events: {} as ServerPushEvent },
}).createMachine({
  id: 'server-push',
  context: {},
  initial: 'asked',
  states: {
    asked: {
      description: 'Requested; the server may not offer this stream.',
      on: { 'stream.served': 'served', 'stream.ended': 'over' },
    },
    served: { on: { 'stream.ended': 'over' } },
    over: { type: 'final' },
  },
});

/** State of a stream. Streams in the same state share one snapshot. */
export type ServerPushSnapshot = SnapshotFrom<typeof serverPushMachine>;

export const serverPushChart: PureChart<ServerPushSnapshot, ServerPushEvent> =
  pureChart(serverPushMachine);
