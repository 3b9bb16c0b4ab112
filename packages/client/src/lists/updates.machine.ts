/**
 * How a host hears of changes at its server: of its lists, or of the resources that it watches. Since
 * 2026-07-28 a server tells only its subscribers. A subscription cannot be changed: the next one
 * replaces it, once it is open.
 *
 * It has no context and does nothing by itself: see {@link pureChart}.
 *
 * @see MCP 2026-07-28, basic/patterns/subscriptions
 */
import { setup } from 'xstate';
import type { SnapshotFrom } from 'xstate';
import { pureChart } from '../../../../src/machines/pure-chart.ts';
import type { PureChart } from '../../../../src/machines/pure-chart.ts';

export type UpdatesEvent =
  /** A channel is ready, to a server that needs no subscription. */
  | { readonly type: 'server.telling' }
  /** A channel is ready, to a server that tells only its subscribers. */
  | { readonly type: 'server.silent' }
  | { readonly type: 'subscription.asked' }
  | { readonly type: 'subscription.opened' }
  /** Nothing is left to be told of. */
  | { readonly type: 'subscription.ended' }
  | { readonly type: 'channel.closed' };

export const updatesMachine = setup({
  types: { context: {} as Record<never, never>, events: {} as UpdatesEvent },
}).createMachine({
  id: 'updates',
  context: {},
  initial: 'away',
  on: { 'channel.closed': '.away' },
  states: {
    away: {
      description: 'There is no channel.',
      on: { 'server.telling': 'told', 'server.silent': 'unsubscribed' },
    },
    told: {
      description: 'The server tells by itself, or is asked by a request for each resource.',
    },
    unsubscribed: {
      description: 'Nothing has been wanted of this server yet, or nothing is any more.',
      on: { 'subscription.asked': 'subscribing' },
    },
    subscribing: {
      description: 'A change may be missed until the server has acknowledged.',
      on: { 'subscription.opened': 'subscribed', 'subscription.ended': 'unsubscribed' },
    },
    subscribed: {
      on: { 'subscription.asked': 'replacing', 'subscription.ended': 'unsubscribed' },
    },
    replacing: {
      description: 'The one before stays until the next one is open, so that nothing is missed.',
      on: { 'subscription.opened': 'subscribed', 'subscription.ended': 'unsubscribed' },
    },
  },
});

/** How one connection hears. Those in the same state share one snapshot. */
export type UpdatesSnapshot = SnapshotFrom<typeof updatesMachine>;

export const updatesChart: PureChart<UpdatesSnapshot, UpdatesEvent> = pureChart(updatesMachine);
