/**
 * One client's subscription, since 2026-07-28: a request that lives until either side ends it, and
 * the notifications that its client gets meanwhile.
 *
 * While the client does not read, each distinct change is remembered once and sent when it reads
 * again: a subscription never holds more than its own filter.
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

/** The connection of the request, as its subscription sees it. */
export interface SubscriptionPort {
  notify(method: string, params: JsonObject): void;
  /** Whether the client reads its stream. */
  readonly isWritable: boolean;
  /** Calls back once it does. */
  whenWritable(callback: () => void): void;
}

export interface SubscriptionInput extends InputScope {
  /** The id of the request. */
  readonly id: InboundRequestId;
  /** The agreed filter. */
  readonly interests: SubscriptionFilter;
  readonly port: SubscriptionPort;
}

/** What the machine takes. */
export type SubscriptionEvent =
  /** Something has changed, whether the client subscribed to it or not. */
  | { readonly type: 'change.noticed'; readonly notice: ChangeNotification }
  /** The client reads again. */
  | { readonly type: 'output.flowing' }
  /** No new requests are served: the subscription ends with its result. */
  | { readonly type: 'connection.closing' }
  /** The client has cancelled the request, or its connection is gone. */
  | { readonly type: 'request.ended' };

export interface SubscriptionContext extends SubscriptionInput {
  /** The changes that the client has yet to be told, each once, in order. */
  readonly held: readonly ChangeNotification[];
}

type Noticed = Extract<SubscriptionEvent, { readonly type: 'change.noticed' }>;

const same = (one: ChangeNotification, other: ChangeNotification) =>
  one.method === other.method && one.subject === other.subject;

function tell({ id, port }: SubscriptionInput, { method, params }: ChangeNotification): void {
  port.notify(method, withMeta(params?.() ?? {}, { [MetaKey.subscriptionId]: id }));
}

export const subscriptionMachine = setup({
  types: {
    input: {} as SubscriptionInput,
    context: {} as SubscriptionContext,
    events: {} as SubscriptionEvent,
  },
  guards: {
    isOfNoInterest: ({ context }, { notice }: Noticed) => !matchesFilter(context.interests, notice),
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
    tell: ({ context }, { notice }: Noticed) => tell(context, notice),
    hold: assign({
      held: ({ context }, { notice }: Noticed) => [...context.held, notice],
    }),
    awaitFlow: ({ context, self }) =>
      context.port.whenWritable(() => {
        // The subscription may have ended meanwhile.
        if (self.getSnapshot().status === 'active') self.send({ type: 'output.flowing' });
      }),
    tellHeld: ({ context }) => {
      for (const notice of context.held) tell(context, notice);
    },
    letGo: assign({ held: [] }),
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
      description: 'The client reads, and is told at once.',
      on: {
        'change.noticed': [
          { guard: { type: 'isOfNoInterest', params: ({ event }) => event } },
          {
            guard: 'isCongested',
            target: 'congested',
            actions: { type: 'hold', params: ({ event }) => event },
          },
          { actions: { type: 'tell', params: ({ event }) => event } },
        ],
      },
    },
    congested: {
      description: 'The client does not read: what happens is remembered, each thing once.',
      entry: 'awaitFlow',
      on: {
        'change.noticed': [
          { guard: { type: 'isOfNoInterest', params: ({ event }) => event } },
          { guard: { type: 'isHeld', params: ({ event }) => event } },
          { actions: { type: 'hold', params: ({ event }) => event } },
        ],
        'output.flowing': { target: 'listening', actions: ['tellHeld', 'letGo'] },
      },
    },
    closed: {
      description: 'The request is answered: nothing more comes.',
      type: 'final',
    },
    ended: {
      description: 'The client has ended it, and is told nothing more.',
      type: 'final',
    },
  },
});
