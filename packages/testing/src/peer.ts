/**
 * A scripted client. Tests select received messages by content, never "the next line". It uses no
 * timers, so tests take no extra time.
 */
import type { JsonObject, RequestId, WireError } from '../../../src/protocol/frames.ts';
import { isJsonObject } from '../../../src/protocol/classify.ts';
import { Inbox } from './inbox.ts';
import { handshakeVersions, statelessVersions } from '../../../src/protocol/dialects/registry.ts';
import {
  enveloped,
  failure,
  initialize,
  initialized,
  isBatchFrame,
  isNotificationFrame,
  isRequestFrame,
  isResponseFrame,
  request,
  result,
  toolCall,
} from './messages.ts';
import type {
  Introduction,
  Message,
  NotificationFrame,
  RequestFrame,
  ResponseFrame,
} from './messages.ts';
import { flush } from './clock.ts';

/** The client's end of a connection; `memory().peer` is one. */
export interface Wire {
  /** Sends bytes or text as one chunk. */
  sendRaw(chunk: string | Uint8Array): void;
  /** Emits each frame that the session sends, as a JSON value. */
  readonly received$: { subscribe(next: (frame: unknown) => void): unknown };
  /** Ends the session's input. */
  end(): void;
}

/**
 * Returns a problem with a frame from the session, or undefined.
 *
 * @param answered method of the request that a response answers, if known
 * @param params params of that request
 */
export type FrameCheck = (
  frame: unknown,
  answered: string | undefined,
  params?: JsonObject,
) => string | undefined;

/** Identity of the scripted peer and its check of received frames. */
export interface PeerOptions {
  /** Checks every frame that the session sends. */
  readonly check?: FrameCheck;
  /**
   * Protocol revision. Default: the latest one with a handshake. In 2026-07-28, each request of
   * `ask`, `call` and {@link ScriptedPeer.compose} identifies the client.
   */
  readonly revision?: string;
  /** Declared capabilities. Default: none. */
  readonly capabilities?: JsonObject;
  /** By default `scripted-peer`. */
  readonly clientInfo?: JsonObject;
}

/** Error response of the session, with which `peer.ask` rejects. */
export class ErrorAnswer extends Error {
  override readonly name = 'ErrorAnswer';
  /** The raw error. */
  readonly error: WireError;

  constructor(error: WireError) {
    super(`${error.code}: ${error.message}`);
    this.error = error;
  }
}

/** A client that sends what a test dictates and stores received messages until taken. */
export class ScriptedPeer {
  /** Protocol revision. */
  readonly revision: string;
  readonly #wire: Wire;
  readonly #introduction: Introduction;
  readonly #check: FrameCheck;
  readonly #inbox = new Inbox<unknown>();
  readonly #violations: string[] = [];
  readonly #asked = new SentRequests();
  #count = 0;

  constructor(wire: Wire, options: PeerOptions = {}) {
    const { check = () => undefined, revision, capabilities, clientInfo } = options;
    this.revision = revision ?? String(handshakeVersions[0]);
    this.#introduction = {
      protocolVersion: this.revision,
      ...(capabilities ? { capabilities } : {}),
      ...(clientInfo ? { clientInfo } : {}),
    };
    this.#wire = wire;
    this.#check = check;
    wire.received$.subscribe((frame) => this.#receive(frame));
  }

  /** True if the revision has no handshake. */
  get isStateless(): boolean {
    return statelessVersions.includes(this.revision);
  }

  /** Builds a request of the peer's revision. */
  compose(id: RequestId, method: string, params?: JsonObject): Message {
    return this.isStateless
      ? enveloped(id, method, params, this.#introduction)
      : request(id, method, params);
  }

  /** All received frames in order. */
  get received(): readonly unknown[] {
    return this.#inbox.all;
  }

  /** All violations found by the check. */
  get violations(): readonly string[] {
    return this.#violations;
  }

  /** Sends messages as one chunk. */
  send(...messages: readonly unknown[]): void {
    for (const message of messages) this.#asked.add(message);
    this.#wire.sendRaw(messages.map((message) => `${JSON.stringify(message)}\n`).join(''));
  }

  /** Sends bytes or text exactly as given; it adds no line feed. */
  sendRaw(chunk: string | Uint8Array): void {
    this.#asked.addRaw(chunk);
    this.#wire.sendRaw(chunk);
  }

  /** Ends the session's input. */
  end(): void {
    this.#asked.end();
    this.#wire.end();
  }

  /** The response with exactly this id; `undefined` asks for one without an id. */
  response(id: RequestId | undefined): Promise<ResponseFrame> {
    const matches = (frame: unknown): frame is ResponseFrame =>
      isResponseFrame(frame) && frame.id === id;
    return this.#inbox.take(`response to ${JSON.stringify(id)}`, matches);
  }

  /** The error of the response with exactly this id. */
  async error(id: RequestId | undefined): Promise<WireError> {
    const { error } = await this.response(id);
    if (!error) throw new Error(`The response to ${JSON.stringify(id)} is not an error`);
    return error;
  }

  /** The answers to a batch. */
  batch(): Promise<readonly ResponseFrame[]> {
    return this.#inbox.take('batch of responses', isBatchFrame);
  }

  /** The next request of this method, in order of arrival. */
  request(method: string): Promise<RequestFrame> {
    const matches = (frame: unknown): frame is RequestFrame =>
      isRequestFrame(frame) && frame.method === method;
    return this.#inbox.take(`request ${method}`, matches);
  }

  /**
   * The next notification of this method.
   *
   * @param isMeant selects among notifications of the method
   */
  notification(
    method: string,
    isMeant: (params: JsonObject) => boolean = () => true,
  ): Promise<NotificationFrame> {
    const matches = (frame: unknown): frame is NotificationFrame =>
      isNotificationFrame(frame) && frame.method === method && isMeant(frame.params ?? {});
    return this.#inbox.take(`notification ${method}`, matches);
  }

  /** Number of requests and notifications of this method received so far. */
  count(method: string): number {
    return this.received.filter((frame) => isJsonObject(frame) && frame['method'] === method)
      .length;
  }

  /** Answers a request that the session sent. */
  answer({ id }: Pick<RequestFrame, 'id'>, value: JsonObject): void {
    this.send(result(id, value));
  }

  /** Answers a request that the session sent with an error. */
  refuse({ id }: Pick<RequestFrame, 'id'>, error: WireError): void {
    this.send(failure(id, error));
  }

  /**
   * Sends a request with a fresh id and returns its result.
   *
   * @throws {ErrorAnswer} if the session answers with an error
   */
  async ask(method: string, params?: JsonObject): Promise<JsonObject> {
    const id = this.#nextId();
    this.send(this.compose(id, method, params));
    return this.#resultOf(id);
  }

  /** Calls a tool and returns its result. See {@link ScriptedPeer.ask}. */
  call(name: string, args?: JsonObject, meta?: JsonObject): Promise<JsonObject> {
    return this.ask('tools/call', toolCall('', name, args, meta)['params'] as JsonObject);
  }

  /**
   * Sends `initialize` and `notifications/initialized` and returns the result of `initialize`;
   * without a handshake, that of `server/discover`.
   */
  async handshake(introduction: Introduction = {}): Promise<JsonObject> {
    if (this.isStateless) return await this.ask('server/discover');
    const id = this.#nextId();
    this.send(initialize(id, { ...this.#introduction, ...introduction }));
    const reply = await this.#resultOf(id);
    this.send(initialized);
    return reply;
  }

  /** Resolves when the session has handled everything sent so far, except pending calls. */
  async quiet(): Promise<void> {
    await flush();
    const id = this.#nextId();
    // The modern era answers ping with an error, which suffices.
    this.send(request(id, 'ping'));
    await this.response(id);
    await flush();
  }

  /** Rejects every pending call, because nothing more will arrive. */
  close(reason: string): void {
    this.#inbox.close(reason);
  }

  async #resultOf(id: RequestId): Promise<JsonObject> {
    const { result: value, error } = await this.response(id);
    if (error) throw new ErrorAnswer(error);
    return value ?? {};
  }

  #nextId(): string {
    return `peer-${++this.#count}`;
  }

  #receive(frame: unknown): void {
    for (const message of Array.isArray(frame) ? (frame as unknown[]) : [frame]) {
      const violation = this.#violationOf(message);
      if (violation !== undefined) {
        this.#violations.push(`${violation}: ${JSON.stringify(message).slice(0, 500)}`);
      }
    }
    this.#inbox.add(frame);
  }

  /** If an id was repeated, a response may answer either request. */
  #violationOf(message: unknown): string | undefined {
    const requests = isResponseFrame(message) ? this.#asked.requestsOf(message.id) : undefined;
    if (!isResponseFrame(message) || !requests) return this.#check(message, undefined);
    if (message.result) this.#asked.answered(message.id);
    const violations = [...requests].map((request) => this.#check(message, ...request));
    return violations.includes(undefined) ? undefined : violations[0];
  }
}

export class SentRequests {
  /**
   * The requests that have no result yet, by id: the params by method, several if an id was
   * repeated.
   */
  readonly #requests = new Map<unknown, Map<string, JsonObject | undefined>>();
  readonly #decoder = new TextDecoder();
  /** The start of a line whose end has not been written yet. */
  #line = '';

  /** Notes a request, or the requests of a batch; other values are ignored. */
  add(message: unknown): void {
    for (const one of [message].flat()) {
      if (!isJsonObject(one)) continue;
      const { method, id, params } = one;
      if (typeof method !== 'string' || id === undefined) continue;
      const requests = this.#requests.get(id) ?? new Map<string, JsonObject | undefined>();
      this.#requests.set(id, requests.set(method, isJsonObject(params) ? params : undefined));
    }
  }

  /** Notes the requests in a chunk's lines; a line that is not JSON holds none. */
  addRaw(chunk: string | Uint8Array): void {
    const text = typeof chunk === 'string' ? chunk : this.#decoder.decode(chunk, { stream: true });
    const lines = (this.#line + text).split('\n');
    this.#line = lines.pop() ?? '';
    for (const line of lines) this.#addLine(line);
  }

  /** Ends the output; the last line needs no line feed. */
  end(): void {
    this.#addLine(this.#line);
    this.#line = '';
  }

  /** The requests that a response with this id may answer: their params by method. */
  requestsOf(id: unknown): ReadonlyMap<string, JsonObject | undefined> | undefined {
    return this.#requests.get(id);
  }

  /** Frees an answered id for reuse. */
  answered(id: unknown): void {
    this.#requests.delete(id);
  }

  #addLine(line: string): void {
    let message: unknown;
    try {
      message = JSON.parse(line.replace(/^\uFEFF/, ''));
    } catch {
      // The session rejects such a line.
      return;
    }
    this.add(message);
  }
}
