/**
 * subscriptions/listen: a request that stays open, and tells its client of the changes that it asked
 * for. Each is an actor.
 *
 * @see MCP 2026-07-28, basic/patterns/subscriptions
 */
import { createActor } from 'xstate';
import type { ActorRefFrom } from 'xstate';
import type { Exchange } from '../actors/exchange.ts';
import { subscriptionMachine } from '../machines/subscription.machine.ts';
import { ErrorCode, ProtocolError } from '../protocol/errors.ts';
import type { JsonObject } from '../protocol/frames.ts';
import { MetaKey } from '../protocol/meta.ts';
import { readInterests, servedInterests, sizeOf } from '../protocol/subscriptions.ts';
import type { Interests, Notice } from '../protocol/subscriptions.ts';
import { PerSession, sessionIn, scopeOfCall } from '../session/session-scope.ts';
import type { SessionScope } from '../session/session-scope.ts';
import { observedMachine } from '../actors/transitions.ts';
import type { Feature } from './feature.ts';
import { ifOffered, refuseWithoutTasks } from './feature.ts';

const machine = observedMachine('subscription', subscriptionMachine, sessionIn);

type Subscription = ActorRefFrom<typeof subscriptionMachine>;

/** What a subscription listens for, and whose it is. */
interface Open {
  readonly interests: Interests;
  /** See `RequestOrigin.party`. */
  readonly party: string | undefined;
}

export interface SubscriptionsFeature extends Feature {
  /** Tells the subscriptions of a session that something has changed. */
  notice(session: SessionScope, notice: Notice): void;
}

/**
 * The subscriptions of a server's clients.
 *
 * @param hasTask true for a task that is kept of a session, and the caller's own
 */
export function subscriptionsFeature(
  hasTask: (session: SessionScope, taskId: string, call: Exchange) => boolean,
): SubscriptionsFeature {
  const subscriptions = new PerSession(() => new Map<Subscription, Open>());

  const listen = async (params: JsonObject | undefined, call: Exchange): Promise<JsonObject> => {
    const session = scopeOfCall(call);
    const { maxSubscriptions } = session.limits;
    const wanted = readInterests(params, maxSubscriptions);
    if (wanted.taskIds.length > 0) refuseWithoutTasks(call);
    const { capabilities } = session.server;
    const interests = servedInterests(wanted, capabilities, (taskId) =>
      hasTask(session, taskId, call),
    );
    const open = subscriptions.of(session);
    const party = call.request.origin?.party;
    const own = [...open.values()].filter((other) => other.party === party);
    refuseTooMany(interests, own, maxSubscriptions);
    const { clock, inspect } = session;
    const { id } = call.request;
    const actor = createActor(machine, {
      id: `subscription ${JSON.stringify(id)}`,
      input: { scope: session, id, interests, port: call },
      clock,
      ...(inspect ? { inspect } : {}),
    });
    open.set(actor, { interests, party });
    // It only waits from now on, and takes no place of those that run.
    call.park();
    const ended = new Promise<void>((resolve) => {
      actor.subscribe({
        complete: () => {
          // At once: what happens from now on does not concern it.
          open.delete(actor);
          resolve();
        },
      });
    });
    actor.start();
    call.whenClosing(() => actor.send({ type: 'connection.closing' }));
    call.whenEnded(() => {
      if (actor.getSnapshot().status === 'active') actor.send({ type: 'request.ended' });
    });
    await ended;
    return { _meta: { [MetaKey.subscriptionId]: id } };
  };

  return {
    capabilities: {},
    handlers: { 'subscriptions/listen': ifOffered(listen) },
    notice: (session, notice) => {
      for (const actor of subscriptions.known(session)?.keys() ?? []) {
        actor.send({ type: 'change.noticed', notice });
      }
    },
  };
}

function refuseTooMany(wanted: Interests, open: readonly Open[], max: number): void {
  const held = open.reduce((sum, { interests }) => sum + sizeOf(interests), 0);
  if (held + sizeOf(wanted) <= max) return;
  const message = `The client listens for ${held} things, and may for ${max}; this would be ${sizeOf(wanted)} more: end a subscription first`;
  const data = { reason: 'too-many-subscriptions', retryable: false };
  throw new ProtocolError(ErrorCode.serverUnavailable, message, data);
}
