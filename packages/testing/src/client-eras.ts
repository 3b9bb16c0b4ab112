/** Behaviour of a test client that differs between eras. */
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

/** Filter of `subscriptions/listen`. */
export interface ListenFilter {
  /** True to receive changes of the tool list. Default: false. */
  readonly toolsListChanged?: boolean;
  /** True to receive changes of the prompt list. Default: false. */
  readonly promptsListChanged?: boolean;
  /** True to receive changes of the resource list. Default: false. */
  readonly resourcesListChanged?: boolean;
  /** URIs of resources whose updates to receive. */
  readonly resourceSubscriptions?: readonly string[];
}

/** An acknowledged `subscriptions/listen`. */
export interface Listening {
  /** Part of the filter that the server supports. */
  readonly filter: ListenFilter;
  /** Result if the server ends it; undefined if the client or session does. */
  readonly ended: Promise<JsonObject | undefined>;
  /** Ends the subscription. */
  close(): void;
}

/** Client options that an era needs. */
export interface EraOptions {
  readonly peer: ScriptedPeer;
  readonly answering: AnsweringClient;
  send(method: string, params: JsonObject, options: CallOptions): SentRequest;
}

export interface ClientEra {
  /** Sends a request and continues its rounds until the result. */
  request(method: string, params: JsonObject, options: CallOptions): Promise<JsonObject>;
  subscribe(uri: string): Promise<void>;
  unsubscribe(uri: string): Promise<void>;
  setLogLevel(level: string): Promise<void>;
  changeRoots(roots: NonNullable<ClientAnswers['roots']>): void;
  listen(filter: ListenFilter): Promise<Listening>;
}

/** Revisions up to 2025-11-25, in which the session sends requests to the client. */
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

/** Number of rounds after which a call counts as endless. */
const maxRounds = 200;

/**
 * Revision 2026-07-28: each request identifies its client; a call that asks ends and is retried
 * with the answers.
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
    // Rejected if the session rejects the subscription.
    acknowledged.catch(() => {});
    const first = await Promise.race([acknowledged, result.then(() => undefined)]);
    return {
      filter: (first?.params?.['notifications'] ?? {}) as ListenFilter,
      ended: result.catch(() => undefined),
      close: () => closing.abort('the client has heard enough'),
    };
  }
}
