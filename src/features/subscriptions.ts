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
import { sessionIn, scopeOfCall } from '../session/session-scope.ts';
import type { SessionScope } from '../session/session-scope.ts';
import { observedMachine } from '../actors/transitions.ts';
import type { UpstreamWatch } from '../define/upstream.ts';
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

/** What a client listens to that has an upstream. */
interface ListenedUpstream {
  readonly owner: object;
  readonly capabilities: JsonObject;
  readonly watch: (uris: readonly string[]) => Promise<UpstreamWatch>;
}

export interface SubscriptionsFeature extends Feature {
  /** Tells the subscriptions of a session, or of an upstream, that something has changed. */
  notice(owner: object, notice: Notice): void;
}

/**
 * The subscriptions of a server's clients.
 *
 * @param hasTask true for a task that is kept of a session, and the caller's own
 * @param behind what a call may listen to if its client has an upstream
 */
export function subscriptionsFeature(
  hasTask: (session: SessionScope, taskId: string, call: Exchange) => boolean,
  behind: (call: Exchange) => Promise<ListenedUpstream> | undefined,
): SubscriptionsFeature {
  const subscriptions = new WeakMap<object, Map<Subscription, Open>>();

  const listen = async (params: JsonObject | undefined, call: Exchange): Promise<JsonObject> => {
    const session = scopeOfCall(call);
    const { maxSubscriptions } = session.limits;
    const wanted = readInterests(params, maxSubscriptions);
    if (wanted.taskIds.length > 0) refuseWithoutTasks(call);
    const upstream = await behind(call);
    const { owner, capabilities } = upstream ?? { owner: session, ...session.server };
    const served = servedInterests(wanted, capabilities, (taskId) =>
      hasTask(session, taskId, call),
    );
    const watch = served.uris.length > 0 ? await upstream?.watch(served.uris) : undefined;
    if (watch) call.whenEnded(() => watch.end());
    const interests = watch ? { ...served, uris: watch.uris } : served;
    const open = subscriptions.get(owner) ?? new Map<Subscription, Open>();
    subscriptions.set(owner, open);
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
    notice: (owner, notice) => {
      for (const actor of subscriptions.get(owner)?.keys() ?? []) {
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
