/**
 * State of one stream of an HTTP session, over all its connections. A stream survives a cut
 * connection, and the client may resume it.
 *
 * A pure chart without context or actor: see {@link pureChart}.
 *
 * @see MCP 2025-11-25, basic/transports, "Resumability and Redelivery"
 */
import { setup } from 'xstate';
import type { SnapshotFrom } from 'xstate';
import { pureChart } from '../../../../src/machines/pure-chart.ts';
import type { PureChart } from '../../../../src/machines/pure-chart.ts';

export type SessionStreamEvent =
  /** A first or later connection was made. */
  | { readonly type: 'stream.connected' }
  /** The connection closed; the stream can be resumed. */
  | { readonly type: 'stream.cut' }
  /** The response was sent as the last message. */
  | { readonly type: 'stream.answered' }
  /** The stream ended without a response: its call was cancelled, or it is a standalone stream. */
  | { readonly type: 'stream.silenced' }
  /** The process that wrote the stream ended before completing it. */
  | { readonly type: 'stream.orphaned' }
  /** The call continues in this process. */
  | { readonly type: 'stream.adopted' }
  /** No events are left in the log, so the stream cannot be resumed. */
  | { readonly type: 'stream.forgotten' };

/** Meaning of the states for users of the machine. */
export type SessionStreamTag = /** The last message was sent. */ 'complete';

export const sessionStreamMachine = setup({
  types: {
    context: {} as Record<never, never>,
    events: {} as SessionStreamEvent,
    tags: {} as SessionStreamTag,
  },
}).createMachine({
  id: 'session-stream',
  context: {},
  initial: 'cut',
  states: {
    cut: {
      description: 'No connection. Events are logged for the client.',
      on: {
        'stream.connected': 'open',
        'stream.answered': 'ended.answered',
        'stream.silenced': 'ended.silenced',
        'stream.orphaned': 'ended.orphaned',
        'stream.forgotten': 'forgotten',
      },
    },
    open: {
      description: 'Connected.',
      on: {
        'stream.cut': 'cut',
        'stream.answered': 'ended.answered',
        'stream.silenced': 'ended.silenced',
      },
    },
    ended: {
      description: 'Complete. The client may fetch the logged events.',
      initial: 'answered',
      states: {
        answered: { tags: 'complete' },
        silenced: { tags: 'complete', description: 'Without a response.' },
        orphaned: {
          tags: 'complete',
          description:
            'The process ended; the client gets an error instead of the response, unless the call continues.',
          on: { 'stream.adopted': '#session-stream.cut' },
        },
      },
      on: { 'stream.forgotten': 'forgotten' },
    },
    forgotten: { type: 'final', description: 'No events are left in the log.', tags: 'complete' },
  },
});

/** State of a stream. Streams in the same state share one snapshot. */
export type SessionStreamSnapshot = SnapshotFrom<typeof sessionStreamMachine>;

export const sessionStreamChart: PureChart<SessionStreamSnapshot, SessionStreamEvent> =
  pureChart(sessionStreamMachine);
