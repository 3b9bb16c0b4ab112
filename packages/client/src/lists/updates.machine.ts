/**
 * Change notifications from a server, for its lists or for watched resources. Since 2026-07-28 a
 * server notifies only subscribers. A subscription cannot be changed: the next one replaces it,
 * once open.
 *
 * The machine has no context and no actions: see {@link pureChart}.
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
  /** A channel is ready, to a server that notifies only subscribers. */
  | { readonly type: 'server.silent' }
  | { readonly type: 'subscription.asked' }
  | { readonly type: 'subscription.opened' }
  /** Nothing is left to subscribe to. */
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
      description: 'No channel.',
      on: { 'server.telling': 'told', 'server.silent': 'unsubscribed' },
    },
    told: {
      description:
        'The server sends notifications without a subscription, or per-resource requests are used.',
    },
    unsubscribed: {
      description: 'Nothing to subscribe to.',
      on: { 'subscription.asked': 'subscribing' },
    },
    subscribing: {
      description: 'Waiting for the acknowledgment; changes may be missed.',
      on: { 'subscription.opened': 'subscribed', 'subscription.ended': 'unsubscribed' },
    },
    subscribed: {
      on: { 'subscription.asked': 'replacing', 'subscription.ended': 'unsubscribed' },
    },
    replacing: {
      description: 'The open subscription stays until its replacement is open.',
      on: { 'subscription.opened': 'subscribed', 'subscription.ended': 'unsubscribed' },
    },
  },
});

/** State of change notifications. Charts in the same state share one snapshot. */
export type UpdatesSnapshot = SnapshotFrom<typeof updatesMachine>;

export const updatesChart: PureChart<UpdatesSnapshot, UpdatesEvent> = pureChart(updatesMachine);
