/**
 * A node's connection to Redis: whether a command may be sent. After an answer that was late, all
 * commands are refused until Redis answers again.
 *
 * It has no context and does nothing by itself: see {@link pureChart}.
 */
import { setup } from 'xstate';
import type { SnapshotFrom } from 'xstate';
import { pureChart } from '../../../src/machines/pure-chart.ts';
import type { PureChart } from '../../../src/machines/pure-chart.ts';

export type RedisLinkEvent =
  /** The connection is made. */
  | { readonly type: 'link.connected' }
  /** The connection broke, or leads to a replica: another one is made. */
  | { readonly type: 'link.lost' }
  /** A command was not answered in time. */
  | { readonly type: 'answer.overdue' }
  /** Redis answers, in time or late. */
  | { readonly type: 'answer.received' }
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
      on: { 'link.lost': 'connecting', 'answer.overdue': 'stalled' },
    },
    stalled: {
      description: 'Commands are refused: Redis is slow.',
      on: { 'link.connected': 'ready', 'link.lost': 'connecting', 'answer.received': 'ready' },
    },
    closed: { type: 'final', description: 'Commands are refused for good.' },
  },
});

/** The state of a connection. */
export type RedisLinkSnapshot = SnapshotFrom<typeof redisLinkMachine>;

export const redisLinkChart: PureChart<RedisLinkSnapshot, RedisLinkEvent> =
  pureChart(redisLinkMachine);
