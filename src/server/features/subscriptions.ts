/**
 * subscriptions/listen: a request that stays open, and tells its client of the changes that it asked
 * for. Each is an actor.
 *
 * @see MCP 2026-07-28, basic/patterns/subscriptions
 */
import { createActor } from 'xstate';
import type { ActorRefFrom } from 'xstate';
import type { RequestContext } from '../../actors/request-context.ts';
import { subscriptionMachine } from '../../machines/subscription.machine.ts';
import { ErrorCode, ProtocolError } from '../../protocol/errors.ts';
import type { JsonObject } from '../../protocol/frames.ts';
import { MetaKey } from '../../protocol/meta.ts';
import {
  matchesFilter,
  readSubscriptionFilter,
  servedFilter,
  sizeOf,
} from '../../protocol/subscriptions.ts';
import type { SubscriptionFilter, ChangeNotification } from '../../protocol/subscriptions.ts';
import { scopeOfCall } from '../session/session-scope.ts';
import type { SessionScope } from '../session/session-scope.ts';
import { inspectOptions } from '../../actors/transitions.ts';
import type { UpstreamWatch } from '../define/upstream.ts';
import type { Feature } from './feature.ts';
import type { ServerCatalog, OfferedItems } from './registry.ts';
import { isResourceSeen } from './resources.ts';
import { LastAnswers } from './visibility.ts';
import type { ItemAsker } from './visibility.ts';
import { refuseWithoutTasks } from './feature.ts';

type Subscription = ActorRefFrom<typeof subscriptionMachine>;

/** What a subscription listens for, and whose it is. */
interface Open {
  readonly interests: SubscriptionFilter;
  /** See `RequestOrigin.clientKey`. */
  readonly party: string | undefined;
  /** Counts those of its owner, so that a recording can name it. */
  readonly number: number;
  /** Who listens, if what it sees depends on that; undefined if an upstream says what there is. */
  readonly asker: ItemAsker | undefined;
  /** What it was told of the lists that it listens for. Made once somebody sees less than others. */
  told: LastAnswers | undefined;
}

/** What a client listens to that has an upstream. */
export interface ListenedUpstream {
  readonly owner: object;
  readonly capabilities: JsonObject;
  readonly watch: (uris: readonly string[]) => Promise<UpstreamWatch>;
}

export interface SubscriptionsFeature extends Feature {
  /**
   * Tells the subscriptions of a session, or of an upstream, that something has changed.
   *
   * @param except those that do not see it, by their numbers
   */
  notice(owner: object, notice: ChangeNotification, except?: readonly number[]): void;
  /** The resources that a session, or an upstream, listens for. */
  urisOf(owner: object): readonly string[];
  /** The subscriptions of a session that do not see a change, by their numbers. */
  blindTo(session: SessionScope, method: string, uri: string | undefined): readonly number[];
}

/**
 * The subscriptions of a server's clients.
 *
 * @param hasTask true for a task that is kept of a session, and the caller's own
 * @param behind what a call may listen to if its client has an upstream
 * @param catalog what the server has, of which each may see a part
 */
export function subscriptionsFeature(
  hasTask: (session: SessionScope, taskId: string, call: RequestContext) => Promise<boolean>,
  behind: (call: RequestContext) => Promise<ListenedUpstream> | undefined,
  catalog: ServerCatalog,
): SubscriptionsFeature {
  const subscriptions = new WeakMap<object, Map<Subscription, Open>>();
  const { tools, prompts, resources, resourceTemplates } = catalog;
  const lists: { readonly [method: string]: readonly AnyItems[] } = {
    'notifications/tools/list_changed': [tools],
    'notifications/prompts/list_changed': [prompts],
    'notifications/resources/list_changed': [resources, resourceTemplates],
  };
  /** Those of these lists in which some see less than others. */
  const partial = (all: readonly AnyItems[]) => all.filter(({ isForSome }) => isForSome);
  const toldTo = (asker: ItemAsker, methods: readonly string[]) => {
    const all = methods.flatMap((method) => lists[method] ?? []);
    if (partial(all).length === 0) return undefined;
    return new LastAnswers(asker, all, tools.visibility);
  };
  const isBlind = (open: Open, method: string, uri: string | undefined) => {
    const { asker, interests } = open;
    if (!asker) return false;
    if (uri !== undefined) {
      if (partial([resources, resourceTemplates]).length === 0) return false;
      return !isResourceSeen(uri, catalog, tools.visibility.newEyes(asker));
    }
    if (open.told) return !open.told.differ(lists[method] ?? []);
    open.told = toldTo(asker, interests.lists);
    return false;
  };
  let opened = 0;

  const listen = async (
    params: JsonObject | undefined,
    call: RequestContext,
  ): Promise<JsonObject> => {
    const session = scopeOfCall(call);
    const { maxSubscriptions } = session.limits;
    const wanted = readSubscriptionFilter(params, maxSubscriptions);
    if (wanted.taskIds.length > 0) refuseWithoutTasks(call);
    const upstream = await behind(call);
    const { owner, capabilities } = upstream ?? { owner: session, ...session.server };
    const { taskIds } = wanted;
    const own = taskIds.map(async (taskId) => (await hasTask(session, taskId, call)) && taskId);
    const kept: ReadonlySet<unknown> = new Set(own.length > 0 ? await Promise.all(own) : []);
    const served = servedFilter(wanted, capabilities, (taskId) => kept.has(taskId));
    const watch = served.uris.length > 0 ? await upstream?.watch(served.uris) : undefined;
    if (watch) call.whenEnded(() => watch.end());
    const interests = watch ? { ...served, uris: watch.uris } : served;
    const open = subscriptions.get(owner) ?? new Map<Subscription, Open>();
    subscriptions.set(owner, open);
    const party = call.request.origin?.clientKey;
    const others = [...open.values()].filter((other) => other.party === party);
    refuseTooMany(interests, others, maxSubscriptions);
    const { clock, inspect } = session;
    const { id } = call.request;
    const actor = createActor(subscriptionMachine, {
      id: `subscription ${JSON.stringify(id)}`,
      input: { scope: session, id, interests, port: call },
      clock,
      ...inspectOptions('subscription', session, inspect),
    });
    const asker = upstream ? undefined : call.request;
    const told = asker && toldTo(asker, interests.lists);
    open.set(actor, { interests, party, number: ++opened, asker, told });
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
    handlers: { 'subscriptions/listen': listen },
    notice: (owner, notice, except = []) => {
      for (const [actor, { number }] of subscriptions.get(owner) ?? []) {
        if (!except.includes(number)) actor.send({ type: 'change.noticed', notice });
      }
    },
    urisOf: (owner) =>
      [...(subscriptions.get(owner)?.values() ?? [])].flatMap(({ interests }) => interests.uris),
    blindTo: (session, method, uri) => {
      const notice = { method, ...(uri === undefined ? {} : { subject: uri }) };
      return [...(subscriptions.get(session)?.values() ?? [])]
        .filter((open) => matchesFilter(open.interests, notice) && isBlind(open, method, uri))
        .map(({ number }) => number);
    },
  };
}

type AnyItems = Pick<OfferedItems<never>, 'isForSome' | 'answerTo'>;

function refuseTooMany(wanted: SubscriptionFilter, open: readonly Open[], max: number): void {
  const held = open.reduce((sum, { interests }) => sum + sizeOf(interests), 0);
  if (held + sizeOf(wanted) <= max) return;
  const message = `The client listens for ${held} things, and may for ${max}; this would be ${sizeOf(wanted)} more: end a subscription first`;
  const data = { reason: 'too-many-subscriptions', retryable: false };
  throw new ProtocolError(ErrorCode.serverUnavailable, message, data);
}
