/**
 * State of a connection to Redis: whether commands may be sent. After a late reply, commands are
 * rejected until Redis answers again.
 *
 * A pure chart without context or actor: see {@link pureChart}.
 */
import { setup } from 'xstate';
import type { SnapshotFrom } from 'xstate';
import { pureChart } from '../../../src/machines/pure-chart.ts';
import type { PureChart } from '../../../src/machines/pure-chart.ts';

export type RedisLinkEvent =
  /** The connection was established. */
  | { readonly type: 'link.connected' }
  /** The connection broke or leads to a replica; another one is opened. */
  | { readonly type: 'link.lost' }
  /** A command timed out. */
  | { readonly type: 'reply.timedOut' }
  /** Redis replied, in time or late. */
  | { readonly type: 'reply.received' }
  /** The node closes the connection. */
  | { readonly type: 'link.close' };

export const redisLinkMachine = setup({
  types: { context: {} as Record<never, never>, events: {} as RedisLinkEvent },
}).createMachine({
  id: 'redis-link',
  context: {},
  initial: 'connecting',
  on: { 'link.close': '.closed' },
  states: {
    connecting: {
      description: 'Commands are refused: Redis is away.',
      on: { 'link.connected': 'ready' },
    },
    ready: {
      description: 'Commands are sent.',
      on: { 'link.lost': 'connecting', 'reply.timedOut': 'stalled' },
    },
    stalled: {
      description: 'Commands are refused: Redis is slow.',
      on: { 'link.connected': 'ready', 'link.lost': 'connecting', 'reply.received': 'ready' },
    },
    closed: { type: 'final', description: 'Commands are refused for good.' },
  },
});

/** State of a connection. */
export type RedisLinkSnapshot = SnapshotFrom<typeof redisLinkMachine>;

export const redisLinkChart: PureChart<RedisLinkSnapshot, RedisLinkEvent> =
  pureChart(redisLinkMachine);
