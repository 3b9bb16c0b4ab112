/**
 * The stream on which a server says what answers no POST, as its host sees it: the server's own stream
 * in a session, and the stream of events of 2024-11-05. A refusal means something else before it
 * was served than after.
 *
 * It has no context and does nothing by itself: see {@link pureChart}.
 *
 * @see MCP 2025-11-25, basic/transports, "Listening for Messages from the Server"
 */
import { setup } from 'xstate';
import type { SnapshotFrom } from 'xstate';
import { pureChart } from '../../../../src/machines/pure-chart.ts';
import type { PureChart } from '../../../../src/machines/pure-chart.ts';

export type ServerPushEvent =
  /** The server has opened it or, in 2024-11-05, has named the endpoint for messages. */
  | { readonly type: 'stream.served' }
  /** Nothing more comes of it. */
  | { readonly type: 'stream.ended' };

export const serverPushMachine = setup({
  types: { context: {} as Record<never, never>, events: {} as ServerPushEvent },
}).createMachine({
  id: 'server-push',
  context: {},
  initial: 'asked',
  states: {
    asked: {
      description: 'Whether the server has such a stream is not known.',
      on: { 'stream.served': 'served', 'stream.ended': 'over' },
    },
    served: { on: { 'stream.ended': 'over' } },
    over: { type: 'final' },
  },
});

/** The state of a stream. Streams in the same state share one snapshot. */
export type ServerPushSnapshot = SnapshotFrom<typeof serverPushMachine>;

export const serverPushChart: PureChart<ServerPushSnapshot, ServerPushEvent> =
  pureChart(serverPushMachine);
