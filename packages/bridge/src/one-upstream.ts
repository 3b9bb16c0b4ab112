/**
 * A single server of a configuration for one client, with its own names. If its entry changes, the client's session
 * continues with a new connection.
 */
import type { Clock } from '../../../src/actors/clock.ts';
import type { Report } from '../../../src/actors/facts.ts';
import { preferenceMethods } from '../../client/src/lists/preferences.ts';
import type { HandlerContext } from '../../../src/server/context/handler-context.ts';
import type {
  Upstream,
  UpstreamClient,
  UpstreamWatch,
} from '../../../src/server/define/upstream.ts';
import { RuntimeError } from '../../../src/protocol/errors.ts';
import type { JsonObject } from '../../../src/protocol/frames.ts';
import { listChanges } from './bridged-server.ts';
import type { OpenedServer } from './bridged-server.ts';
import { ManagedServer } from './managed-server.actor.ts';
import type { ManagedServerOwner, NamedEntry } from './managed-server.actor.ts';

export class OneUpstream implements Upstream, ManagedServerOwner {
  readonly client: UpstreamClient;
  readonly clock: Clock;
  readonly note: Report;
  #managed: ManagedServer;
  /** The server description last sent to the client. */
  #told: OpenedServer | undefined = undefined;
  #isPaused = false;

  constructor(
    client: UpstreamClient,
    named: NamedEntry,
    { clock, note }: Pick<ManagedServerOwner, 'clock' | 'note'>,
  ) {
    this.client = client;
    this.clock = clock;
    this.note = note;
    this.#managed = new ManagedServer(named, this);
  }

  /** @throws the reason why the server is unusable */
  async start(): Promise<this> {
    const managed = this.#managed;
    await managed.settled();
    this.#told = managed.usable;
    if (this.#told) return this;
    const { error } = managed.status;
    await managed.close();
    throw error ?? new RuntimeError('CANCELLED', 'no client waits for it');
  }

  get serverInfo() {
    return this.#told?.serverInfo;
  }

  get capabilities(): JsonObject {
    return this.#told?.capabilities ?? {};
  }

  get instructions(): string | undefined {
    return this.#told?.instructions;
  }

  get extraMembers(): JsonObject | undefined {
    return this.#told?.extraMembers;
  }

  get idleMs(): number | undefined {
    return this.#told?.idleMs;
  }

  /** Applies a changed configuration. Resolves once a replaced server has ended. */
  async apply(
    all: readonly NamedEntry[],
    ended: ReadonlySet<string>,
    begun: ReadonlySet<string>,
  ): Promise<void> {
    const before = this.#managed;
    const [named] = all;
    if (named && begun.has(named.name)) {
      this.#managed = new ManagedServer(named, this);
      this.#managed.pause(this.#isPaused);
    }
    if (ended.has(before.name)) await before.close();
  }

  /** Announces list changes after a reconnect to a different server. */
  onAvailabilityChanged(managed: ManagedServer): void {
    const { usable } = managed;
    if (managed !== this.#managed || !this.#told || !usable || usable === this.#told) return;
    this.#told = usable;
    for (const changed of listChanges(this.capabilities)) this.client.notify(changed);
  }

  onNotification(managed: ManagedServer, method: string, params: JsonObject | undefined): void {
    if (managed === this.#managed) this.client.notify(method, params);
  }

  async mayRequireInput(method: string, params: JsonObject | undefined): Promise<boolean> {
    return (await this.#managed.ready()).mayRequireInput(method, params);
  }

  async tool(name: string): Promise<JsonObject | undefined> {
    return (await this.#managed.ready()).tool?.(name);
  }

  async request(
    method: string,
    params: JsonObject | undefined,
    context: HandlerContext,
  ): Promise<JsonObject> {
    const managed = this.#managed;
    const result = await (await managed.ready(context)).request(method, params, context);
    if (preferenceMethods.has(method)) managed.prefer(method, params);
    return result;
  }

  onClientNotification(method: string, params: JsonObject | undefined): void {
    this.#managed.usable?.onClientNotification?.(method, params);
  }

  async watch(uris: readonly string[]): Promise<UpstreamWatch> {
    return this.#managed.watch(uris);
  }

  pause(): void {
    this.#isPaused = true;
    this.#managed.pause(true);
  }

  resume(): void {
    this.#isPaused = false;
    this.#managed.pause(false);
  }

  async close(): Promise<void> {
    await this.#managed.close();
  }
}
