/** Client state of a play: open requests in both directions, and the roots. */
import { ErrorCode } from 'mcp-actors';
import type { JsonObject, RequestId } from 'mcp-actors';
import { Method, isJsonObject } from 'mcp-actors/internal';
import type { ClientFeatures } from './client.machine.ts';
import { isImpolite } from './move.ts';
import type { Move } from './move.ts';
import {
  outgoingAnswer,
  withEnvelope,
  outgoingNotification,
  outgoingRequest,
  statelessCapabilities,
} from './outgoing.ts';
import { lateMark, rootFolders, rootName } from './roots-folder.ts';
import type { OddHeaders } from './server-process.ts';
import { idKey, isMessageId, messagesIn } from './message.ts';
import type { PlayedLine } from './trace.ts';

export interface ClientSideOptions {
  readonly revision: string;
  readonly features: ClientFeatures;
  /** Arguments for calls of a tool. */
  argumentsOf(tool: string): JsonObject;
  /** URI of the folder that contains the root folders, without a trailing slash. */
  readonly rootsUri: string;
}

/** A request from the server. */
export interface HeldRequest {
  readonly message: JsonObject;
  /** URI of the client's root when the request arrived. */
  readonly root: string;
}

/** A call that returned `input_required`. */
export interface AskingCall {
  readonly tool: string;
  readonly result: JsonObject;
}

export class ClientSide {
  readonly revision: string;
  readonly declares: ClientFeatures['declares'];
  /** Capabilities the client declared; undefined before initialize. */
  offered: JsonObject | undefined;
  /** The server's unanswered requests, in order. */
  readonly held: HeldRequest[] = [];
  /**
   * The server's requests that the client answered, and those the server cancelled before an
   * answer.
   */
  readonly answered: HeldRequest[] = [];
  readonly withdrawn: HeldRequest[] = [];
  /** The client's unanswered requests, by id key. */
  readonly owed = new Map<string, { readonly id: RequestId; readonly method: string }>();
  /** The client's answered requests, in the order of their answers. */
  readonly done: RequestId[] = [];
  /** Calls that await their retry. */
  readonly asking: AskingCall[] = [];
  /** Ids of open subscriptions. */
  readonly listening: RequestId[] = [];
  /** Tools whose calls the client cancelled. */
  readonly cancelledTools = new Set<string>();
  readonly #options: ClientSideOptions;
  readonly #write: (sent: PlayedLine, odd?: OddHeaders) => void;
  readonly #used = new Set<string>();
  readonly #calls: { readonly id: RequestId; readonly tool: string }[] = [];
  #retried: AskingCall | undefined = undefined;
  #count = 0;
  #rootsVersion = 0;
  #lateAnswers = 0;

  /** @param write called with each line to send */
  constructor(options: ClientSideOptions, write: (sent: PlayedLine, odd?: OddHeaders) => void) {
    this.#options = options;
    this.#write = write;
    this.revision = options.revision;
    this.declares = options.features.declares;
    if (options.features.stateless) this.offered = statelessCapabilities;
  }

  /** Sends a request that every server answers immediately. */
  probe(): RequestId {
    const id = this.nextId();
    this.send(outgoingRequest(id, this.isStateless ? Method.discover : Method.ping));
    return id;
  }

  /** True if each request identifies its client. */
  get isStateless(): boolean {
    return this.#options.features.stateless;
  }

  nextId(): number {
    return ++this.#count;
  }

  isUsed(id: RequestId): boolean {
    return this.#used.has(idKey(id));
  }

  /** True if the client has announced a change of its roots. */
  get hasChangedRoots(): boolean {
    return this.#rootsVersion > 0;
  }

  /** True if the client has answered a request after its cancellation. */
  get hasAnsweredLate(): boolean {
    return this.#lateAnswers > 0;
  }

  /** True if a line from the server names the newest root. */
  namesNewestRoot({ text }: { readonly text: string }): boolean {
    return new RegExp(`${this.#root.slice(this.#root.lastIndexOf('/') + 1)}\\b`).test(text);
  }

  changeRoots(): void {
    this.#rootsVersion++;
  }

  /** Gives up on these requests: they will not be answered. */
  giveUp(ids: readonly RequestId[]): void {
    for (const id of ids) this.owed.delete(idKey(id));
  }

  /**
   * Sends a message, or a batch as one line.
   * @param odd over HTTP, deliberate deviations from valid headers
   */
  send(plain: unknown, move?: Move, odd?: OddHeaders): void {
    const isEnveloped = this.#options.features.stateless && move?.type !== 'bare';
    const message = isEnveloped && isJsonObject(plain) ? withEnvelope(plain, this.revision) : plain;
    for (const { id, method, params } of messagesIn(message)) {
      if (!isMessageId(id) || typeof method !== 'string') continue;
      this.owed.set(idKey(id), { id, method });
      this.#used.add(idKey(id));
      if (method === Method.initialize && isJsonObject(params)) {
        this.offered = params['capabilities'] as JsonObject;
      }
    }
    this.sendText(JSON.stringify(message), message, move, odd);
  }

  /** Sends a line verbatim. */
  sendText(text: string, value: unknown, move?: Move, odd?: OddHeaders): void {
    const impolite = move !== undefined && isImpolite(move);
    const note = odd ? { note: odd.note } : {};
    this.#write({ kind: 'sent', text, value, move: move?.type, impolite, ...note }, odd);
  }

  /** @param more additional params, such as answers to input requests */
  call(id: RequestId, tool: string, move?: Move, more: JsonObject = {}): void {
    this.#calls.push({ id, tool });
    const { _meta: meta, ...others } = more;
    const params = {
      name: tool,
      arguments: this.#options.argumentsOf(tool),
      ...others,
      _meta: { progressToken: `progress-${idKey(id)}`, ...(meta as JsonObject | undefined) },
    };
    this.send(outgoingRequest(id, 'tools/call', params), move);
  }

  /** Cancels the newest open call, if any. */
  cancel(move: Move): void {
    const newest = this.#calls.findLast(({ id }) => this.owed.has(idKey(id)));
    if (!newest) return;
    this.owed.delete(idKey(newest.id));
    this.cancelledTools.add(newest.tool);
    this.send(
      outgoingNotification(Method.cancelled, { requestId: newest.id, reason: 'checked' }),
      move,
    );
  }

  /** Retries the newest call that requested input, if any. */
  retry(
    move?: Move,
    asked = move?.type === 'retry-twice' ? this.#retried : this.asking.pop(),
  ): void {
    if (!asked) return;
    const isForged = move?.type === 'retry-forged';
    // After a forged retry, the genuine one is still possible.
    if (isForged) this.asking.push(asked);
    else this.#retried = asked;
    const { inputRequests, requestState } = asked.result;
    const root = this.#root;
    const answers = Object.entries(isJsonObject(inputRequests) ? inputRequests : {}).map(
      ([key, question]) => {
        const method = isJsonObject(question) ? question['method'] : undefined;
        const result = outgoingAnswer(
          method,
          statelessCapabilities,
          root,
          'Answer from the check.',
        );
        return [key, result ?? {}];
      },
    );
    const state = isForged ? 'check-forged-state' : requestState;
    this.call(this.nextId(), asked.tool, move, {
      inputResponses: Object.fromEntries(answers) as JsonObject,
      ...(state === undefined ? {} : { requestState: state }),
    });
  }

  listen(move: Move): void {
    const id = this.nextId();
    this.listening.push(id);
    const all = { toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true };
    this.send(outgoingRequest(id, 'subscriptions/listen', { notifications: all }), move);
  }

  /** Cancels the newest subscription, if any. */
  unlisten(move?: Move): void {
    const id = this.listening.pop();
    if (id === undefined || !this.owed.delete(idKey(id))) return;
    this.send(outgoingNotification(Method.cancelled, { requestId: id, reason: 'checked' }), move);
  }

  /** Answers a request from the server. Default: according to the declared capabilities. */
  answer(held: HeldRequest, response?: JsonObject, move?: Move): void {
    const at = this.held.indexOf(held);
    if (at !== -1) this.held.splice(at, 1);
    this.answered.push(held);
    const { id, method } = held.message;
    const result = outgoingAnswer(method, this.offered ?? {}, held.root, 'Answer from the check.');
    const error = {
      code: ErrorCode.methodNotFound,
      message: 'The client has not declared this capability',
    };
    this.send({ jsonrpc: '2.0', id, ...(response ?? (result ? { result } : { error })) }, move);
  }

  /** Answers the newest request the server cancelled, if any, with a recognizable mark. */
  answerLate(move: Move): void {
    const held = this.withdrawn.pop();
    if (!held) return;
    this.#lateAnswers++;
    const { id, method } = held.message;
    const root = `${this.#options.rootsUri}/${lateMark}`;
    const result = outgoingAnswer(method, this.offered ?? {}, root, lateMark) ?? {};
    this.send({ jsonrpc: '2.0', id, result }, move);
  }

  /**
   * Processes a parsed line from the server. Pings are answered at once; other requests wait for a
   * move.
   */
  take(value: unknown): void {
    for (const message of messagesIn(value)) {
      const { id, method, params } = message;
      if (typeof method !== 'string') {
        if (!isMessageId(id) || !this.owed.delete(idKey(id))) continue;
        this.done.push(id);
        const { result } = message;
        const call = this.#calls.find((each) => idKey(each.id) === idKey(id));
        if (call && isJsonObject(result) && result['resultType'] === 'input_required') {
          this.asking.push({ tool: call.tool, result });
        }
      } else if (!('id' in message)) {
        if (method === Method.cancelled && isJsonObject(params)) this.#withdraw(params);
      } else {
        const held = { message, root: this.#root };
        if (method === Method.ping) this.answer(held, { result: {} });
        else this.held.push(held);
      }
    }
  }

  get #root(): string {
    return `${this.#options.rootsUri}/${rootName}${this.#rootsVersion % rootFolders}`;
  }

  #withdraw({ requestId }: JsonObject): void {
    const at = this.held.findIndex(({ message }) => message['id'] === requestId);
    if (at !== -1) this.withdrawn.push(...this.held.splice(at, 1));
  }
}
