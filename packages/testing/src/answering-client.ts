/** Answers what a session asks its client: roots, sampling, elicitation, and other requests. */
import { isJsonObject } from '../../../src/protocol/classify.ts';
import { ErrorCode, textOfError, toWireError } from '../../../src/protocol/errors.ts';
import type { ProgressReport } from '../../../src/protocol/dialects/dialect.ts';
import type { JsonObject, RequestId, WireError } from '../../../src/protocol/frames.ts';
import { Method } from '../../../src/protocol/methods.ts';
import { isNotificationFrame, isRequestFrame } from './messages.ts';
import type { NotificationFrame, RequestFrame } from './messages.ts';
import type { ScriptedPeer, Wire } from './peer.ts';

/**
 * Returns the result of a request from the session. A thrown `ProtocolError` is sent as it is (a
 * user's refusal has the code -1); other errors become internal errors.
 *
 * @param signal aborted when the session cancels its request
 */
export type ClientAnswer = (
  params: JsonObject,
  signal: AbortSignal,
) => JsonObject | Promise<JsonObject>;

/** Requests that a client answers. It declares the matching capabilities. */
export interface ClientAnswers {
  /** The client's roots: URIs, or roots with a name. Declares `roots`, with `listChanged`. */
  readonly roots?: readonly (string | { readonly uri: string; readonly name?: string })[];
  /**
   * Answers `sampling/createMessage`. Declares `sampling`; for tools, add
   * `capabilities: { sampling: { tools: {} } }`.
   */
  readonly sample?: ClientAnswer;
  /**
   * Answers `elicitation/create`. Declares `elicitation`, which means forms; for URLs, add
   * `capabilities: { elicitation: { form: {}, url: {} } }`.
   */
  readonly elicit?: ClientAnswer;
  /** Answers to other requests, by method. */
  readonly answers?: { readonly [method: string]: ClientAnswer };
}

/** Capabilities required by the answers. */
export function capabilitiesOf({ roots, sample, elicit }: ClientAnswers): JsonObject {
  return {
    ...(roots ? { roots: { listChanged: true } } : {}),
    ...(sample ? { sampling: {} } : {}),
    ...(elicit ? { elicitation: {} } : {}),
  };
}

export class AnsweringClient {
  roots: NonNullable<ClientAnswers['roots']>;
  readonly #peer: ScriptedPeer;
  readonly #answers: ReadonlyMap<string, ClientAnswer>;
  readonly #answering = new Map<RequestId, AbortController>();
  readonly #progress = new Map<unknown, (progress: ProgressReport) => void>();

  constructor(peer: ScriptedPeer, wire: Wire, { roots, sample, elicit, answers }: ClientAnswers) {
    this.#peer = peer;
    this.roots = roots ?? [];
    this.#answers = new Map([
      ['ping', () => ({})],
      ...(roots ? [['roots/list', () => ({ roots: this.roots.map(rootOf) })] as const] : []),
      ...(sample ? [['sampling/createMessage', sample] as const] : []),
      ...(elicit ? [['elicitation/create', elicit] as const] : []),
      ...Object.entries(answers ?? {}),
    ]);
    wire.received$.subscribe((frame) => {
      if (isRequestFrame(frame)) void this.#answer(frame);
      else if (isNotificationFrame(frame)) this.#observe(frame);
    });
  }

  onProgress(token: RequestId, listener: (progress: ProgressReport) => void): void {
    this.#progress.set(token, listener);
  }

  forgetProgress(token: RequestId): void {
    this.#progress.delete(token);
  }

  /**
   * Answers the questions in a call's result (since 2026-07-28), all at once by key.
   *
   * @throws errors of the answers, because clients of that revision cannot send one
   */
  async respond(
    inputRequests: unknown,
    signal: AbortSignal = new AbortController().signal,
  ): Promise<JsonObject> {
    const requests = Object.entries((inputRequests ?? {}) as { [key: string]: RequestFrame });
    const responses = requests.map(async ([key, { method, params = {} }]) => {
      const answer = this.#answers.get(method);
      if (!answer) throw new Error(unanswered(method).message);
      return [key, await answer(params, signal)] as const;
    });
    const given = await Promise.all(responses);
    signal.throwIfAborted();
    return Object.fromEntries(given);
  }

  async #answer(request: RequestFrame): Promise<void> {
    const { id, method, params = {} } = request;
    const answer = this.#answers.get(method);
    if (!answer) return this.#peer.refuse(request, unanswered(method));
    const controller = new AbortController();
    this.#answering.set(id, controller);
    try {
      const result = await answer(params, controller.signal);
      // The session expects no answer to a cancelled request.
      if (!controller.signal.aborted) this.#peer.answer(request, result);
    } catch (error) {
      if (!controller.signal.aborted) this.#peer.refuse(request, refusal(error));
    } finally {
      this.#answering.delete(id);
    }
  }

  #observe({ method, params }: NotificationFrame): void {
    if (method === Method.cancelled) {
      this.#answering.get(params?.['requestId'] as RequestId)?.abort(params?.['reason']);
    } else if (method === Method.progress && params) {
      const { progressToken, ...report } = params;
      this.#progress.get(progressToken)?.(report as unknown as ProgressReport);
    }
  }
}

function rootOf(root: string | { readonly uri: string; readonly name?: string }) {
  return isJsonObject(root) ? root : { uri: root };
}

function unanswered(method: string): WireError {
  const message = `The test client has no answer to ${method}: give connect() one`;
  return { code: ErrorCode.methodNotFound, message };
}

function refusal(error: unknown): WireError {
  return toWireError(error) ?? { code: ErrorCode.internalError, message: textOfError(error) };
}
