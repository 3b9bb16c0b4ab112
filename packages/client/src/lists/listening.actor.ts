/**
 * Subscriptions to servers that send notifications only to subscribers: one for all list changes,
 * and one for the watched resources.
 *
 * @see MCP 2026-07-28, basic/patterns/subscriptions
 */
import { createActor, fromPromise } from 'xstate';
import type { ActorRefFrom } from 'xstate';
import type { Clock } from '../../../../src/actors/clock.ts';
import { inspectOptions, chartActor } from '../../../../src/actors/transitions.ts';
import type { MachineActor, ObservedScope } from '../../../../src/actors/transitions.ts';
import { listeningMachine } from './listening.machine.ts';
import type { ListeningInput } from './listening.machine.ts';
import { updatesChart } from './updates.machine.ts';
import type { UpdatesEvent, UpdatesSnapshot } from './updates.machine.ts';
import { isJsonObject } from '../../../../src/protocol/classify.ts';
import type { JsonObject, RequestId } from '../../../../src/protocol/frames.ts';
import { MetaKey } from '../../../../src/protocol/meta.ts';
import { Method } from '../../../../src/protocol/methods.ts';
import type { OwnRequest } from './ask-list.actor.ts';
import { maxDelayMs } from '../../../../src/actors/clock.ts';
import { reconnectJitterMs, watchSleep } from '../../../../src/actors/sleep-watch.ts';

/** Dependencies of a subscription on its connection. */
export interface ListeningPort {
  /** Called with the id of each requested subscription. */
  readonly listening?: ((id: RequestId) => void) | undefined;
  readonly clock: Clock;
  /** Delays before reopening a subscription, ms. */
  readonly limits: { readonly listenRetryMs: number; readonly maxListenRetryMs: number };
  readonly request: OwnRequest;
  /** Scope of the connection, whose watchers see the subscriptions too. */
  readonly observed: ObservedScope;
}

/** Callbacks of a subscription. */
export interface ListeningOwner {
  /** The subscription was opened or reopened. @param filter the part accepted by the server */
  opened(filter: JsonObject): void;
  /** The subscription was cut or failed to open; it will be retried. */
  cut(error: unknown): void;
  /** The server does not support subscriptions. */
  refused(error: unknown): void;
}

/** A subscription on one channel. */
export class Subscription {
  readonly #port: ListeningPort;
  readonly #actor: ActorRefFrom<typeof listeningMachine>;
  /** Stops watching for system sleep. */
  readonly #wakeful: () => void;
  /** Id of the open request. */
  #id: RequestId | undefined = undefined;

  /** @param of the purpose, which names the subscription within its connection */
  constructor(
    port: ListeningPort,
    filter: JsonObject,
    owner: ListeningOwner,
    of: 'lists' | 'resources' | 'task',
  ) {
    this.#port = port;
    const { listenRetryMs: retryMs, maxListenRetryMs: maxRetryMs } = port.limits;
    const input = { scope: this, filter, retryMs, maxRetryMs, scatterMs: reconnectJitterMs };
    this.#actor = createActor(machine, {
      id: `${of} listening`,
      input,
      clock: port.clock,
      ...inspectOptions('listening', this.observed),
    });
    this.#actor.on('listening.opened', ({ filter: agreed }) => owner.opened(agreed));
    this.#actor.on('listening.cut', ({ error }) => owner.cut(error));
    this.#actor.on('listening.refused', ({ error }) => owner.refused(error));
    this.#actor.start();
    this.#wakeful = watchSleep(port.clock, () =>
      this.#actor.send({ type: 'subscription.outslept' }),
    );
  }

  /** True while the acknowledgment is pending. */
  get isOpening(): boolean {
    return this.#actor.getSnapshot().matches({ asked: 'opening' });
  }

  get observed(): ObservedScope {
    return this.#port.observed;
  }

  get machine(): MachineActor {
    return { machine: 'listening', actor: this.#actor };
  }

  /** Handles an acknowledgment, if it is for this subscription. */
  acknowledged(params: JsonObject | undefined): void {
    const meta = params?.['_meta'];
    const id = isJsonObject(meta) ? meta[MetaKey.subscriptionId] : undefined;
    if (id === undefined || id !== this.#id) return;
    const filter = params?.['notifications'];
    const agreed = isJsonObject(filter) ? filter : {};
    this.#actor.send({ type: 'subscription.acknowledged', filter: agreed });
  }

  /** Ends the subscription, and notifies the server. */
  stop(): void {
    this.#wakeful();
    this.#actor.stop();
  }

  /** Sends the request; resolves when the server ends it. */
  async ask(filter: JsonObject, signal: AbortSignal): Promise<void> {
    await this.#port.request(
      Method.listen,
      { notifications: filter },
      {
        signal,
        // The longest timer; the subscription is reopened after that.
        timeoutMs: maxDelayMs,
        maxTotalMs: maxDelayMs,
        whenAway: 'refuse',
        sent: (id) => {
          this.#id = id;
          this.#port.listening?.(id);
        },
      },
    );
  }
}

/** Change notifications of one connection: the chart and its subscriptions. */
export class Updates {
  readonly #of: 'lists' | 'resources';
  #state = updatesChart.initial;
  /** At most two: the open one, and the next, which replaces it. */
  #subscriptions: readonly Subscription[] = [];

  /** @param of the purpose, which names the chart within its connection */
  constructor(of: 'lists' | 'resources') {
    this.#of = of;
  }

  /** The chart and those of its subscriptions; empty without a subscription. */
  get machines(): readonly MachineActor[] {
    if (this.#subscriptions.length === 0) return [];
    const subscriptions = this.#subscriptions.map((subscription) => subscription.machine);
    return [chartActor('updates', () => this.#state, `${this.#of} updates`), ...subscriptions];
  }

  /** True while an acknowledgment is pending that will activate notifications. */
  get isAwaited(): boolean {
    return this.#subscriptions.at(-1)?.isOpening === true;
  }

  matches(state: Parameters<UpdatesSnapshot['matches']>[0]): boolean {
    return this.#state.matches(state);
  }

  /** Handles a ready channel. @param era of its server */
  opened(era: 'legacy' | 'modern'): void {
    this.closed();
    this.#move({ type: era === 'legacy' ? 'server.telling' : 'server.silent' });
  }

  /** Handles the end of the channel. */
  closed(): void {
    this.#keep([]);
    this.#move({ type: 'channel.closed' });
  }

  /** Opens a subscription. It replaces an open one once acknowledged. */
  subscribe(port: ListeningPort, filter: JsonObject, owner: ListeningOwner): void {
    const open = this.matches('subscribed') || this.matches('replacing');
    const before = open ? this.#subscriptions.slice(0, 1) : [];
    const opened: ListeningOwner['opened'] = (agreed) => {
      // A subscription being replaced may have been cut and reopened.
      if (this.#subscriptions.at(-1) === next) {
        this.#keep([next]);
        this.#move({ type: 'subscription.opened' });
      }
      owner.opened(agreed);
    };
    const next: Subscription = new Subscription(port, filter, { ...owner, opened }, this.#of);
    this.#keep([...before, next]);
    this.#move({ type: 'subscription.asked' });
  }

  /** Ends open and pending subscriptions. */
  unsubscribe(): void {
    this.#keep([]);
    this.#move({ type: 'subscription.ended' });
  }

  /** Handles an acknowledgment, if it is for one of these subscriptions. */
  acknowledged(params: JsonObject | undefined): void {
    for (const each of this.#subscriptions) each.acknowledged(params);
  }

  #keep(kept: readonly Subscription[]): void {
    for (const each of this.#subscriptions) if (!kept.includes(each)) each.stop();
    this.#subscriptions = kept;
  }

  #move(event: UpdatesEvent): void {
    this.#state = updatesChart.next(this.#state, event);
  }
}

const machine = listeningMachine.provide({
  actors: {
    listen: fromPromise(({ input, signal }: { input: ListeningInput; signal: AbortSignal }) =>
      subscriptionIn(input).ask(input.filter, signal),
    ),
  },
});

function subscriptionIn({ scope }: ListeningInput): Subscription {
  return scope as Subscription;
}
