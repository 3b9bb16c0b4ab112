/**
 * One stream of an HTTP session on the server, over all its connections. A stream whose connection
 * was cut goes on, and its client may come back for what it has missed.
 *
 * It has no context and does nothing by itself, so a stream needs no actor: see {@link pureChart}.
 *
 * @see MCP 2025-11-25, basic/transports, "Resumability and Redelivery"
 */
import { setup } from 'xstate';
import type { SnapshotFrom } from 'xstate';
import { pureChart } from '../../../../src/machines/pure-chart.ts';
import type { PureChart } from '../../../../src/machines/pure-chart.ts';

export type SessionStreamEvent =
  /** It has a connection, the first or a later one. */
  | { readonly type: 'stream.connected' }
  /** Its connection has ended; the stream goes on. */
  | { readonly type: 'stream.cut' }
  /** Everything was said; the response came last. */
  | { readonly type: 'stream.answered' }
  /**
   * Everything was said without a response: the call was cancelled, or the stream answers no
   * request.
   */
  | { readonly type: 'stream.silenced' }
  /** The process that has written it has ended before all was said. */
  | { readonly type: 'stream.orphaned' }
  /** None of its events are kept, so it cannot be resumed. */
  | { readonly type: 'stream.forgotten' };

/** What a state means outside the machine. */
export type SessionStreamTag = /** All is said. */ 'complete';

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
      description: 'It has no connection. What is said is kept for its client.',
      on: {
        'stream.connected': 'open',
        'stream.answered': 'ended.answered',
        'stream.silenced': 'ended.silenced',
        'stream.orphaned': 'ended.orphaned',
        'stream.forgotten': 'forgotten',
      },
    },
    open: {
      description: 'It has a connection.',
      on: {
        'stream.cut': 'cut',
        'stream.answered': 'ended.answered',
        'stream.silenced': 'ended.silenced',
      },
    },
    ended: {
      description: 'All is said. Its client may fetch what is kept of it.',
      initial: 'answered',
      states: {
        answered: { tags: 'complete' },
        silenced: { tags: 'complete', description: 'There is no response.' },
        orphaned: {
          tags: 'complete',
          description: 'An error stands in the place of the response.',
        },
      },
      on: { 'stream.forgotten': 'forgotten' },
    },
    forgotten: { type: 'final', description: 'Nothing of it is kept.', tags: 'complete' },
  },
});

/** The state of a stream. Streams in the same state share one snapshot. */
export type SessionStreamSnapshot = SnapshotFrom<typeof sessionStreamMachine>;

export const sessionStreamChart: PureChart<SessionStreamSnapshot, SessionStreamEvent> =
  pureChart(sessionStreamMachine);
