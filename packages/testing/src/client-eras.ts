/** What a test client does in another way in each era. */
import type { JsonObject, RequestId } from '../../../src/protocol/frames.ts';
import { isJsonObject } from '../../../src/protocol/classify.ts';
import { MetaKey } from '../../../src/protocol/meta.ts';
import type { AnsweringClient, ClientAnswers } from './answering-client.ts';
import type { CallOptions } from './client-calls.ts';
import { rootsChanged } from './messages.ts';
import type { ScriptedPeer } from './peer.ts';

/** A request that was sent. */
export interface SentRequest {
  readonly id: RequestId;
  /** Rejects with an `ErrorAnswer`, or with the reason of the signal. */
  readonly result: Promise<JsonObject>;
}

/** What a client listens for: the filter of `subscriptions/listen`. */
export interface ListenFilter {
  /** Whether to hear of changes of the list of tools; by default not. */
  readonly toolsListChanged?: boolean;
  /** Whether to hear of changes of the list of prompts; by default not. */
  readonly promptsListChanged?: boolean;
  /** Whether to hear of changes of the list of resources; by default not. */
  readonly resourcesListChanged?: boolean;
  /** URIs. */
  readonly resourceSubscriptions?: readonly string[];
}

/** A `subscriptions/listen` that the session has acknowledged. */
export interface Listening {
  /** What of its filter the server serves. */
  readonly filter: ListenFilter;
  /** The result with which the server ends it; undefined if the client or the session ended it. */
  readonly ended: Promise<JsonObject | undefined>;
  /** Ends the subscription. */
  close(): void;
}

/** What an era needs of its client. */
export interface EraOptions {
  readonly peer: ScriptedPeer;
  readonly answering: AnsweringClient;
  send(method: string, params: JsonObject, options: CallOptions): SentRequest;
}

export interface ClientEra {
  /** Sends a request, and goes on until it has its result. */
  request(method: string, params: JsonObject, options: CallOptions): Promise<JsonObject>;
  subscribe(uri: string): Promise<void>;
  unsubscribe(uri: string): Promise<void>;
  setLogLevel(level: string): Promise<void>;
  changeRoots(roots: NonNullable<ClientAnswers['roots']>): void;
  listen(filter: ListenFilter): Promise<Listening>;
}

/** The revisions up to 2025-11-25: the session has a client, and asks it. */
export class HandshakeEra implements ClientEra {
  readonly #options: EraOptions;

  constructor(options: EraOptions) {
    this.#options = options;
  }

  request(method: string, params: JsonObject, options: CallOptions = {}): Promise<JsonObject> {
    return this.#options.send(method, params, options).result;
  }

  async subscribe(uri: string): Promise<void> {
    await this.request('resources/subscribe', { uri });
  }

  async unsubscribe(uri: string): Promise<void> {
    await this.request('resources/unsubscribe', { uri });
  }

  async setLogLevel(level: string): Promise<void> {
    await this.request('logging/setLevel', { level });
  }

  changeRoots(roots: NonNullable<ClientAnswers['roots']>): void {
    const { answering, peer } = this.#options;
    answering.roots = roots;
    peer.send(rootsChanged);
  }

  listen(): Promise<Listening> {
    return Promise.reject(
      new Error(
        `${this.#options.peer.revision} has no subscriptions/listen: its clients hear of changed lists unasked, and of a resource after subscribe(uri)`,
      ),
    );
  }
}

/** How often one call may ask before the client takes it for endless. */
const maxRounds = 200;

/**
 * 2026-07-28: each request says itself who its client is; one that asks ends, and goes on with the
 * client's answers.
 */
export class StatelessEra implements ClientEra {
  readonly #options: EraOptions;
  readonly #watched = new Map<string, Listening>();
  #logLevel: string | undefined;

  constructor(options: EraOptions) {
    this.#options = options;
  }

  async request(method: string, params: JsonObject, options: CallOptions): Promise<JsonObject> {
    const { send, answering } = this.#options;
    const level = this.#logLevel;
    const own = level === undefined ? {} : { [MetaKey.logLevel]: level };
    const given = { ...options, meta: { ...own, ...options.meta } };
    let result = await send(method, params, given).result;
    for (let round = 1; result['resultType'] === 'input_required'; round++) {
      if (round > maxRounds) throw new Error(`${method} has asked ${maxRounds} times`);
      const { requestState, inputRequests } = result;
      const inputResponses = await answering.respond(inputRequests, options.signal);
      const state = requestState === undefined ? {} : { requestState };
      result = await send(method, { ...params, ...state, inputResponses }, given).result;
    }
    return result;
  }

  async subscribe(uri: string): Promise<void> {
    this.#watched.get(uri)?.close();
    this.#watched.set(uri, await this.listen({ resourceSubscriptions: [uri] }));
  }

  unsubscribe(uri: string): Promise<void> {
    this.#watched.get(uri)?.close();
    this.#watched.delete(uri);
    return Promise.resolve();
  }

  setLogLevel(level: string): Promise<void> {
    this.#logLevel = level;
    return Promise.resolve();
  }

  changeRoots(): void {
    throw new Error(
      `${this.#options.peer.revision} has no notifications/roots/list_changed: each call asks for the roots. To change what calls get, pass connect() an answer to "roots/list" in "answers", and the capability "roots"`,
    );
  }

  async listen(filter: ListenFilter): Promise<Listening> {
    const { send, peer } = this.#options;
    const closing = new AbortController();
    const { signal } = closing;
    const { id, result } = send('subscriptions/listen', { notifications: filter }, { signal });
    const isItsOwn = (params: JsonObject) => {
      const meta = params['_meta'];
      return isJsonObject(meta) && meta[MetaKey.subscriptionId] === id;
    };
    const acknowledged = peer.notification('notifications/subscriptions/acknowledged', isItsOwn);
    // If the session refuses, it will not come.
    acknowledged.catch(() => {});
    const first = await Promise.race([acknowledged, result.then(() => undefined)]);
    return {
      filter: (first?.params?.['notifications'] ?? {}) as ListenFilter,
      ended: result.catch(() => undefined),
      close: () => closing.abort('the client has heard enough'),
    };
  }
}
