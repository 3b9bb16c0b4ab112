/** One of the servers that a bridge has for one client. Its chart shows whether it can be used. */
import { createActor, fromPromise } from 'xstate';
import type { Actor } from 'xstate';
import type { Clock } from '../../../src/actors/clock.ts';
import type { Report } from '../../../src/actors/facts.ts';
import { unlessAborted } from '../../../src/actors/wait-for.ts';
import type { ConnectionState } from '../../client/src/connection/connection-streams.observable.ts';
import { isAllowed } from '../../client/src/hosts/tool-policies.ts';
import type { ToolFilter } from '../../client/src/hosts/tool-policies.ts';
import { mergedName } from '../../client/src/hosts/merged-names.ts';
import type { HandlerContext } from '../../../src/server/context/handler-context.ts';
import type { UpstreamClient, UpstreamWatch } from '../../../src/server/define/upstream.ts';
import type { CatalogName } from '../../client/src/lists/catalog.machine.ts';
import { managedServerMachine } from './managed-server.machine.ts';
import { ErrorCode, ProtocolError, textOfError } from '../../../src/protocol/errors.ts';
import { isJsonObject } from '../../../src/protocol/classify.ts';
import type { JsonObject } from '../../../src/protocol/frames.ts';
import { logLevelOf } from '../../../src/protocol/log-levels.ts';
import type { LogLevel } from '../../../src/protocol/log-levels.ts';
import { disconnectError } from '../../../src/protocol/disconnects.ts';
import { printableName, printable } from '../../../src/protocol/printable.ts';
import type { BridgedEntry } from './bridged-entry.ts';
import { logLevelFailed } from './bridge-faults.ts';
import type { OpenedServer, ServerList } from './bridged-server.ts';

/** A server of a bridge, for all clients. */
export interface NamedEntry {
  readonly name: string;
  readonly entry: Pick<BridgedEntry, 'open' | 'hide'>;
  readonly tools: ToolFilter;
}

/** What a managed needs of the client's other half. */
export interface ManagedServerOwner {
  readonly client: UpstreamClient;
  readonly clock: Clock;
  /** The server has sent a notification that belongs to no request. */
  onNotification(managed: ManagedServer, method: string, params: JsonObject | undefined): void;
  /** It can be used now, or no longer. A rest is nothing that its client has to know of. */
  onAvailabilityChanged(managed: ManagedServer): void;
  /** Gets what could not be repeated at a server that takes the place of another. */
  readonly note: Report;
}

const times = { retryMs: 1000, maxRetryMs: 5 * 60_000 };

const machine = managedServerMachine.provide({
  actors: {
    open: fromPromise(({ input, signal }) => (input.scope as ManagedServer).connect(signal)),
  },
});

export class ManagedServer {
  readonly name: string;
  #named: NamedEntry;
  readonly #host: ManagedServerOwner;
  readonly #actor: Actor<typeof managedServerMachine>;
  /** What the last attempt has opened. */
  #opened: OpenedServer | undefined = undefined;
  #end = new AbortController();
  #isPaused = false;
  /** Resources and log level that a legacy client has asked for. */
  readonly #subscribed = new Set<string>();
  #logLevel: LogLevel | undefined = undefined;
  /** Resources that a client since 2026-07-28 listens to. */
  readonly #watching = new Set<{ readonly uris: readonly string[]; end: () => void }>();
  readonly #lists = new Map<CatalogName, ServerList>();
  /** The names of the last list, by their names in the merged list. */
  readonly #names = new WeakMap<ServerList, ReadonlyMap<string, string>>();

  constructor(named: NamedEntry, host: ManagedServerOwner) {
    this.name = named.name;
    this.#named = named;
    this.#host = host;
    const { clock } = host;
    const now = () => clock.now();
    this.#actor = createActor(machine, {
      id: `managed ${named.name}`,
      input: { scope: this, times, now },
      clock,
    });
    let last: unknown = 'opening';
    this.#actor.subscribe(({ value }) => {
      if (value === last) return;
      const before = last;
      last = value;
      if (value === 'resting' || value === 'waking') return;
      if (value !== 'ready' || before !== 'waking') host.onAvailabilityChanged(this);
    });
    this.#actor.start();
  }

  /** Takes settings that need no new connection. */
  adjust(named: NamedEntry): void {
    this.#named = named;
    // The new filter may deny some of the known tools.
    this.#lists.delete('tools');
  }

  /** Where it stands, since when (the clock's milliseconds), and why it cannot be used. */
  get status() {
    const { value: state, context } = this.#actor.getSnapshot();
    const { since, error } = context;
    return { state, since, error };
  }

  /** What it declares; nothing before it was connected. */
  get capabilities(): JsonObject {
    return this.#opened?.capabilities ?? {};
  }

  /** What it tells a model; nothing while it is missing. */
  get instructions(): string | undefined {
    return this.isOffered ? this.#opened?.instructions : undefined;
  }

  get #isOpening(): boolean {
    const { state } = this.status;
    return state === 'opening' || state === 'waking';
  }

  /** The server, if the client can use it now. */
  get usable(): OpenedServer | undefined {
    const { state } = this.status;
    return state === 'ready' || state === 'lost' ? this.#opened : undefined;
  }

  /** Whether a request may be for it: it is usable, or will be as soon as it is asked. */
  get isOffered(): boolean {
    return this.usable !== undefined || this.status.state === 'resting';
  }

  /** Resolves once it is known whether it can be used. Never rejects. */
  settled(): Promise<void> {
    return new Promise((resolve) => {
      if (!this.#isOpening) return resolve();
      const subscription = this.#actor.subscribe({
        next: ({ value }) => {
          if (value === 'opening' || value === 'waking') return;
          subscription.unsubscribe();
          resolve();
        },
        complete: resolve,
      });
    });
  }

  /**
   * The server, as soon as the client is connected to it.
   *
   * @param within the call that waits for it; its signal is made if it has to
   * @throws {ProtocolError} -32000, with why it cannot be used
   */
  async ready(within?: Pick<HandlerContext, 'signal'>): Promise<OpenedServer> {
    const { usable: now } = this;
    if (now) return now;
    if (this.status.state === 'resting') this.#actor.send({ type: 'server.activate' });
    if (this.#isOpening) await unlessAborted(this.settled(), within?.signal);
    const { usable } = this;
    if (usable) return usable;
    throw this.#unusable(this.status.error ?? 'it was removed');
  }

  #unusable(error: unknown): ProtocolError {
    const why = textOfError(error instanceof Error ? error.message : error);
    const message = `The server ${printableName(this.name)} cannot be used: ${printable(why, 500)}`;
    const data = { reason: 'upstream-failed', server: this.name, retryable: true };
    return new ProtocolError(ErrorCode.serverUnavailable, message, data);
  }

  /** Connects the client to the server: the machine's `open`. */
  async connect(signal: AbortSignal): Promise<void> {
    const before = this.#opened;
    const end = (this.#end = new AbortController());
    const abort = () => end.abort();
    signal.addEventListener('abort', abort, { once: true });
    const { client } = this.#host;
    const own: UpstreamClient = {
      peer: client.peer,
      principal: client.principal,
      signal: AbortSignal.any([client.signal, end.signal]),
      release: () => client.release(() => this.#suspend()),
      disconnect: (reason) => client.disconnect(reason),
      exchangeToken: (wanted) => client.exchangeToken(wanted),
      notify: (method, params) => this.#host.onNotification(this, method, params),
      request: (...asked) => client.request(...asked),
    };
    await before?.close?.();
    const opened = await this.#named.entry.open(own, (state) => this.#onConnectionState(state));
    this.#opened = opened;
    if (this.#isPaused) opened.pause?.();
    this.#restorePreferences(opened);
    if (end.signal.aborted) await opened.close?.();
  }

  /** Stops or continues reading the server, also one that connects later. */
  pause(isPaused: boolean): void {
    this.#isPaused = isPaused;
    if (isPaused) this.#opened?.pause?.();
    else this.#opened?.resume?.();
  }

  /** Notes a preference that the client has set in a request of its own. */
  prefer(method: string, { uri, level }: JsonObject = {}): void {
    if (method === 'logging/setLevel') this.#logLevel = logLevelOf(level);
    if (typeof uri !== 'string') return;
    if (method === 'resources/subscribe') this.#subscribed.add(uri);
    if (method === 'resources/unsubscribe') this.#subscribed.delete(uri);
  }

  /** Sets the level of log messages, also at a server that connects later. Reports a refusal. */
  async setLogLevel(level: LogLevel): Promise<void> {
    this.#logLevel = level;
    const { usable } = this;
    if (!usable || !isJsonObject(usable.capabilities['logging'])) return;
    try {
      await usable.setLogLevel(level);
    } catch (error) {
      this.#host.note(logLevelFailed(printableName(this.name), this.#named.entry.hide(error)));
    }
  }

  /** Watches resources, also at a server that takes the place of this one. */
  async watch(uris: readonly string[]): Promise<UpstreamWatch> {
    const { watch } = await this.ready();
    if (!watch) return { uris, end: () => {} };
    const { uris: agreed, end } = await watch(uris);
    const watching = { uris: agreed, end };
    this.#watching.add(watching);
    return {
      uris: watching.uris,
      end: () => {
        this.#watching.delete(watching);
        watching.end();
      },
    };
  }

  /** Repeats what the client has asked of an earlier server. Sent before the client's next requests. */
  #restorePreferences(opened: OpenedServer): void {
    const { note } = this.#host;
    const server = printableName(this.name);
    const failed = (what: string) => (error: unknown) => {
      const shown = this.#named.entry.hide(error);
      const message = `${what} was not repeated at ${server}: ${textOfError(shown)}`;
      note({ level: 'warning', name: 'bridge.not-repeated', message });
    };
    const level = this.#logLevel;
    if (level !== undefined && isJsonObject(opened.capabilities['logging']))
      opened.setLogLevel(level).catch(failed('The log level'));
    const watch = async (uris: readonly string[]) => {
      const watched = await opened.watch?.(uris);
      const lost = uris.length - (watched?.uris.length ?? 0);
      if (lost > 0) failed(`The subscription to ${lost} resources`)('the server refuses it');
      return watched;
    };
    if (this.#subscribed.size > 0) watch([...this.#subscribed]).catch(failed('A subscription'));
    for (const watching of this.#watching) {
      watch(watching.uris)
        .then((watched) => {
          if (!watched) return;
          if (this.#watching.has(watching)) watching.end = () => watched.end();
          else watched.end();
        })
        .catch(failed('A subscription'));
    }
  }

  /** Makes room for another client's process. */
  async #suspend(): Promise<void> {
    this.#actor.send({ type: 'server.suspend' });
    await this.#opened?.close?.();
  }

  #onConnectionState({ value, loss }: ConnectionState): void {
    // The last state comes after the managed has been closed.
    if (this.#actor.getSnapshot().status !== 'active') return;
    const error = this.#named.entry.hide(disconnectError(loss));
    if (value === 'ready') this.#actor.send({ type: 'connection.ready' });
    else if (value === 'failed' || value === 'closed')
      this.#actor.send({ type: 'connection.failed', error });
    else this.#actor.send({ type: 'connection.lost', error });
  }

  /** Its list as it is now. @throws it cannot be used, or does not answer */
  async list(name: CatalogName): Promise<ServerList> {
    const list = this.#allowed(name, await (await this.ready()).list(name));
    this.#lists.set(name, list);
    return list;
  }

  /** Its list as it was last; undefined before it was asked. */
  known(name: CatalogName): ServerList | undefined {
    return this.#lists.get(name);
  }

  #allowed(name: CatalogName, list: ServerList): ServerList {
    if (name !== 'tools' || !this.isFiltered) return list;
    const { tools } = this.#named;
    return { ...list, items: list.items.filter((item) => isAllowed(String(item['name']), tools)) };
  }

  /** Whether some of its tools may not be offered. */
  get isFiltered(): boolean {
    const { allow, deny } = this.#named.tools;
    return allow !== undefined || deny !== undefined;
  }

  /** Its name in the merged list. */
  shown(own: string): string {
    return mergedName({ server: this.name, tool: own });
  }

  /** Its own name for one in the merged list, as far as it is known. */
  ownName(list: 'tools' | 'prompts', shown: string): string | undefined {
    const known = this.#lists.get(list);
    if (!known) return undefined;
    let names = this.#names.get(known);
    if (!names) {
      const own = known.items.map((item) => String(item['name']));
      // The first of two with one name has it.
      names = new Map(own.toReversed().map((name) => [this.shown(name), name]));
      this.#names.set(known, names);
    }
    return names.get(shown);
  }

  /** Whether it declares this, or may still do so. */
  mayHave(capability: string, member?: string): boolean {
    if (!this.isOffered) return true;
    const declared = this.capabilities[capability];
    return isJsonObject(declared) && (member === undefined || isJsonObject(declared[member]));
  }

  /** Ends it for this client. Resolves once nothing of it is left. */
  async close(): Promise<void> {
    this.#actor.send({ type: 'server.close' });
    this.#end.abort();
    await this.#opened?.close?.();
  }
}
