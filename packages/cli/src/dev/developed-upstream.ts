/**
 * What one client has of a module in development. The client's session stays; which code answers it
 * changes: new calls go to the newest, and what has begun elsewhere goes on there.
 */
import { ProtocolError } from 'mcp-actors';
import type { HandlerContext, JsonObject, Report, Upstream, UpstreamClient } from 'mcp-actors';
import type { UpstreamWatch } from 'mcp-actors/internal';
import { BoundedMap, BridgedEntry, isJsonObject, textOfError } from 'mcp-actors/internal';
import type { Code } from './code.ts';
import type { Development } from './development.ts';
import { isListChange } from './offer.ts';
import type { Offer } from './offer.ts';

/** Sees the calls of clients. */
export interface CallObserver {
  /** A request that runs the module's code; gives what is told its outcome. */
  began(call: SeenCall): (outcome: JsonObject | Error) => void;
}

/** A call of a client, which can be made again. */
export interface SeenCall {
  readonly method: string;
  readonly params: JsonObject | undefined;
  /** Makes it once more, with the newest code. */
  again(): Promise<JsonObject>;
}

/** A host asks once what a server can do, so all is declared that code may have later. */
const everything: JsonObject = {
  tools: { listChanged: true },
  resources: { subscribe: true, listChanged: true },
  prompts: { listChanged: true },
  completions: {},
  logging: {},
};

/** What code answers that does not have what was declared. */
const empty: { readonly [method: string]: JsonObject } = {
  'tools/list': { tools: [] },
  'resources/list': { resources: [] },
  'resources/templates/list': { resourceTemplates: [] },
  'prompts/list': { prompts: [] },
  'completion/complete': { completion: { values: [], hasMore: false } },
  'logging/setLevel': {},
};

const shownMethods: ReadonlySet<string> = new Set(['tools/call', 'prompts/get', 'resources/read']);

/** How many calls that wait, and tasks, are remembered with the code that has them. */
const maxRemembered = 1024;

/** A host has its own time for each call. These are the last resort. */
const limits = { requestTimeoutMs: 3_600_000, requestMaxTotalMs: 86_400_000 };

const methodNotFound = -32601;
const unavailable = -32000;

/** What code has begun for the client. */
interface Begun {
  readonly code: Code;
  readonly release: () => void;
}

/** Resources whose changes the client listens for, since 2026-07-28. */
interface Watching {
  readonly uris: readonly string[];
  watch: UpstreamWatch | undefined;
}

/** How a client is connected to the module. */
export interface DevelopedOptions {
  /** The lists and capabilities of the current code; undefined if none can be loaded. */
  readonly offer: Offer | undefined;
  /** The module, as it is shown. */
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
  /** The upstreams over the code that has been asked. */
  readonly #over = new Map<Code, Promise<Upstream>>();
  /** By the request state of a call that waits, or the id of a task. */
  readonly #begun = new BoundedMap<string, Begun>(maxRemembered);
  /** What the client has subscribed to, until 2025-11-25. */
  readonly #subscribed = new Set<string>();
  readonly #watching = new Set<Watching>();
  /** How the client has set its log level. */
  #level: { readonly params: JsonObject | undefined; readonly context: HandlerContext } | undefined;
  /** The fault that the model has been told. */
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
      // Code that has one of the others may come yet.
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

  /** The client's upstream over one version of the code. */
  #at(code: Code): Promise<Upstream> {
    const known = this.#over.get(code);
    if (known) return known;
    const opening = this.#open(code);
    this.#over.set(code, opening);
    // The next request tries again.
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
      // Whether its lists are those of the client is decided when they are compared.
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
        if (!isMissing(error)) this.#note('The log level was not set at the newest code', error);
      }
    }
    return upstream;
  }

  async #close(over: Promise<Upstream>): Promise<void> {
    // Whoever has opened it gets the error.
    const upstream = await over.catch(() => undefined);
    try {
      await upstream?.close?.();
    } catch (error) {
      this.#note('The client was not disconnected from older code', error);
    }
  }

  #note(what: string, error: unknown): void {
    const message = `${what}: ${textOfError(error)}`;
    this.#report({ level: 'warning', name: 'dev.not-connected', message, details: { error } });
  }

  async #watch(watching: Watching, upstream: Upstream): Promise<void> {
    watching.watch = await upstream.watch?.(watching.uris);
  }

  /** Connects the client to other code, before it asks for something. */
  #exchange(code: Code): void {
    if (this.#over.size === 0) return;
    this.#at(code).catch((error: unknown) =>
      this.#note('The client was not connected to the newest code before its next request', error),
    );
  }

  #forget(code: Code): void {
    const over = this.#over.get(code);
    this.#over.delete(code);
    if (over) void this.#close(over);
  }

  /**
   * The code that a request is about: a task, or a call that goes on with the answers of its client.
   * A machine goes on in its state with any code, so with the newest.
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
      ? 'The code from before that change still runs: call again to use it.'
      : 'There is no code from before that change: mend it, and call again.';
    return this.#client.peer.dialect.toolFailure({
      code: 'CODE_FAILED',
      message: `The newest code of ${this.#file} cannot be used.\n${message}\n${rest}`,
    });
  }

  #withoutCode(method: string, fault: Error | undefined): JsonObject {
    const why = fault?.message ?? 'it is being loaded';
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
