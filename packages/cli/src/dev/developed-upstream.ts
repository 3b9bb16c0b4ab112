/**
 * A client's upstream to a module in development. The client's session persists while the code
 * behind it changes: new calls go to the latest code, and started work stays with its code.
 */
import { ProtocolError } from 'mcp-actors';
import type { HandlerContext, JsonObject, Report, Upstream, UpstreamClient } from 'mcp-actors';
import type { UpstreamWatch } from 'mcp-actors/internal';
import { BoundedMap, BridgedEntry, isJsonObject, textOfError } from 'mcp-actors/internal';
import type { Code } from './code.ts';
import type { Development } from './development.ts';
import { isListChange } from './offer.ts';
import type { Offer } from './offer.ts';

/** Observer of client calls. */
export interface CallObserver {
  /** Called for a request that runs the module's code. Returns a callback for the outcome. */
  began(call: SeenCall): (outcome: JsonObject | Error) => void;
}

/** A client's call, which can be repeated. */
export interface SeenCall {
  readonly method: string;
  readonly params: JsonObject | undefined;
  /** Repeats the call with the latest code. */
  again(): Promise<JsonObject>;
}

/** All capabilities that code may have later, because a host asks only once. */
const everything: JsonObject = {
  tools: { listChanged: true },
  resources: { subscribe: true, listChanged: true },
  prompts: { listChanged: true },
  completions: {},
  logging: {},
};

/** Answers for declared capabilities that the code lacks. */
const empty: { readonly [method: string]: JsonObject } = {
  'tools/list': { tools: [] },
  'resources/list': { resources: [] },
  'resources/templates/list': { resourceTemplates: [] },
  'prompts/list': { prompts: [] },
  'completion/complete': { completion: { values: [], hasMore: false } },
  'logging/setLevel': {},
};

const shownMethods: ReadonlySet<string> = new Set(['tools/call', 'prompts/get', 'resources/read']);

/** Maximum number of remembered suspended calls and tasks. */
const maxRemembered = 1024;

/** Generous limits, because the host has its own timeouts. */
const limits = { requestTimeoutMs: 3_600_000, requestMaxTotalMs: 86_400_000 };

const methodNotFound = -32601;
const unavailable = -32000;

/** Work that a version has started for the client. */
interface Begun {
  readonly code: Code;
  readonly release: () => void;
}

/** Resources that the client listens to (since 2026-07-28). */
interface Watching {
  readonly uris: readonly string[];
  watch: UpstreamWatch | undefined;
}

/** Options of a client's upstream. */
export interface DevelopedOptions {
  /** Lists and capabilities of the current code; undefined if none can be loaded. */
  readonly offer: Offer | undefined;
  /** Display name of the module. */
  readonly file: string;
  readonly observer: CallObserver;
  readonly report: Report;
}

export class DevelopedUpstream implements Upstream {
  readonly serverInfo;
  readonly capabilities: JsonObject;
  readonly instructions: string | undefined;
  readonly mayRequireInput: boolean;
  readonly #client: UpstreamClient;
  readonly #development: Development;
  readonly #observer: CallObserver;
  readonly #file: string;
  readonly #report: Report;
  /** Upstreams of the versions used so far. */
  readonly #over = new Map<Code, Promise<Upstream>>();
  /** Started work, by request state of a suspended call or id of a task. */
  readonly #begun = new BoundedMap<string, Begun>(maxRemembered);
  /** URIs that the client has subscribed to (until 2025-11-25). */
  readonly #subscribed = new Set<string>();
  readonly #watching = new Set<Watching>();
  /** Last `logging/setLevel` request of the client. */
  #level: { readonly params: JsonObject | undefined; readonly context: HandlerContext } | undefined;
  /** Last problem reported to the model. */
  #told: Error | undefined = undefined;
  readonly #unlisten: () => void;

  constructor(
    client: UpstreamClient,
    development: Development,
    { offer, file, observer, report }: DevelopedOptions,
  ) {
    this.#client = client;
    this.#development = development;
    this.#observer = observer;
    this.#file = file;
    this.#report = report;
    this.serverInfo = offer?.info ?? { name: file, version: '0.0.0' };
    this.capabilities = { ...offer?.capabilities, ...everything };
    this.instructions = offer?.instructions;
    this.mayRequireInput = client.peer.dialect.sessionOfRequest(this) === undefined;
    this.#unlisten = development.listen({
      exchanged: (code) => this.#exchange(code),
      changed: (methods) => methods.forEach((method) => client.notify(method)),
      failed: ({ message }) =>
        client.notify('notifications/message', {
          level: 'error',
          logger: 'mcp-actors dev',
          data: message,
        }),
      ended: (code) => this.#forget(code),
    });
  }

  async request(
    method: string,
    params: JsonObject | undefined,
    context: HandlerContext,
  ): Promise<JsonObject> {
    const { code: newest, fault } = await this.#development.newest();
    if (method === 'tools/call' && fault && fault !== this.#told) {
      this.#told = fault;
      return this.#faultForModel(fault, newest !== undefined);
    }
    const before = this.#begunBy(method, params);
    const code = before?.code ?? newest;
    if (!code) return this.#withoutCode(method, fault);
    this.#noteState(method, params, context);
    const again = () => this.request(method, params, context);
    const ended = shownMethods.has(method)
      ? this.#observer.began({ method, params, again })
      : undefined;
    const release = this.#development.hold(code);
    try {
      const upstream = await this.#at(code);
      const result = await upstream.request(method, params, context);
      this.#noteBegun(result, code);
      ended?.(result);
      return result;
    } catch (error) {
      ended?.(error as Error);
      if (isMissing(error)) return this.#emptyOr(method, error);
      throw error;
    } finally {
      release();
      if (before && method !== 'tasks/get') before.release();
    }
  }

  async tool(name: string): Promise<JsonObject | undefined> {
    const { code } = await this.#development.newest();
    return code && (await this.#at(code)).tool?.(name);
  }

  onClientNotification(method: string, params: JsonObject | undefined): void {
    for (const over of this.#over.values()) {
      over.then(
        (upstream) => upstream.onClientNotification?.(method, params),
        // Whoever has opened it gets the error.
        () => {},
      );
    }
  }

  async watch(uris: readonly string[]): Promise<UpstreamWatch> {
    const watching: Watching = { uris, watch: undefined };
    this.#watching.add(watching);
    const { code } = await this.#development.newest();
    if (code) await this.#watch(watching, await this.#at(code));
    return {
      // Later code may have the other resources.
      uris,
      end: () => {
        this.#watching.delete(watching);
        watching.watch?.end();
      },
    };
  }

  async close(): Promise<void> {
    this.#unlisten();
    for (const { release } of this.#begun.values()) release();
    const open = [...this.#over.values()];
    this.#over.clear();
    await Promise.all(open.map((over) => this.#close(over)));
  }

  /** Upstream to one version of the code. */
  #at(code: Code): Promise<Upstream> {
    const known = this.#over.get(code);
    if (known) return known;
    const opening = this.#open(code);
    this.#over.set(code, opening);
    // Let the next request retry.
    opening.catch(() => this.#over.delete(code));
    return opening;
  }

  async #open(code: Code): Promise<Upstream> {
    const { peer, principal, signal } = this.#client;
    const entry = new BridgedEntry(
      { transport: code.transport() },
      { name: this.#file, limits, report: this.#report },
    );
    const upstream = await entry.open({
      ...{ peer, principal, signal },
      release: () => this.#client.release(),
      disconnect: (reason) => this.#client.disconnect(reason),
      exchangeToken: (wanted) => this.#client.exchangeToken(wanted),
      request: (...request) => this.#client.request(...request),
      // List changes of other versions are found by comparison.
      notify: (method, params) => {
        if (isListChange(method) && code !== this.#development.current) return;
        this.#client.notify(method, params);
      },
    });
    if (this.#subscribed.size > 0) await upstream.watch?.([...this.#subscribed]);
    for (const watching of this.#watching) await this.#watch(watching, upstream);
    const level = this.#level;
    if (level) {
      try {
        await upstream.request('logging/setLevel', level.params, level.context);
      } catch (error) {
        if (!isMissing(error)) this.#note('The log level was not set in the latest code', error);
      }
    }
    return upstream;
  }

  async #close(over: Promise<Upstream>): Promise<void> {
    // The opener gets the error.
    const upstream = await over.catch(() => undefined);
    try {
      await upstream?.close?.();
    } catch (error) {
      this.#note('Disconnecting the client from older code failed', error);
    }
  }

  #note(what: string, error: unknown): void {
    const message = `${what}: ${textOfError(error)}`;
    this.#report({ level: 'warning', name: 'dev.not-connected', message, details: { error } });
  }

  async #watch(watching: Watching, upstream: Upstream): Promise<void> {
    watching.watch = await upstream.watch?.(watching.uris);
  }

  /** Connects the client to the new code before its next request. */
  #exchange(code: Code): void {
    if (this.#over.size === 0) return;
    this.#at(code).catch((error: unknown) =>
      this.#note('Connecting the client to the latest code failed', error),
    );
  }

  #forget(code: Code): void {
    const over = this.#over.get(code);
    this.#over.delete(code);
    if (over) void this.#close(over);
  }

  /**
   * Version that a request belongs to: that of its task or suspended call. A machine resumes its
   * state with any version, so it uses the latest.
   */
  #begunBy(method: string, params: JsonObject | undefined): Begun | undefined {
    const { requestState, taskId, name } = params ?? {};
    const key = requestState ?? taskId;
    const begun = typeof key === 'string' ? this.#begun.get(key) : undefined;
    if (!begun || !this.#development.has(begun.code)) return undefined;
    const isMachine = typeof name === 'string' && begun.code.loaded.machines.includes(name);
    if (method !== 'tools/call' || !isMachine) return begun;
    begun.release();
    return undefined;
  }

  #noteBegun(result: JsonObject, code: Code): void {
    const { requestState, task, taskId = isJsonObject(task) ? task['taskId'] : undefined } = result;
    const key = result['resultType'] === 'input_required' ? requestState : taskId;
    if (typeof key !== 'string' || this.#begun.has(key)) return;
    this.#begun.set(key, { code, release: this.#development.hold(code) });
  }

  #noteState(method: string, params: JsonObject | undefined, context: HandlerContext): void {
    const { uri } = params ?? {};
    if (method === 'logging/setLevel') this.#level = { params, context };
    if (typeof uri !== 'string') return;
    if (method === 'resources/subscribe') this.#subscribed.add(uri);
    if (method === 'resources/unsubscribe') this.#subscribed.delete(uri);
  }

  #faultForModel({ message }: Error, isServed: boolean): JsonObject {
    const rest = isServed
      ? 'The previous code still runs: call again to use it.'
      : 'There is no previous code: fix the error and call again.';
    return this.#client.peer.dialect.toolFailure({
      code: 'CODE_FAILED',
      message: `The latest code of ${this.#file} cannot be used.\n${message}\n${rest}`,
    });
  }

  #withoutCode(method: string, fault: Error | undefined): JsonObject {
    const why = fault?.message ?? 'it is still loading';
    const error = new ProtocolError(unavailable, `${this.#file} cannot be used: ${why}`);
    if (method !== 'tools/call' || !fault) return this.#emptyOr(method, error);
    return this.#faultForModel(fault, false);
  }

  #emptyOr(method: string, error: Error): JsonObject {
    const result = empty[method];
    if (!result) throw error;
    const { dialect } = this.#client.peer;
    return dialect.result(dialect.cacheable(result, { ttlMs: 0, scope: 'private' }), {
      serverInfo: this.serverInfo,
      capabilities: this.capabilities,
    });
  }
}

function isMissing(error: unknown): error is ProtocolError {
  return error instanceof ProtocolError && error.code === methodNotFound;
}
