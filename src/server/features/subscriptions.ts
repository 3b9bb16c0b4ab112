/**
 * `subscriptions/listen`: a long-lived request that sends its client the requested change notifications.
 * Each subscription is an actor.
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
import { isResourceVisible } from './resources.ts';
import { LastAnswers } from './visibility.ts';
import type { ItemCaller } from './visibility.ts';
import { requireTaskSupport } from './feature.ts';

type Subscription = ActorRefFrom<typeof subscriptionMachine>;

/** An open subscription. */
interface OpenSubscription {
  readonly interests: SubscriptionFilter;
  /** See `RequestOrigin.clientKey`. */
  readonly party: string | undefined;
  /** Sequence number, by which recordings refer to the subscription. */
  readonly number: number;
  /** Caller, for visibility checks; undefined for subscriptions to an upstream. */
  readonly caller: ItemCaller | undefined;
  /** Last sent state of the lists; undefined until callers see different items. */
  lastAnswers: LastAnswers | undefined;
}

/** Subscription target of a client with an upstream. */
export interface UpstreamListenTarget {
  readonly owner: object;
  readonly capabilities: JsonObject;
  readonly watch: (uris: readonly string[]) => Promise<UpstreamWatch>;
}

export interface SubscriptionsFeature extends Feature {
  /**
   * Notifies the subscriptions of a session or upstream of a change.
   *
   * @param except numbers of subscriptions to skip
   */
  notice(owner: object, notice: ChangeNotification, except?: readonly number[]): void;
  /** Resources that a session or upstream is subscribed to. */
  urisOf(owner: object): readonly string[];
  /** Numbers of the session's subscriptions that must not see a change. */
  excludedFrom(session: SessionScope, method: string, uri: string | undefined): readonly number[];
}

/**
 * Creates the subscriptions feature.
 *
 * @param hasTask true if the session has the task and it belongs to the caller
 * @param behind subscription target of a call whose client has an upstream
 * @param catalog registries of the server
 */
export function subscriptionsFeature(
  hasTask: (session: SessionScope, taskId: string, call: RequestContext) => Promise<boolean>,
  behind: (call: RequestContext) => Promise<UpstreamListenTarget> | undefined,
  catalog: ServerCatalog,
): SubscriptionsFeature {
  const subscriptions = new WeakMap<object, Map<Subscription, OpenSubscription>>();
  const { tools, prompts, resources, resourceTemplates } = catalog;
  const lists: { readonly [method: string]: readonly AnyItems[] } = {
    'notifications/tools/list_changed': [tools],
    'notifications/prompts/list_changed': [prompts],
    'notifications/resources/list_changed': [resources, resourceTemplates],
  };
  /** The lists that differ between callers. */
  const partial = (all: readonly AnyItems[]) =>
    all.filter(({ isRestricted: isForSome }) => isForSome);
  const answersFor = (caller: ItemCaller, methods: readonly string[]) => {
    const all = methods.flatMap((method) => lists[method] ?? []);
    if (partial(all).length === 0) return undefined;
    return new LastAnswers(caller, all, tools.visibility);
  };
  const isBlind = (open: OpenSubscription, method: string, uri: string | undefined) => {
    const { caller, interests } = open;
    if (!caller) return false;
    if (uri !== undefined) {
      if (partial([resources, resourceTemplates]).length === 0) return false;
      return !isResourceVisible(uri, catalog, tools.visibility.freshViewFor(caller));
    }
    if (open.lastAnswers) return !open.lastAnswers.haveChanged(lists[method] ?? []);
    open.lastAnswers = answersFor(caller, interests.lists);
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
    if (wanted.taskIds.length > 0) requireTaskSupport(call);
    const upstream = await behind(call);
    const { owner, capabilities } = upstream ?? { owner: session, ...session.server };
    const { taskIds } = wanted;
    const own = taskIds.map(async (taskId) => (await hasTask(session, taskId, call)) && taskId);
    const kept: ReadonlySet<unknown> = new Set(own.length > 0 ? await Promise.all(own) : []);
    const served = servedFilter(wanted, capabilities, (taskId) => kept.has(taskId));
    const watch = served.uris.length > 0 ? await upstream?.watch(served.uris) : undefined;
    if (watch) call.whenEnded(() => watch.end());
    const interests = watch ? { ...served, uris: watch.uris } : served;
    const open = subscriptions.get(owner) ?? new Map<Subscription, OpenSubscription>();
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
    const caller = upstream ? undefined : call.request;
    const lastAnswers = caller && answersFor(caller, interests.lists);
    open.set(actor, { interests, party, number: ++opened, caller: caller, lastAnswers });
    // A waiting subscription does not count as a running call.
    call.park();
    const ended = new Promise<void>((resolve) => {
      actor.subscribe({
        complete: () => {
          // Synchronous, so that later changes are not sent to it.
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
    excludedFrom: (session, method, uri) => {
      const notice = { method, ...(uri === undefined ? {} : { subject: uri }) };
      return [...(subscriptions.get(session)?.values() ?? [])]
        .filter((open) => matchesFilter(open.interests, notice) && isBlind(open, method, uri))
        .map(({ number }) => number);
    },
  };
}

type AnyItems = Pick<OfferedItems<never>, 'isRestricted' | 'fingerprintFor'>;

function refuseTooMany(
  wanted: SubscriptionFilter,
  open: readonly OpenSubscription[],
  max: number,
): void {
  const held = open.reduce((sum, { interests }) => sum + sizeOf(interests), 0);
  if (held + sizeOf(wanted) <= max) return;
  const message = `Too many subscriptions: the client has ${held} of at most ${max} and requests ${sizeOf(wanted)} more. End a subscription first`;
  const data = { reason: 'too-many-subscriptions', retryable: false };
  throw new ProtocolError(ErrorCode.serverUnavailable, message, data);
}
