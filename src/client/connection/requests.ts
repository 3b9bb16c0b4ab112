/** What a host asks its server: when it is sent, sent again, or refused. */
import { failedWithCallers } from '../../actors/caller-frames.ts';
import { afterThis } from '../../actors/microtask.ts';
import { refuseDuration } from '../../actors/clock.ts';
import { cancelledUnsent, sendAsked } from '../../actors/correlation/peer-request.ts';
import type { CorrelationEvent } from '../../machines/peer-ports.ts';
import { errorOf } from '../../machines/connection-failures.ts';
import { RuntimeError } from '../../protocol/errors.ts';
import { roundsAfter } from '../asked/input-rounds.ts';
import type { RoundsCall, RoundsHost } from '../asked/input-rounds.ts';
import { Method } from '../../protocol/methods.ts';
import type { JsonObject, RequestId } from '../../protocol/frames.ts';
import type { PendingRequest } from '../../actors/correlation/pending-request.ts';
import { viewOf } from '../../machines/port.ts';
import type { Ref } from '../../machines/port.ts';
import type { ConnectionScope, ConnectionSnapshot } from './connection-scope.ts';
import { HostRequest } from './host-request.ts';
import type {
  AskedOfServer,
  HostCall,
  HostRequestOwner,
  HostRequestSpec,
  RequestManner,
} from './host-request.ts';
import type { HostRequestOptions } from './options.ts';

/** What the protocol makes harmless to ask twice. */
const reads: ReadonlySet<string> = new Set([
  'ping',
  'tools/list',
  'resources/list',
  'resources/templates/list',
  'resources/read',
  'prompts/list',
  'prompts/get',
  'completion/complete',
]);

/**
 * What a connection asks for itself, and no host. A subscription is never settled, nor is a probe
 * that a server passes over.
 */
const ofConnections: ReadonlySet<string> = new Set([
  Method.listen,
  Method.discover,
  Method.initialize,
]);

const noOptions: HostRequestOptions = {};

const whole = (result: JsonObject): JsonObject => result;

/** The options of a request, and who hears what id it has got. */
export interface SentOptions extends HostRequestOptions {
  readonly sent?: ((id: RequestId) => void) | undefined;
  /** `held`: the task that the call becomes does not end with it. Needs `onTask`. */
  readonly task?: 'held' | undefined;
}

/** The requests of one connection. */
export class Requests implements HostRequestOwner {
  readonly #scope: ConnectionScope;
  readonly #name: string;
  /** Whether a tool is annotated so that calling it twice does no harm. */
  readonly #isHarmless: (tool: string) => boolean;

  readonly #rounds: RoundsHost<HostCall>;
  /** The manner of the last request that wanted nothing special. */
  #lastPlain: RequestManner | undefined = undefined;
  /** How long the connection has been in its state, milliseconds. */
  readonly #age: () => number;

  constructor(
    scope: ConnectionScope,
    {
      name,
      isHarmless,
      age,
      rounds,
    }: {
      readonly name: string;
      readonly isHarmless: (tool: string) => boolean;
      readonly age: () => number;
      readonly rounds: RoundsHost<HostCall>;
    },
  ) {
    this.#scope = scope;
    this.#name = name;
    this.#isHarmless = isHarmless;
    this.#age = age;
    this.#rounds = rounds;
  }

  /** How many of them are not settled. */
  get pending(): number {
    return [...this.#books.values()].filter(({ method }) => !ofConnections.has(method)).length;
  }

  /** See `Connection.request`. */
  request(
    method: string,
    params: JsonObject | undefined,
    options?: SentOptions,
  ): Promise<JsonObject> {
    return this.ask(method, params, options, whole);
  }

  /**
   * As {@link request}, and gives what `read` makes of the result.
   *
   * @param read throws what is wrong with the result
   */
  ask<T>(
    method: string,
    params: JsonObject | undefined,
    options: SentOptions = noOptions,
    read: (result: JsonObject) => T,
  ): Promise<T> {
    const { limits } = this.#scope.parts;
    const { timeoutMs = limits.requestTimeoutMs } = options;
    const { maxTotalMs = Math.max(timeoutMs, limits.requestMaxTotalMs) } = options;
    // A server of an era that is not known yet may be one that says of what type its results are.
    const mayAsk = this.#scope.served?.era === 'legacy' ? 'no' : 'yes';
    const manner = this.#mannerOf(options, { timeoutMs, maxTotalMs, mayAsk });
    return this.#send({ method, params, manner }, read, options.sent);
  }

  /** See `Connection.notify`. */
  async notify(
    method: string,
    params: JsonObject | undefined,
    { timeoutMs, signal }: Pick<HostRequestOptions, 'timeoutMs' | 'signal'> = {},
  ): Promise<void> {
    const { limits } = this.#scope.parts;
    const waitMs = timeoutMs ?? limits.requestTimeoutMs;
    const times = { timeoutMs: waitMs, maxTotalMs: waitMs };
    const manner = { awaits: 'delivery', mayAsk: 'no', owner: this, signal, ...times } as const;
    await this.#send({ method, params, manner }, whole);
  }

  /** Sends it now. What is wrong with it rejects the promise. */
  #send<T>(
    spec: HostRequestSpec,
    read: (result: JsonObject) => T,
    sent?: SentOptions['sent'],
  ): Promise<T> {
    return new Promise((resolve) => {
      const { method, manner } = spec;
      const { signal } = manner;
      refuseDuration('timeoutMs', manner.timeoutMs);
      refuseDuration('maxTotalMs', manner.maxTotalMs);
      const refusal = this.#refusal(method);
      // The caller is on the stack, but may be deeper than an engine shows.
      if (refusal) return resolve(failedWithCallers(refusal));
      if (signal?.aborted) throw cancelledUnsent(method, signal.reason);
      const request = new HostRequest(spec, { read, resolve });
      sendAsked(this.#correlation, [request]);
      if (this.#scope.snapshot.value === 'backoff' && manner.whenAway !== 'refuse') {
        this.#scope.parts.actor.send({ type: 'connection.wanted' });
      }
      if (!sent) return;
      // A correlation that is busy takes the request, and gives it its id, before this turn is over.
      if (request.ticket) sent(request.ticket.id);
      else afterThis(() => request.ticket && sent(request.ticket.id));
    });
  }

  #mannerOf(
    { signal, onProgress, whenAway, retry, onTask, task }: SentOptions,
    { timeoutMs, maxTotalMs, mayAsk }: Pick<RequestManner, 'timeoutMs' | 'maxTotalMs' | 'mayAsk'>,
  ): RequestManner {
    const isPlain = !signal && !onProgress && !whenAway && !retry && !onTask;
    const last = isPlain ? this.#lastPlain : undefined;
    if (last?.timeoutMs === timeoutMs && last.maxTotalMs === maxTotalMs && last.mayAsk === mayAsk) {
      return last;
    }
    const plain = { awaits: 'answer', mayAsk, owner: this, timeoutMs, maxTotalMs } as const;
    if (isPlain) return (this.#lastPlain = plain);
    return { ...plain, signal, onProgress, whenAway, retry, onTask, task };
  }

  get #correlation(): Ref<CorrelationEvent> {
    return this.#scope.snapshot.context.correlation;
  }

  // What a request asks of its owner.

  cancel(request: AskedOfServer, reason: unknown): void {
    this.#correlation.send({ type: 'request.cancel', request, reason });
  }

  goOn(request: AskedOfServer, result: JsonObject): Promise<JsonObject> | undefined {
    const { method, params, manner, ticket } = request;
    const { signal, timeoutMs, maxTotalMs } = manner;
    const send: RoundsCall['send'] = (next, wishes) => {
      const times = {
        timeoutMs: Math.min(timeoutMs, wishes.maxTotalMs),
        maxTotalMs: wishes.maxTotalMs,
      };
      const again: RequestManner = { ...manner, ...times, mayAsk: 'no', signal: wishes.signal };
      return this.#send({ method, params: next, manner: again }, whole);
    };
    const startedAt = ticket?.sentAt ?? this.#scope.parts.clock.now();
    const { onTask, task } = manner;
    const call: HostCall = { method, params, maxTotalMs, signal, onTask, task, send };
    return roundsAfter(this.#rounds, call, { result, startedAt });
  }

  async repeat(request: AskedOfServer, error: Error): Promise<JsonObject> {
    // What the loss has made of the connection is known once it is dealt with.
    await Promise.resolve();
    if (!this.#mayRepeat(request, error)) throw error;
    const { method, params, manner } = request;
    const { clock } = this.#scope.parts;
    const now = clock.now();
    const maxTotalMs = (request.ticket?.sentAt ?? now) + manner.maxTotalMs - now;
    if (maxTotalMs <= 0) throw error;
    const once: RequestManner = { ...manner, maxTotalMs, retry: 'never' };
    return this.#send({ method, params, manner: once }, whole);
  }

  /**
   * Why nothing comes of a method however long it waits: the connection has failed, or is closed.
   * Undefined if it is there, or may be again.
   */
  away(method: string): RuntimeError | undefined {
    const { snapshot } = this.#scope;
    // The texts cost more than all else here.
    if (!isEnding(snapshot)) return undefined;
    return stateRefusal(snapshot, `${method} was not sent to ${this.#name}`, this.#age());
  }

  /** Why a request is not even kept for later; undefined if it is sent or waits. */
  #refusal(method: string): RuntimeError | undefined {
    const { snapshot, parts } = this.#scope;
    const away = this.away(method);
    if (away || snapshot.context.output === 'flowing') return away;
    const { maxOutboundBytes } = parts.limits;
    const message = `${method} was not sent: ${this.#name} has not read ${maxOutboundBytes} bytes that it was sent before`;
    return new RuntimeError('LIMIT_EXCEEDED', message);
  }

  get #books(): ReadonlyMap<number, PendingRequest> {
    const view = viewOf<ReadonlyMap<number, PendingRequest>>(
      this.#scope.snapshot.context.correlation,
    );
    return view ?? new Map();
  }

  #mayRepeat({ method, params, manner }: AskedOfServer, error: Error): boolean {
    if (manner.signal?.aborted) return false;
    if (!(error instanceof RuntimeError) || error.code !== 'CLOSED') return false;
    if (reads.has(method)) return true;
    const tool = params?.['name'];
    return method === 'tools/call' && typeof tool === 'string' && this.#isHarmless(tool);
  }
}

/** Whether there is no way to the server, and will be none. */
function isEnding({ value, status, context }: ConnectionSnapshot): boolean {
  return status !== 'active' || value === 'stopping' || (value === 'failed' && !!context.loss);
}

/**
 * Why nothing can be asked any more; undefined if it can.
 *
 * @param ageMs how long the connection has been in its state, milliseconds
 */
export function stateRefusal(
  snapshot: ConnectionSnapshot,
  what: string,
  ageMs: number,
): RuntimeError | undefined {
  const { value, context } = snapshot;
  if (value === 'failed' && context.loss) {
    const cause = errorOf(context.loss);
    const message = `${what}: the connection failed ${Math.round(ageMs / 1000)} s ago. ${cause.message}`;
    return new RuntimeError('NOT_READY', message, {
      cause,
      exit: cause.exit,
      status: cause.status,
    });
  }
  if (!isEnding(snapshot)) return undefined;
  return new RuntimeError('NOT_READY', `${what}: the connection is closed`);
}
