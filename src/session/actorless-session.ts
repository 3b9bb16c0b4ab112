/**
 * What serves a session that has no actors yet: its client has said before the session began who it is
 * and that it is ready, and all that it does is ask. Its router works without an actor around it, and
 * its output goes straight to the transport. Whatever needs another actor makes all of them, and the
 * router goes on as one of them, with the calls that are in flight.
 *
 * @see docs/decisions/0057
 */
import type { Traffic } from '../actors/traffic.ts';
import { Router } from '../actors/router/router.actor.ts';
import { serverSide } from '../actors/router/server-side.ts';
import type { ServerRouterOptions } from '../actors/router/server-side.ts';
import type { Behaviour, Recipient, Ref } from '../machines/port.ts';
import type { CorrelationEvent, RouterEvent, WriterEvent } from '../machines/peer-ports.ts';
import type { ReadyClient, SessionRouterInput } from '../machines/session-ports.ts';
import { actorFailed } from '../machines/names.ts';
import type { SessionActorRef } from '../machines/session-state.ts';
import type { ServerDescription } from '../protocol/implementation.ts';
import type { InitializedClient } from '../protocol/initialize.ts';

/** The session that is served. */
export interface ActorlessScope extends ServerRouterOptions {
  readonly traffic: Pick<Traffic, 'received' | 'sent'>;
  /** Its actors are made for those who read this. */
  readonly actor: SessionActorRef;
}

export class ActorlessSession implements SessionRouterInput {
  readonly scope: ActorlessScope;
  readonly client: InitializedClient;
  /** How the server described itself as the session began. */
  readonly server: ServerDescription;
  readonly router: Router<SessionRouterInput, ServerRouterOptions>;
  readonly writer: Recipient<WriterEvent>;

  constructor(scope: ActorlessScope, { client, writer, served }: ReadyClient) {
    this.scope = scope;
    this.client = client;
    this.server = scope.server;
    this.writer = new ObservedOutput(scope, writer);
    const input = { send: (event: RouterEvent) => this.#receive(event) };
    this.router = new Router(serverSide, scope, this, input);
    this.router.receive({ type: 'gate.opened', peer: client });
    served(input, { send: (fact) => this.owner.send(fact) });
  }

  // What the router sends to other actors needs them.

  get owner(): SessionActorRef {
    return this.scope.actor;
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
