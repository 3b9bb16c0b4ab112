/** One server of a bridge for one client, with its availability as a state machine. */
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

/** A server of a bridge, shared by all clients. */
export interface NamedEntry {
  readonly name: string;
  readonly entry: Pick<BridgedEntry, 'open' | 'hide'>;
  readonly tools: ToolFilter;
}

/** The upstream that owns a managed server. */
export interface ManagedServerOwner {
  readonly client: UpstreamClient;
  readonly clock: Clock;
  /** Handles a notification of the server that belongs to no request. */
  onNotification(managed: ManagedServer, method: string, params: JsonObject | undefined): void;
  /** Handles a change of availability. Suspending an idle server is not a change. */
  onAvailabilityChanged(managed: ManagedServer): void;
  /** Receives log facts, such as preferences that could not be restored at a replacement server. */
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
  /** The server opened last. */
  #opened: OpenedServer | undefined = undefined;
  #end = new AbortController();
  #isPaused = false;
  /** Resources and log level set by a legacy client. */
  readonly #subscribed = new Set<string>();
  #logLevel: LogLevel | undefined = undefined;
  /** Resources that a client subscribes to since 2026-07-28. */
  readonly #watching = new Set<{ readonly uris: readonly string[]; end: () => void }>();
  readonly #lists = new Map<CatalogName, ServerList>();
  /** Own names of the last list, by merged name. */
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

  /** Applies settings that need no new connection. */
  adjust(named: NamedEntry): void {
    this.#named = named;
    // The new filter may deny known tools.
    this.#lists.delete('tools');
  }

  /** State, its start (clock ms), and the error if unavailable. */
  get status() {
    const { value: state, context } = this.#actor.getSnapshot();
    const { since, error } = context;
    return { state, since, error };
  }

  /** Declared capabilities; empty before the first connection. */
  get capabilities(): JsonObject {
    return this.#opened?.capabilities ?? {};
  }

  /** Instructions for a model; undefined while unavailable. */
  get instructions(): string | undefined {
    return this.isOffered ? this.#opened?.instructions : undefined;
  }

  get #isOpening(): boolean {
    const { state } = this.status;
    return state === 'opening' || state === 'waking';
  }

  /** The opened server; undefined while unavailable. */
  get usable(): OpenedServer | undefined {
    const { state } = this.status;
    return state === 'ready' || state === 'lost' ? this.#opened : undefined;
  }

  /** True if requests may be routed to the server: it is available, or suspended. */
  get isOffered(): boolean {
    return this.usable !== undefined || this.status.state === 'resting';
  }

  /** Resolves once the current connection attempt has ended. Never rejects. */
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
   * Waits until the client is connected to the server.
   *
   * @param within the waiting call; its signal is read only if the call has to wait
   * @throws {ProtocolError} -32000, with the reason
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
    const message = `Server ${printableName(this.name)} is unavailable: ${printable(why, 500)}`;
    const data = { reason: 'upstream-failed', server: this.name, retryable: true };
    return new ProtocolError(ErrorCode.serverUnavailable, message, data);
  }

  /** Connects the client to the server. The machine's actor `open`. */
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

  /** Pauses or resumes reading the server, also for later connections. */
  pause(isPaused: boolean): void {
    this.#isPaused = isPaused;
    if (isPaused) this.#opened?.pause?.();
    else this.#opened?.resume?.();
  }

  /** Remembers a preference that the client has set. */
  prefer(method: string, { uri, level }: JsonObject = {}): void {
    if (method === 'logging/setLevel') this.#logLevel = logLevelOf(level);
    if (typeof uri !== 'string') return;
    if (method === 'resources/subscribe') this.#subscribed.add(uri);
    if (method === 'resources/unsubscribe') this.#subscribed.delete(uri);
  }

  /** Sets the log level, also for later connections. Logs a rejection. */
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

  /** Subscribes to resources, also for later connections. */
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

  /** Restores the client's preferences at a new server, before the client's next requests. */
  #restorePreferences(opened: OpenedServer): void {
    const { note } = this.#host;
    const server = printableName(this.name);
    const failed = (what: string) => (error: unknown) => {
      const shown = this.#named.entry.hide(error);
      const message = `${what} was not restored at ${server}: ${textOfError(shown)}`;
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

  /** Closes the idle server to free its process slot. */
  async #suspend(): Promise<void> {
    this.#actor.send({ type: 'server.suspend' });
    await this.#opened?.close?.();
  }

  #onConnectionState({ value, loss }: ConnectionState): void {
    // The last state arrives after the machine has stopped.
    if (this.#actor.getSnapshot().status !== 'active') return;
    const error = this.#named.entry.hide(disconnectError(loss));
    if (value === 'ready') this.#actor.send({ type: 'connection.ready' });
    else if (value === 'failed' || value === 'closed')
      this.#actor.send({ type: 'connection.failed', error });
    else this.#actor.send({ type: 'connection.lost', error });
  }

  /** Fetches a list. @throws if the server is unavailable or does not answer */
  async list(name: CatalogName): Promise<ServerList> {
    const list = this.#allowed(name, await (await this.ready()).list(name));
    this.#lists.set(name, list);
    return list;
  }

  /** The list as last fetched; undefined before that. */
  known(name: CatalogName): ServerList | undefined {
    return this.#lists.get(name);
  }

  #allowed(name: CatalogName, list: ServerList): ServerList {
    if (name !== 'tools' || !this.isFiltered) return list;
    const { tools } = this.#named;
    return { ...list, items: list.items.filter((item) => isAllowed(String(item['name']), tools)) };
  }

  /** True if a filter may hide some tools. */
  get isFiltered(): boolean {
    const { allow, deny } = this.#named.tools;
    return allow !== undefined || deny !== undefined;
  }

  /** Converts an own name to its merged name. */
  shown(own: string): string {
    return mergedName({ server: this.name, tool: own });
  }

  /** Converts a merged name to the own name, if it was listed. */
  ownName(list: 'tools' | 'prompts', shown: string): string | undefined {
    const known = this.#lists.get(list);
    if (!known) return undefined;
    let names = this.#names.get(known);
    if (!names) {
      const own = known.items.map((item) => String(item['name']));
      // Of duplicates, the first wins.
      names = new Map(own.toReversed().map((name) => [this.shown(name), name]));
      this.#names.set(known, names);
    }
    return names.get(shown);
  }

  /** True if the server declares a capability, or may do so once it connects. */
  mayHave(capability: string, member?: string): boolean {
    if (!this.isOffered) return true;
    const declared = this.capabilities[capability];
    return isJsonObject(declared) && (member === undefined || isJsonObject(declared[member]));
  }

  /** Closes the server for this client. Resolves once the connection has ended. */
  async close(): Promise<void> {
    this.#actor.send({ type: 'server.close' });
    this.#end.abort();
    await this.#opened?.close?.();
  }
}
