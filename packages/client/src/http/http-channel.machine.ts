/**
 * State of an HTTP channel and its session. The machine has no context, so the channel needs no
 * actor for it: see {@link pureChart}.
 *
 * @see MCP 2025-11-25, basic/transports, "Session Management"
 */
import { setup } from 'xstate';
import type { SnapshotFrom } from 'xstate';
import { pureChart } from '../../../../src/machines/pure-chart.ts';
import type { StateMeta } from '../../../../src/machines/names.ts';

export type HttpChannelEvent =
  /** The handshake is done: each request carries the revision from now on. */
  | { readonly type: 'revision.agreed' }
  /** The server accepted `initialize`. */
  | { readonly type: 'session.greeted' }
  /** The server accepted `notifications/initialized`. */
  | { readonly type: 'session.initialized' }
  /** The server accepted a request of the session. */
  | { readonly type: 'session.proven' }
  /** The server does not know the session. */
  | { readonly type: 'session.expired' }
  /** Ends the session and everything open. */
  | { readonly type: 'channel.close' }
  | { readonly type: 'channel.ended' };

/** Tags of the channel's states. */
export type HttpChannelTag =
  /** A session started with `initialize` exists, so the server understands cancellations. */
  | 'session'
  /** The session has served a request: if it expires, a new one is worth a try. */
  | 'proven';

export const httpChannelMachine = setup({
  types: {
    context: {} as Record<never, never>,
    events: {} as HttpChannelEvent,
    tags: {} as HttpChannelTag,
  },
}).createMachine({
  id: 'http-channel',
  context: {},
  initial: 'open',
  states: {
    open: {
      type: 'parallel',
      meta: { isGroup: true } satisfies StateMeta,
      on: { 'channel.close': 'closing', 'channel.ended': 'over', 'session.expired': 'open' },
      states: {
        handshake: {
          initial: 'greeting',
          states: {
            greeting: {
              description: 'No revision is negotiated.',
              on: { 'revision.agreed': 'done' },
            },
            done: {},
          },
        },
        session: {
          initial: 'none',
          states: {
            none: {
              description: 'Modern servers have no sessions.',
              on: { 'session.greeted': 'greeted' },
            },
            greeted: {
              tags: 'session',
              on: {
                'session.greeted': 'greeted',
                'session.initialized': 'initialized',
                'session.proven': 'proven',
              },
            },
            initialized: {
              description: 'The session has not served a request yet.',
              tags: 'session',
              on: { 'session.greeted': 'greeted', 'session.proven': 'proven' },
            },
            proven: {
              tags: ['session', 'proven'],
              on: { 'session.greeted': 'greeted' },
            },
          },
        },
      },
    },
    closing: {
      description: 'Sending queued notifications and the end of the session.',
      on: { 'channel.ended': 'over' },
    },
    over: { type: 'final' },
  },
});

/** State of a channel. Channels in the same state share one snapshot. */
export type HttpChannelSnapshot = SnapshotFrom<typeof httpChannelMachine>;

export const httpChannelChart = pureChart<HttpChannelSnapshot, HttpChannelEvent>(
  httpChannelMachine,
);
