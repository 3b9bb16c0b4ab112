/**
 * Subscription of a client (since 2026-07-28): a long-lived request that sends notifications until
 * either side ends it.
 *
 * While the client does not read, each distinct change is queued once, so the queue never exceeds the
 * subscription's filter.
 *
 * @see MCP 2026-07-28, basic/patterns/subscriptions
 */
import { assign, setup } from 'xstate';
import { MetaKey, withMeta } from '../protocol/meta.ts';
import { Method } from '../protocol/methods.ts';
import type { JsonObject, InboundRequestId } from '../protocol/frames.ts';
import { matchesFilter, filterParams } from '../protocol/subscriptions.ts';
import type { SubscriptionFilter, ChangeNotification } from '../protocol/subscriptions.ts';
import type { InputScope } from './peer-ports.ts';

/** Connection of the request. */
export interface SubscriptionPort {
  notify(method: string, params: JsonObject): void;
  /** True if the client reads its stream. */
  readonly isWritable: boolean;
  /** Calls back when the client reads again. */
  whenWritable(callback: () => void): void;
}

export interface SubscriptionInput extends InputScope {
  /** Id of the request. */
  readonly id: InboundRequestId;
  /** The agreed filter. */
  readonly interests: SubscriptionFilter;
  readonly port: SubscriptionPort;
}

/** Events of the machine. */
export type SubscriptionEvent =
  /** Any change, whether or not the client subscribed to it. */
  | { readonly type: 'change.noticed'; readonly notice: ChangeNotification }
  /** The client reads again. */
  | { readonly type: 'output.flowing' }
  /** The connection is closing: the subscription ends with a result. */
  | { readonly type: 'connection.closing' }
  /** The client cancelled the request or disconnected. */
  | { readonly type: 'request.ended' };

export interface SubscriptionContext extends SubscriptionInput {
  /** Unsent changes without duplicates, oldest first. */
  readonly held: readonly ChangeNotification[];
}

type Noticed = Extract<SubscriptionEvent, { readonly type: 'change.noticed' }>;

const same = (one: ChangeNotification, other: ChangeNotification) =>
  one.method === other.method && one.subject === other.subject;

function notify({ id, port }: SubscriptionInput, { method, params }: ChangeNotification): void {
  port.notify(method, withMeta(params?.() ?? {}, { [MetaKey.subscriptionId]: id }));
}

export const subscriptionMachine = setup({
  types: {
    input: {} as SubscriptionInput,
    context: {} as SubscriptionContext,
    events: {} as SubscriptionEvent,
  },
  guards: {
    isFilteredOut: ({ context }, { notice }: Noticed) => !matchesFilter(context.interests, notice),
    isCongested: ({ context }) => !context.port.isWritable,
    isHeld: ({ context }, { notice }: Noticed) => context.held.some((held) => same(held, notice)),
  },
  actions: {
    acknowledge: ({ context: { id, interests, port } }) => {
      port.notify(Method.subscriptionAcknowledged, {
        _meta: { [MetaKey.subscriptionId]: id },
        notifications: filterParams(interests),
      });
    },
    notify: ({ context }, { notice }: Noticed) => notify(context, notice),
    hold: assign({
      held: ({ context }, { notice }: Noticed) => [...context.held, notice],
    }),
    awaitFlow: ({ context, self }) =>
      context.port.whenWritable(() => {
        // The subscription may have ended meanwhile.
        if (self.getSnapshot().status === 'active') self.send({ type: 'output.flowing' });
      }),
    notifyHeld: ({ context }) => {
      for (const notice of context.held) notify(context, notice);
    },
    clearHeld: assign({ held: [] }),
  },
}).createMachine({
  id: 'subscription',
  context: ({ input }) => ({ ...input, held: [] }),
  initial: 'listening',
  entry: 'acknowledge',
  on: {
    'connection.closing': '.closed',
    'request.ended': '.ended',
  },
  states: {
    listening: {
      description: 'The client reads; changes are sent immediately.',
      on: {
        'change.noticed': [
          { guard: { type: 'isFilteredOut', params: ({ event }) => event } },
          {
            guard: 'isCongested',
            target: 'congested',
            actions: { type: 'hold', params: ({ event }) => event },
          },
          { actions: { type: 'notify', params: ({ event }) => event } },
        ],
      },
    },
    congested: {
      description: 'The client does not read; each distinct change is queued once.',
      entry: 'awaitFlow',
      on: {
        'change.noticed': [
          { guard: { type: 'isFilteredOut', params: ({ event }) => event } },
          { guard: { type: 'isHeld', params: ({ event }) => event } },
          { actions: { type: 'hold', params: ({ event }) => event } },
        ],
        'output.flowing': { target: 'listening', actions: ['notifyHeld', 'clearHeld'] },
      },
    },
    closed: {
      description: 'The request was answered.',
      type: 'final',
    },
    ended: {
      description: 'The client ended the subscription.',
      type: 'final',
    },
  },
});
