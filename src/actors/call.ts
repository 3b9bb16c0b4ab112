/**
 * A client request whose handler runs: a record of the router's, with its own cancellation.
 * It is no XState actor, because a promise and a record cost a third of one (docs/decisions/0001-control-plane-and-data-plane.md).
 */
import type { Ref } from '../machines/port.ts';
import type { RootsRef } from '../machines/session.machine.ts';
import type { CorrelationEvent, WriterEvent } from '../machines/session-ports.ts';
import { RuntimeError } from '../protocol/errors.ts';
import type { JsonObject, OutboundResponse, RequestId } from '../protocol/frames.ts';
import type { ClientDescription } from '../protocol/initialize.ts';
import { withMeta } from '../protocol/meta.ts';
import { AskedRequest, abortedBefore, refused, sendAsked } from './client-request.ts';
import type { Asker, RequestSpec } from './client-request.ts';
import { afterThis } from './microtask.ts';

/** What all calls of a session share. */
export interface CallScope {
  /** What the server keeps of the session, as the router's input has it. */
  readonly session?: object | undefined;
  readonly client: ClientDescription;
  readonly writer: Ref<WriterEvent>;
  readonly correlation: Ref<CorrelationEvent>;
  readonly roots: RootsRef;
  /**
   * Runs a call that outlives its request, outside the caps and once the answers of this turn are sent. Its answer goes to its own `replies`;
   * the end of the session waits for it as for any other.
   * @returns what cancels it
   */
  readonly detach: (call: Call) => (reason: Error) => void;
  /** Frees the place of a call that from now on only waits for others: it takes none of those that may run at once. */
  readonly park: (call: Call) => void;
  /** Takes a place again for a call that has what it waited for: at once, be it one too many, because it runs on anyhow. */
  readonly resume: (call: Call) => void;
}

/** A task, as the handler sees it whose work it is. */
export interface TaskHandle {
  readonly taskId: string;
  /** Says for a person or a model how far it is: the client sees it when it looks at the task. */
  describe(message: string): void;
}

/** Where the responses to a batch are gathered. */
export interface Replies {
  add(response: OutboundResponse): void;
  /** One of the expected responses will not come. */
  drop(): void;
}

/** Runs one request; what it gives is the response's `result`. */
export interface RequestHandler {
  (params: JsonObject | undefined, call: Call): unknown;
  /** Loads what the handler needs, before its first call. */
  readonly prepare?: () => Promise<void>;
}

/** True for a promise of any kind. */
export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return (
    typeof value === 'object' &&
    value !== null &&
    'then' in value &&
    typeof value.then === 'function'
  );
}

export type CallState = 'waiting' | 'running' | 'parked' | 'ended';

export class Call implements Asker {
  readonly id: RequestId;
  readonly method: string;
  readonly params: JsonObject | undefined;
  readonly handler: RequestHandler;
  readonly scope: CallScope;
  readonly replies: Replies;
  state: CallState = 'waiting';
  /** When its chunk of input came, the clock's milliseconds. */
  receivedAt = 0;
  /** The handler's context, kept here by whoever makes it: one for all that stands around a handler. */
  context: object | undefined;
  /** Told once it has ended, whichever way: for what must not outlive it, such as a timer. */
  ended: (() => void) | undefined;
  /** Made when first read: an AbortController costs more than the rest of a call. */
  #controller: AbortController | undefined;
  /** What it asks the client and has no answer to yet. */
  #asked: AskedRequest[] | undefined;
  /** Those of them that go to the client at the end of this turn, together. */
  #unsent: AskedRequest[] | undefined;
  #endedBy: unknown;

  constructor(
    request: {
      readonly id: RequestId;
      readonly method: string;
      readonly params: JsonObject | undefined;
    },
    handler: RequestHandler,
    scope: CallScope,
    replies: Replies,
  ) {
    this.id = request.id;
    this.method = request.method;
    this.params = request.params;
    this.handler = handler;
    this.scope = scope;
    this.replies = replies;
  }

  /** Aborted when the call is cancelled. */
  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController();
      if (this.#endedBy !== undefined) this.#controller.abort(this.#endedBy);
    }
    return this.#controller.signal;
  }

  /** The client's request to whose stream belongs what is sent on this call's behalf. */
  get relatedTo(): RequestId | undefined {
    return this.id;
  }

  /** What everything that is sent on this call's behalf carries in its `_meta`. */
  get meta(): JsonObject | undefined {
    return undefined;
  }

  /** The task that this call is the work of, where it is one's. */
  get task(): TaskHandle | undefined {
    return undefined;
  }

  get correlation(): Ref<CorrelationEvent> {
    return this.scope.correlation;
  }

  /**
   * Asks the client on this call's behalf: when the call ends, so does the request. While it has questions open it takes no place of those that
   * may run at once: a person may take minutes to answer, and others need not wait for that.
   *
   * @throws {RuntimeError} CANCELLED where the call has ended already
   */
  ask(spec: RequestSpec): Promise<JsonObject> {
    if (this.state === 'ended') {
      const message = `${spec.method} was not sent: the request that it belongs to has ended`;
      return refused(new RuntimeError('CANCELLED', message));
    }
    const aborted = abortedBefore(spec);
    if (aborted) return aborted;
    const request = new AskedRequest(spec, this);
    request.place = (this.#asked ??= []).push(request) - 1;
    if (this.#unsent) {
      this.#unsent.push(request);
    } else {
      this.#unsent = [request];
      afterThis(() => this.#sendAsked());
    }
    if (this.state === 'running') this.scope.park(this);
    return request.result;
  }

  #sendAsked(): void {
    const requests = this.#unsent;
    this.#unsent = undefined;
    if (requests) sendAsked(this.scope.correlation, requests);
  }

  /** One of its requests has an outcome. */
  settled(request: AskedRequest): void {
    const last = this.#asked?.pop();
    if (this.#asked && last && last !== request) {
      // The last one takes its place: cheaper than a set, whose outgrown tables the garbage collector keeps for long.
      this.#asked[request.place] = last;
      last.place = request.place;
    }
    if (this.state === 'parked' && this.#asked?.length === 0) this.scope.resume(this);
  }

  /**
   * Sends a notification that belongs to this call; nothing once it has ended.
   * @param rejected hears of one that JSON cannot hold
   */
  notify(method: string, params: JsonObject, rejected?: (error: unknown) => void): void {
    if (this.state === 'ended') return;
    // What it has asked before goes first.
    this.#sendAsked();
    const { relatedTo, meta } = this;
    this.scope.writer.send({
      type: 'frames.send',
      frames: [{ jsonrpc: '2.0', method, params: meta ? withMeta(params, meta) : params }],
      relatedTo,
      ...(rejected ? { rejected } : {}),
    });
  }

  /** How many requests of its own to the client have no answer yet. */
  get openQuestions(): number {
    return this.#asked?.length ?? 0;
  }

  /** The handler has ended: what it asked and did not wait for is cancelled. */
  end(): void {
    this.state = 'ended';
    this.ended?.();
    this.#cancelAsked('its request has ended');
  }

  /** Ends the call from outside: its signal fires, what it asked is cancelled. */
  abort(reason: Error): void {
    this.state = 'ended';
    this.ended?.();
    this.#endedBy = reason;
    this.#controller?.abort(reason);
    this.#cancelAsked(reason.message);
  }

  #cancelAsked(reason: string): void {
    if (!this.#asked) return;
    for (const request of [...this.#asked]) request.cancel(reason);
  }
}
