/** What a host asks its server: when it is sent, sent again, or refused, and what its errors are. */
import { afterThis } from '../../actors/microtask.ts';
import { refuseDuration } from '../../actors/clock.ts';
import { AskedRequest, abortedBefore, sendAsked } from '../../actors/correlation/peer-request.ts';
import type { RequestSpec } from '../../actors/exchange.ts';
import type { PeerRequest } from '../../machines/peer-ports.ts';
import { errorOf } from '../../machines/connection-failures.ts';
import { RuntimeError, fromWireError } from '../../protocol/errors.ts';
import { callInRounds } from '../asked/input-rounds.ts';
import type { RoundsHost } from '../asked/input-rounds.ts';
import { Method } from '../../protocol/methods.ts';
import type { JsonObject, RequestId } from '../../protocol/frames.ts';
import type { PendingRequest } from '../../actors/correlation/pending-request.ts';
import { viewOf } from '../../machines/port.ts';
import type { ConnectionScope, ConnectionSnapshot } from './connection-scope.ts';
import type { RequestOptions } from './options.ts';

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

const ignoreProgress = (): void => {};

/** The options of a request, and who hears what id it has got. */
export interface SentOptions extends RequestOptions {
  readonly sent?: ((id: RequestId) => void) | undefined;
}

type TimedOptions = SentOptions & { readonly timeoutMs: number; readonly maxTotalMs: number };

/** The requests of one connection. */
export class Requests {
  readonly #scope: ConnectionScope;
  readonly #name: string;
  /** Whether a tool is annotated so that calling it twice does no harm. */
  readonly #isHarmless: (tool: string) => boolean;

  readonly #rounds: RoundsHost;
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
      readonly rounds: RoundsHost;
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
  async request(
    method: string,
    params: JsonObject | undefined,
    options: SentOptions = {},
  ): Promise<JsonObject> {
    const { limits } = this.#scope.parts;
    const { timeoutMs = limits.requestTimeoutMs } = options;
    const { maxTotalMs = Math.max(timeoutMs, limits.requestMaxTotalMs) } = options;
    refuseDuration('timeoutMs', timeoutMs);
    refuseDuration('maxTotalMs', maxTotalMs);
    const asked = { ...options, timeoutMs, maxTotalMs };
    if (this.#scope.served?.era === 'legacy') return this.#reliably(method, params, asked);
    // A server of an era that is not known yet may be one that says of what type its results are.
    const { signal } = options;
    return callInRounds(this.#rounds, {
      ...{ method, params, maxTotalMs, signal },
      send: (next, wishes) =>
        this.#reliably(method, next, {
          ...asked,
          ...wishes,
          timeoutMs: Math.min(timeoutMs, wishes.maxTotalMs),
        }),
    });
  }

  /** Sends it, and once more if it may be, and the connection was lost. */
  async #reliably(
    method: string,
    params: JsonObject | undefined,
    options: TimedOptions,
  ): Promise<JsonObject> {
    const { clock } = this.#scope.parts;
    const endsAt = clock.now() + options.maxTotalMs;
    try {
      return await this.#send(method, params, options);
    } catch (error) {
      const maxTotalMs = endsAt - clock.now();
      if (!this.#mayRepeat(method, params, options, error) || maxTotalMs <= 0) throw error;
      return this.#send(method, params, { ...options, maxTotalMs });
    }
  }

  /** See `Connection.notify`. */
  async notify(
    method: string,
    params: JsonObject | undefined,
    { timeoutMs, signal }: Pick<RequestOptions, 'timeoutMs' | 'signal'> = {},
  ): Promise<void> {
    const { limits } = this.#scope.parts;
    const waitMs = timeoutMs ?? limits.requestTimeoutMs;
    refuseDuration('timeoutMs', waitMs);
    const times = { timeoutMs: waitMs, maxTotalMs: waitMs };
    await this.#post({ method, params, signal, ...times }, { awaits: 'delivery' });
  }

  #send(
    method: string,
    params: JsonObject | undefined,
    { onProgress = ignoreProgress, whenAway, sent, ...times }: TimedOptions,
  ): Promise<JsonObject> {
    const { timeoutMs, maxTotalMs, signal } = times;
    const spec = { method, params, signal, onProgress, timeoutMs, maxTotalMs };
    return this.#post(spec, { whenAway, sent });
  }

  async #post(
    spec: RequestSpec,
    { sent, ...how }: Pick<SentOptions, 'whenAway' | 'sent'> & Pick<PeerRequest, 'awaits'>,
  ): Promise<JsonObject> {
    const refusal = this.#refusal(spec.method);
    if (refusal) throw refusal;
    try {
      const aborted = abortedBefore(spec);
      if (aborted) return await aborted;
      const { correlation } = this.#scope.snapshot.context;
      const request = new AskedRequest(spec, { correlation, ...how });
      sendAsked(correlation, [request]);
      // A correlation that is busy takes the request, and gives it its id, before this turn is over.
      if (request.ticket) sent?.(request.ticket.id);
      else if (sent) afterThis(() => request.ticket && sent(request.ticket.id));
      return await request.result;
    } catch (error) {
      throw hostError(error);
    }
  }

  /**
   * Why nothing comes of a method however long it waits: the connection has failed, or is closed.
   * Undefined if it is there, or may be again.
   */
  away(method: string): RuntimeError | undefined {
    const { snapshot } = this.#scope;
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

  #mayRepeat(
    method: string,
    params: JsonObject | undefined,
    { retry, signal }: RequestOptions,
    error: unknown,
  ): boolean {
    if (retry !== 'reads' || signal?.aborted) return false;
    if (!(error instanceof RuntimeError) || error.code !== 'CLOSED') return false;
    if (reads.has(method)) return true;
    const tool = params?.['name'];
    return method === 'tools/call' && typeof tool === 'string' && this.#isHarmless(tool);
  }
}

/**
 * Why nothing can be asked any more; undefined if it can.
 *
 * @param ageMs how long the connection has been in its state, milliseconds
 */
export function stateRefusal(
  { value, status, context: { loss } }: ConnectionSnapshot,
  what: string,
  ageMs: number,
): RuntimeError | undefined {
  if (value === 'failed' && loss) {
    const cause = errorOf(loss);
    const message = `${what}: the connection failed ${Math.round(ageMs / 1000)} s ago. ${cause.message}`;
    return new RuntimeError('NOT_READY', message, {
      cause,
      exit: cause.exit,
      status: cause.status,
    });
  }
  if (status === 'active' && value !== 'stopping') return undefined;
  return new RuntimeError('CLOSED', `${what}: the connection is closed`);
}

/** The error that a host gets: the server's own as it is. */
function hostError(error: unknown): unknown {
  if (!(error instanceof RuntimeError)) return error;
  if (error.code === 'REQUEST_FAILED' && error.remote) return fromWireError(error.remote);
  if (error.code !== 'TRANSPORT_CLOSED') return error;
  const { message, request, cause } = error;
  return new RuntimeError('CLOSED', message, { cause, ...(request ? { request } : {}) });
}
