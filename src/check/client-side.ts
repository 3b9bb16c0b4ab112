/** The books of a play's client: what it has asked and is owed, what it was asked and owes, and its roots. */
import { isJsonObject, isRequestId } from '../protocol/classify.ts';
import { ErrorCode } from '../protocol/errors.ts';
import type { JsonObject, RequestId } from '../protocol/frames.ts';
import { Method } from '../protocol/methods.ts';
import type { ClientFeatures } from './client.machine.ts';
import { isImpolite } from './move.ts';
import type { Move } from './move.ts';
import { answerTo, lateMark, notification, request, rootFolders, rootName } from './outgoing.ts';
import { idKey, messagesIn } from './trace.ts';
import type { Sent } from './trace.ts';

export interface ClientSideOptions {
  readonly revision: string;
  readonly features: ClientFeatures;
  /** The arguments that a tool is called with. */
  argumentsOf(tool: string): JsonObject;
  /** The URI of the folder that holds the roots' folders, without a slash at the end. */
  readonly rootsUri: string;
}

/** A request of the server's. */
export interface Held {
  readonly message: JsonObject;
  /** The roots as they were when it came. */
  readonly root: string;
}

export class ClientSide {
  readonly revision: string;
  readonly declares: ClientFeatures['declares'];
  /** What the client has declared; undefined before it sends initialize. */
  offered: JsonObject | undefined;
  /** Requests of the server's without an answer, in order. */
  readonly held: Held[] = [];
  /** Those that were answered, and those that the server has cancelled before they were. */
  readonly answered: Held[] = [];
  readonly withdrawn: Held[] = [];
  /** Requests that an answer is owed to, by the keys of their ids. */
  readonly owed = new Map<string, { readonly id: RequestId; readonly method: string }>();
  /** The client's requests that were answered, in the order of the answers. */
  readonly done: RequestId[] = [];
  /** Tools of calls that were cancelled. */
  readonly cancelledTools = new Set<string>();
  readonly #options: ClientSideOptions;
  readonly #write: (sent: Sent) => void;
  readonly #used = new Set<string>();
  readonly #calls: { readonly id: RequestId; readonly tool: string }[] = [];
  #count = 0;
  #rootsVersion = 0;
  #lateAnswers = 0;

  /** @param write takes what is to be sent, a line each */
  constructor(options: ClientSideOptions, write: (sent: Sent) => void) {
    this.#options = options;
    this.#write = write;
    this.revision = options.revision;
    this.declares = options.features.declares;
  }

  nextId(): number {
    return ++this.#count;
  }

  isUsed(id: RequestId): boolean {
    return this.#used.has(idKey(id));
  }

  /** Whether the server was told of a change of the roots. */
  get hasChangedRoots(): boolean {
    return this.#rootsVersion > 0;
  }

  /** Whether a request was answered that the server had cancelled. */
  get hasAnsweredLate(): boolean {
    return this.#lateAnswers > 0;
  }

  /** Whether a line of the server's names the newest of the roots. */
  namesNewestRoot({ text }: { readonly text: string }): boolean {
    return new RegExp(`${this.#root.slice(this.#root.lastIndexOf('/') + 1)}\\b`).test(text);
  }

  changeRoots(): void {
    this.#rootsVersion++;
  }

  /** Sends a message, or several as one line. */
  send(message: unknown, move?: Move): void {
    for (const { id, method, params } of messagesIn(message)) {
      if (!isRequestId(id) || typeof method !== 'string') continue;
      this.owed.set(idKey(id), { id, method });
      this.#used.add(idKey(id));
      if (method === Method.initialize && isJsonObject(params)) {
        this.offered = params['capabilities'] as JsonObject;
      }
    }
    this.sendText(JSON.stringify(message), message, move);
  }

  /** Sends a line as it is. */
  sendText(text: string, value: unknown, move?: Move): void {
    const impolite = move !== undefined && isImpolite(move);
    this.#write({ kind: 'sent', text, value, move: move?.type, impolite });
  }

  call(id: RequestId, tool: string, move?: Move): void {
    this.#calls.push({ id, tool });
    const params = {
      name: tool,
      arguments: this.#options.argumentsOf(tool),
      _meta: { progressToken: `progress-${idKey(id)}` },
    };
    this.send(request(id, 'tools/call', params), move);
  }

  /** Cancels the newest call that has no answer, if there is one. */
  cancel(move: Move): void {
    const newest = this.#calls.findLast(({ id }) => this.owed.has(idKey(id)));
    if (!newest) return;
    this.owed.delete(idKey(newest.id));
    this.cancelledTools.add(newest.tool);
    this.send(notification(Method.cancelled, { requestId: newest.id, reason: 'checked' }), move);
  }

  /** Answers a request of the server's: by what the client has declared, or by what is given. */
  answer(held: Held, response?: JsonObject, move?: Move): void {
    const at = this.held.indexOf(held);
    if (at !== -1) this.held.splice(at, 1);
    this.answered.push(held);
    const { id, method } = held.message;
    const result = answerTo(method, this.offered ?? {}, held.root, 'An answer of the check.');
    const error = { code: ErrorCode.methodNotFound, message: 'The client has not declared this' };
    this.send({ jsonrpc: '2.0', id, ...(response ?? (result ? { result } : { error })) }, move);
  }

  /** Answers the newest request that the server has cancelled, if there is one, with what cannot be mistaken for another answer. */
  answerLate(move: Move): void {
    const held = this.withdrawn.pop();
    if (!held) return;
    this.#lateAnswers++;
    const { id, method } = held.message;
    const root = `${this.#options.rootsUri}/${lateMark}`;
    const result = answerTo(method, this.offered ?? {}, root, lateMark) ?? {};
    this.send({ jsonrpc: '2.0', id, result }, move);
  }

  /** Takes what a line of the server's held. Pings are answered; other requests wait for a move. */
  take(value: unknown): void {
    for (const message of messagesIn(value)) {
      const { id, method, params } = message;
      if (typeof method !== 'string') {
        if (isRequestId(id) && this.owed.delete(idKey(id))) this.done.push(id);
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
