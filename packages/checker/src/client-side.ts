/** The state of a play's client: the requests still open on either side, and its roots. */
import { ErrorCode } from 'mcp-actors';
import type { JsonObject, RequestId } from 'mcp-actors';
import { Method, isJsonObject } from 'mcp-actors/internal';
import type { ClientFeatures } from './client.machine.ts';
import { isImpolite } from './move.ts';
import type { Move } from './move.ts';
import {
  outgoingAnswer,
  inEnvelope,
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
  /** The arguments that a tool is called with. */
  argumentsOf(tool: string): JsonObject;
  /** The URI of the folder that holds the roots' folders, without a slash at the end. */
  readonly rootsUri: string;
}

/** A request that the server sent. */
export interface HeldRequest {
  readonly message: JsonObject;
  /** The URI of the client's root when the request came. */
  readonly root: string;
}

/** A call that has asked its client by ending. */
export interface AskingCall {
  readonly tool: string;
  readonly result: JsonObject;
}

export class ClientSide {
  readonly revision: string;
  readonly declares: ClientFeatures['declares'];
  /** The capabilities that the client declared; undefined before it sends initialize. */
  offered: JsonObject | undefined;
  /** The server's requests that have no answer yet, in order. */
  readonly held: HeldRequest[] = [];
  /** Those that the client has answered, and those that the server cancelled first. */
  readonly answered: HeldRequest[] = [];
  readonly withdrawn: HeldRequest[] = [];
  /** The client's requests that have no answer yet, by the keys of their ids. */
  readonly owed = new Map<string, { readonly id: RequestId; readonly method: string }>();
  /** The client's requests that the server has answered, in the order of the answers. */
  readonly done: RequestId[] = [];
  /** The calls that have asked and wait for their retry. */
  readonly asking: AskingCall[] = [];
  /** The subscriptions that are open. */
  readonly listening: RequestId[] = [];
  /** The tools whose calls the client has cancelled. */
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

  /** Asks something that every server answers at once. */
  probe(): RequestId {
    const id = this.nextId();
    this.send(outgoingRequest(id, this.isStateless ? Method.discover : Method.ping));
    return id;
  }

  /** Whether each request identifies its client. */
  get isStateless(): boolean {
    return this.#options.features.stateless;
  }

  nextId(): number {
    return ++this.#count;
  }

  isUsed(id: RequestId): boolean {
    return this.#used.has(idKey(id));
  }

  /** Whether the client has told the server that its roots changed. */
  get hasChangedRoots(): boolean {
    return this.#rootsVersion > 0;
  }

  /** Whether the client has answered a request after the server cancelled it. */
  get hasAnsweredLate(): boolean {
    return this.#lateAnswers > 0;
  }

  /** Whether a line that the server sent names the newest root. */
  namesNewestRoot({ text }: { readonly text: string }): boolean {
    return new RegExp(`${this.#root.slice(this.#root.lastIndexOf('/') + 1)}\\b`).test(text);
  }

  changeRoots(): void {
    this.#rootsVersion++;
  }

  /** These requests will not be answered. */
  giveUp(ids: readonly RequestId[]): void {
    for (const id of ids) this.owed.delete(idKey(id));
  }

  /**
   * Sends a message, or a batch as one line.
   * @param odd over HTTP, what differs from what a client should send
   */
  send(plain: unknown, move?: Move, odd?: OddHeaders): void {
    const isEnveloped = this.#options.features.stateless && move?.type !== 'bare';
    const message = isEnveloped && isJsonObject(plain) ? inEnvelope(plain, this.revision) : plain;
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

  /** Sends a line unchanged. */
  sendText(text: string, value: unknown, move?: Move, odd?: OddHeaders): void {
    const impolite = move !== undefined && isImpolite(move);
    const note = odd ? { note: odd.note } : {};
    this.#write({ kind: 'sent', text, value, move: move?.type, impolite, ...note }, odd);
  }

  /** @param more params of its own, such as the answers that it has asked for */
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

  /** Cancels the newest open call, if there is one. */
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

  /** Retries the newest call that has asked, if there is one. */
  retry(
    move?: Move,
    asked = move?.type === 'retry-twice' ? this.#retried : this.asking.pop(),
  ): void {
    if (!asked) return;
    const isForged = move?.type === 'retry-forged';
    // It may still be gone on with as the server has asked.
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
          'An answer of the check.',
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

  /** Cancels the newest subscription, if there is one. */
  unlisten(move?: Move): void {
    const id = this.listening.pop();
    if (id === undefined || !this.owed.delete(idKey(id))) return;
    this.send(outgoingNotification(Method.cancelled, { requestId: id, reason: 'checked' }), move);
  }

  /** Answers a request that the server sent, by default as the declared capabilities ask. */
  answer(held: HeldRequest, response?: JsonObject, move?: Move): void {
    const at = this.held.indexOf(held);
    if (at !== -1) this.held.splice(at, 1);
    this.answered.push(held);
    const { id, method } = held.message;
    const result = outgoingAnswer(method, this.offered ?? {}, held.root, 'An answer of the check.');
    const error = { code: ErrorCode.methodNotFound, message: 'The client has not declared this' };
    this.send({ jsonrpc: '2.0', id, ...(response ?? (result ? { result } : { error })) }, move);
  }

  /** Answers the newest request that the server cancelled, if any, with an unmistakable mark. */
  answerLate(move: Move): void {
    const held = this.withdrawn.pop();
    if (!held) return;
    this.#lateAnswers++;
    const { id, method } = held.message;
    const root = `${this.#options.rootsUri}/${lateMark}`;
    const result = outgoingAnswer(method, this.offered ?? {}, root, lateMark) ?? {};
    this.send({ jsonrpc: '2.0', id, result }, move);
  }

  /** Takes a parsed line from the server. It answers pings; other requests wait for a move. */
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
