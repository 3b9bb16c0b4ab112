/** An in-process client with typed calls and configurable answers. */
import type { ListenOptions, McpServer } from '../../../src/server/create-server.ts';
import type { Prompt } from '../../../src/server/define/prompt.ts';
import type { Tool } from '../../../src/server/define/tool.ts';
import type { McpSession } from '../../../src/server/session.ts';
import { memory } from '../../../src/transports/memory.ts';
import type { MemoryPeer } from '../../../src/transports/memory.ts';
import type { JsonObject, RequestId } from '../../../src/protocol/frames.ts';
import { AnsweringClient, capabilitiesOf } from './answering-client.ts';
import type { ClientAnswers } from './answering-client.ts';
import {
  readCallResult,
  readCompletion,
  readPromptResult,
  readResourceResult,
} from './call-results.ts';
import type { CallResult, PromptResult, ResourceResult } from './call-results.ts';
import type {
  Completion,
  ListedPrompt,
  ListedResource,
  ListedResourceTemplate,
  ListedTool,
} from '../../../src/protocol/list-items.ts';
import type { AnyCalls, CallOptions, CallsOf } from './client-calls.ts';
import { HandshakeEra, StatelessEra } from './client-eras.ts';
import type { ClientEra, ListenFilter, Listening, SentRequest } from './client-eras.ts';
import { scriptedConversation } from './conversation.ts';
import type { TransportPair, Conversation, RecordedFacts } from './conversation.ts';
import { cancelled, notification } from './messages.ts';
import { ErrorAnswer } from './peer.ts';
import { authorized } from './principal.ts';
import type { TestPrincipal } from './principal.ts';
import type { PeerOptions, ScriptedPeer, Wire } from './peer.ts';

/** Identity and answers of the client, and options of its session. */
export interface TestClientOptions
  extends Omit<ListenOptions, 'report'>, ClientAnswers, PeerOptions {
  /** The connection to use instead of `memory()`. */
  readonly connection?: TransportPair;
  /**
   * Principal of the client, seen in `context.principal` and by `visible`. Tool `scopes` are
   * checked only by the HTTP endpoint, not here.
   */
  readonly principal?: TestPrincipal;
}

/**
 * Opens an in-memory session with a server and initializes it. The client declares the capabilities
 * for which the options have answers. `testClient(server, { revision: '2026-07-28' })` has no
 * handshake: it discovers the server and answers calls' questions with the same options. With
 * `resume: 'replay'` a handler that asks runs again each time, as if another process resumed it.
 *
 * ```ts
 * await using client = await testClient(server);
 * expect((await client.callTool('add', { a: 1, b: 2 })).text).toBe('3');
 * ```
 *
 * @throws {ErrorAnswer} if the session rejects the handshake
 */
export async function testClient<
  TTools extends readonly Tool[] = readonly Tool[],
  TPrompts extends readonly Prompt[] = readonly Prompt[],
>(
  server: McpServer<TTools, TPrompts>,
  options: TestClientOptions = {},
): Promise<TestClient<TTools, TPrompts>> {
  const { connection, principal, ...others } = options;
  const capabilities = { ...capabilitiesOf(options), ...options.capabilities };
  const { transport, peer }: TransportPair = connection ?? memory();
  const conversation = scriptedConversation(
    server,
    { ...others, capabilities },
    { transport: principal ? authorized(transport, principal) : transport, peer },
  );
  const answering = new AnsweringClient(conversation.peer, conversation.wire, options);
  const hello = await conversation.peer.handshake();
  const client: TestClient = new ConnectedClient(conversation, answering, hello);
  return client as TestClient<TTools, TPrompts>;
}

/**
 * Client created by {@link testClient}. A call rejects with an {@link ErrorAnswer} if the session
 * answers with an error. The server's type provides the names, arguments and results of tools and
 * prompts; plain `TestClient` accepts every name.
 */
export type TestClient<
  TTools extends readonly Tool[] = readonly Tool[],
  TPrompts extends readonly Prompt[] = readonly Prompt[],
> = Omit<ConnectedClient, keyof AnyCalls> & CallsOf<TTools, TPrompts>;

class ConnectedClient implements AnyCalls, AsyncDisposable {
  /** Underlying scripted peer, for invalid messages and all received frames. */
  readonly peer: ScriptedPeer;
  readonly session: McpSession;
  readonly facts: RecordedFacts;
  /**
   * The result of `initialize`: `serverInfo`, `capabilities`, `protocolVersion`, `instructions`. In
   * 2026-07-28 that of `server/discover`: `capabilities`, `supportedVersions`, `instructions`.
   */
  readonly hello: JsonObject;
  readonly #answering: AnsweringClient;
  readonly #era: ClientEra;
  #count = 0;

  constructor(
    { peer, session, facts }: Conversation<Wire | MemoryPeer>,
    answering: AnsweringClient,
    hello: JsonObject,
  ) {
    this.peer = peer;
    this.session = session;
    this.facts = facts;
    this.hello = hello;
    this.#answering = answering;
    this.#era = new (peer.isStateless ? StatelessEra : HandshakeEra)({
      peer,
      answering,
      send: (...given) => this.#send(...given),
    });
  }

  /** Every tool, from all pages. */
  listTools(): Promise<readonly ListedTool[]> {
    return this.#all<ListedTool>('tools/list', 'tools');
  }

  async callTool(name: string, args?: JsonObject, options?: CallOptions): Promise<CallResult> {
    const params = { name, ...(args ? { arguments: args } : {}) };
    return readCallResult(await this.request('tools/call', params, options));
  }

  /** Every resource, from all pages. */
  listResources(): Promise<readonly ListedResource[]> {
    return this.#all<ListedResource>('resources/list', 'resources');
  }

  /** Every resource template, from all pages. */
  listResourceTemplates(): Promise<readonly ListedResourceTemplate[]> {
    return this.#all<ListedResourceTemplate>('resources/templates/list', 'resourceTemplates');
  }

  async readResource(uri: string, options?: CallOptions): Promise<ResourceResult> {
    return readResourceResult(await this.request('resources/read', { uri }, options));
  }

  /**
   * Subscribes to a resource; its updates then arrive in
   * `nextNotification('notifications/resources/updated')`.
   */
  subscribe(uri: string): Promise<void> {
    return this.#era.subscribe(uri);
  }

  unsubscribe(uri: string): Promise<void> {
    return this.#era.unsubscribe(uri);
  }

  /**
   * Subscribes to the changes in the filter (since 2026-07-28), which then arrive in
   * `nextNotification`.
   *
   * @throws {ErrorAnswer} if the session rejects it
   * @throws {Error} if the revision lacks the request
   */
  listen(filter: ListenFilter): Promise<Listening> {
    return this.#era.listen(filter);
  }

  /** Every prompt, from all pages. */
  listPrompts(): Promise<readonly ListedPrompt[]> {
    return this.#all<ListedPrompt>('prompts/list', 'prompts');
  }

  async getPrompt(
    name: string,
    args?: { readonly [name: string]: string },
    options?: CallOptions,
  ): Promise<PromptResult> {
    const params = { name, ...(args ? { arguments: args } : {}) };
    return readPromptResult(await this.request('prompts/get', params, options));
  }

  async complete(
    of: { readonly prompt: string } | { readonly uriTemplate: string },
    argument: { readonly name: string; readonly value: string },
    filled?: { readonly [name: string]: string },
  ): Promise<Completion> {
    const ref =
      'prompt' in of
        ? { type: 'ref/prompt', name: of.prompt }
        : { type: 'ref/resource', uri: of.uriTemplate };
    const context = filled ? { context: { arguments: filled } } : {};
    return readCompletion(await this.request('completion/complete', { ref, argument, ...context }));
  }

  /** Sets the minimum level of log messages sent to this client. */
  setLogLevel(level: string): Promise<void> {
    return this.#era.setLogLevel(level);
  }

  /**
   * Replaces the client's roots and notifies the session.
   *
   * @throws {Error} if the revision lacks the notification
   */
  changeRoots(roots: NonNullable<ClientAnswers['roots']>): void {
    this.#era.changeRoots(roots);
  }

  /** Sends any request, such as one that this class has no method for. */
  async request(
    method: string,
    params: JsonObject = {},
    options: CallOptions = {},
  ): Promise<JsonObject> {
    options.signal?.throwIfAborted();
    return await this.#era.request(method, params, options);
  }

  /** Sends one request without answering questions in its result. */
  #send(
    method: string,
    params: JsonObject,
    { meta, signal, onProgress }: CallOptions,
  ): SentRequest {
    const id = `client-${++this.#count}`;
    const token = onProgress ? { progressToken: id } : {};
    const _meta = { ...meta, ...token };
    const hasMeta = Object.keys(_meta).length > 0;
    if (onProgress) this.#answering.onProgress(id, onProgress);
    this.peer.send(this.peer.compose(id, method, hasMeta ? { ...params, _meta } : params));
    const result = this.#answerOf(id, signal).finally(() => this.#answering.forgetProgress(id));
    return { id, result };
  }

  /** Sends any notification. */
  notify(method: string, params?: JsonObject): void {
    this.peer.send(notification(method, params));
  }

  /** Takes the next notification of this method, waiting if necessary, and returns its params. */
  async nextNotification(method: string): Promise<JsonObject> {
    return (await this.peer.notification(method)).params ?? {};
  }

  /** Ends the session's input and waits for its end. */
  async close(): Promise<void> {
    this.peer.end();
    await this.session.closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #answerOf(id: RequestId, signal: AbortSignal | undefined): Promise<JsonObject> {
    const { result, error } = await this.#response(id, signal);
    if (error) throw new ErrorAnswer(error);
    return result ?? {};
  }

  #response(id: RequestId, signal: AbortSignal | undefined): ReturnType<ScriptedPeer['response']> {
    const response = this.peer.response(id);
    if (!signal) return response;
    return new Promise((resolve, reject) => {
      const abort = () => {
        this.peer.send(cancelled(id, String(signal.reason)));
        reject(signal.reason as Error);
      };
      signal.addEventListener('abort', abort);
      response.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
    });
  }

  async #all<T>(method: string, member: string): Promise<readonly T[]> {
    const items: T[] = [];
    let cursor: unknown;
    do {
      const page = await this.request(method, cursor === undefined ? {} : { cursor });
      items.push(...((page[member] ?? []) as readonly T[]));
      cursor = page['nextCursor'];
    } while (cursor !== undefined);
    return items;
  }
}
