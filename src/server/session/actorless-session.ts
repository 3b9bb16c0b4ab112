/**
 * What serves a session that has no actors yet: its client has said before the session began who it is,
 * and all that it does is ask. If what the server has for the client is to be found out, it is before
 * the client is answered. The router works without an actor around it, and
 * its output goes straight to the transport. Whatever needs another actor makes all of them, and the
 * router goes on as one of them, with the calls that are in flight.
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
import type { PreparationOutcome } from '../../machines/session-context.ts';
import { actorFailed } from '../../machines/names.ts';
import type { SessionActorRef } from '../../machines/session-state.ts';
import type { ServerDescription } from '../../protocol/implementation.ts';
import type { InitializedClient } from '../../protocol/initialize.ts';
import { acceptedInitialize } from '../../protocol/initialize-answers.ts';

/** The session that is served. */
export interface ActorlessScope extends ServerRouterOptions {
  readonly traffic: Pick<Traffic, 'received' | 'sent'>;
  /** Its actors are made for those who read this. */
  readonly actor: SessionActorRef;
  readonly actorless: ActorlessSession | undefined;
  /** Whether what the server has is found out for each client. */
  readonly isPrepared: boolean;
  prepare(received: InitializeReceived): Promise<PreparationOutcome>;
}

export class ActorlessSession implements SessionRouterInput, Recipient<SessionFact> {
  readonly scope: ActorlessScope;
  readonly client: InitializedClient;
  /** How the server described itself as the session began. */
  server: ServerDescription;
  readonly router: Router<SessionRouterInput, ServerRouterOptions>;
  readonly writer: Recipient<WriterEvent>;
  readonly #known: ActorlessClient;
  /** The `initialize` that waits until what the server has for the client is known. */
  #greeting: InitializeReceived | undefined = undefined;

  constructor(scope: ActorlessScope, known: ActorlessClient) {
    const { client, writer } = known;
    this.scope = scope;
    this.client = client;
    this.server = scope.server;
    this.#known = known;
    this.writer = new ObservedOutput(scope, writer);
    const input = { send: (event: RouterEvent) => this.#receive(event) };
    this.router = new Router(serverSide, scope, this, input);
    if (!scope.isPrepared) this.router.receive({ type: 'gate.opened', peer: client });
    known.served(input, this);
  }

  get isOperating(): boolean {
    return !this.#greeting && this.#known.isReady && !this.router.isClosing;
  }

  /** True if no call runs and no message waits to be sent. */
  get isIdle(): boolean {
    return !this.#greeting && this.router.isIdle;
  }

  /** What the session's machine begins with; undefined if its client has said nothing to the session yet. */
  get begun(): SessionFact | undefined {
    if (this.#greeting || this.router.gate.state === 'unopened') return this.#greeting;
    return { type: this.#known.isReady ? 'client.readied' : 'client.greeted', client: this.client };
  }

  get owner(): this {
    return this;
  }

  /** Takes what the router and the transport tell the session. All but the greeting needs the actors. */
  send(fact: SessionFact): void {
    if (fact.type !== 'initialize.received' || this.router.gate.state !== 'unopened') {
      return this.scope.actor.send(fact);
    }
    // As it was read before: its upstream is found by it.
    const greeting = { ...fact, reading: { ok: true, client: this.client } } as const;
    this.#greeting = greeting;
    this.router.receive({ type: 'gate.held' });
    void this.#prepare(greeting);
  }

  async #prepare(greeting: InitializeReceived): Promise<void> {
    const { client, scope } = this;
    const { server } = await scope.prepare(greeting);
    // Its actors have the greeting, and the same outcome.
    if (scope.actorless !== this) return;
    // The machine refuses the client, and ends the session.
    if (!server) return void scope.actor;
    this.#greeting = undefined;
    this.server = server;
    const { request } = greeting;
    const response = acceptedInitialize(request.id, client, server);
    this.#receive({ type: 'lifecycle.answered', response, request });
    this.#receive({ type: 'gate.opened', peer: client });
    this.#known.greeted();
  }

  get correlation(): Ref<CorrelationEvent> {
    return this.scope.actor.getSnapshot().context.correlation;
  }

  /** Takes an event for the router. An error is a bug, and fails the session as that of an actor would. */
  #receive(event: RouterEvent): void {
    try {
      this.router.receive(event);
    } catch (error) {
      this.scope.actor.send(actorFailed('router', error));
    }
  }
}

/** The output of a session without actors, seen by those who listen to its traffic. */
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
