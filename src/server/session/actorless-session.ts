/**
 * Session without actors, for HTTP clients that completed the handshake before the session started and
 * only send requests. The router runs without an actor and writes directly to the transport. The
 * upstream, if any, is opened before `initialize` is answered. Anything that needs another actor starts
 * all of them; the router then continues as one of them, including its running calls.
 *
 * @see docs/maintaining/decisions/04-http-sessions-start-late.md
 */
import type { Traffic } from '../../actors/traffic.ts';
import { Router } from '../../actors/router/router.actor.ts';
import { serverSide } from '../../actors/router/server-side.ts';
import type { ServerRouterOptions } from '../../actors/router/server-side.ts';
import type { Behaviour, Recipient, Ref } from '../../machines/port.ts';
import type { CorrelationEvent, RouterEvent, WriterEvent } from '../../machines/peer-ports.ts';
import type {
  InitializeReceived,
  ActorlessClient,
  SessionFact,
  SessionRouterInput,
} from '../../machines/session-ports.ts';
import type { UpstreamOutcome } from '../../machines/session-context.ts';
import { actorFailed } from '../../machines/names.ts';
import type { SessionActorRef } from '../../machines/session-state.ts';
import type { ServerDescription } from '../../protocol/implementation.ts';
import type { InitializedClient } from '../../protocol/initialize.ts';
import { acceptedInitialize } from '../../protocol/initialize-answers.ts';

/** The session that uses this class. */
export interface ActorlessScope extends ServerRouterOptions {
  readonly traffic: Pick<Traffic, 'received' | 'sent'>;
  /** Reading it starts the actors. */
  readonly actor: SessionActorRef;
  readonly actorless: ActorlessSession | undefined;
  /** True if an upstream is opened for each client. */
  readonly hasUpstream: boolean;
  resolveUpstream(received: InitializeReceived): Promise<UpstreamOutcome>;
}

export class ActorlessSession implements SessionRouterInput, Recipient<SessionFact> {
  readonly scope: ActorlessScope;
  readonly client: InitializedClient;
  /** Server description sent in the `initialize` result. */
  server: ServerDescription;
  readonly router: Router<SessionRouterInput, ServerRouterOptions>;
  readonly writer: Recipient<WriterEvent>;
  readonly #known: ActorlessClient;
  /** `initialize` request that waits for the upstream. */
  #pendingInitialize: InitializeReceived | undefined = undefined;

  constructor(scope: ActorlessScope, known: ActorlessClient) {
    const { client, writer } = known;
    this.scope = scope;
    this.client = client;
    this.server = scope.server;
    this.#known = known;
    this.writer = new ObservedOutput(scope, writer);
    const input = { send: (event: RouterEvent) => this.#receive(event) };
    this.router = new Router(serverSide, scope, this, input);
    if (!scope.hasUpstream) this.router.receive({ type: 'gate.opened', peer: client });
    known.onServed(input, this);
  }

  get isOperating(): boolean {
    return !this.#pendingInitialize && this.#known.isInitialized && !this.router.isClosing;
  }

  /** True if no call is running and no output is queued. */
  get isIdle(): boolean {
    return !this.#pendingInitialize && this.router.isIdle;
  }

  /** First event for the session machine; undefined if the client has sent nothing to the session yet. */
  get initialEvent(): SessionFact | undefined {
    if (this.#pendingInitialize || this.router.gate.state === 'unopened')
      return this.#pendingInitialize;
    return {
      type: this.#known.isInitialized ? 'client.initialized' : 'client.initializeAnswered',
      client: this.client,
    };
  }

  get owner(): this {
    return this;
  }

  /** Handles events of the router and the transport. All but `initialize` need the actors. */
  send(fact: SessionFact): void {
    if (fact.type !== 'initialize.received' || this.router.gate.state !== 'unopened') {
      return this.scope.actor.send(fact);
    }
    // The client as parsed before the session started: the upstream is keyed by this object.
    const received = { ...fact, reading: { ok: true, client: this.client } } as const;
    this.#pendingInitialize = received;
    this.router.receive({ type: 'gate.held' });
    void this.#answerInitialize(received);
  }

  async #answerInitialize(received: InitializeReceived): Promise<void> {
    const { client, scope } = this;
    const { server } = await scope.resolveUpstream(received);
    // The actors were started meanwhile and answer the request.
    if (scope.actorless !== this) return;
    // The machine rejects the client and ends the session.
    if (!server) return void scope.actor;
    this.#pendingInitialize = undefined;
    this.server = server;
    const { request } = received;
    const response = acceptedInitialize(request.id, client, server);
    this.#receive({ type: 'lifecycle.answered', response, request });
    this.#receive({ type: 'gate.opened', peer: client });
    this.#known.onInitializeAnswered();
  }

  get correlation(): Ref<CorrelationEvent> {
    return this.scope.actor.getSnapshot().context.correlation;
  }

  /** Passes an event to the router. A thrown error is a bug and fails the session, like that of an actor. */
  #receive(event: RouterEvent): void {
    try {
      this.router.receive(event);
    } catch (error) {
      this.scope.actor.send(actorFailed('router', error));
    }
  }
}

/** Writer that also reports its frames as traffic. */
class ObservedOutput implements Recipient<WriterEvent> {
  readonly #scope: ActorlessScope;
  readonly #writer: Behaviour<WriterEvent>;

  constructor(scope: ActorlessScope, writer: Behaviour<WriterEvent>) {
    this.#scope = scope;
    this.#writer = writer;
  }

  send(event: WriterEvent): void {
    if (event.type === 'frames.send') this.#scope.traffic.sent(event.frames);
    this.#writer.receive(event);
  }
}
