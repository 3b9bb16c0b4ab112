/**
 * A call to a server that asks by ending it: each `input_required` is answered by the host's
 * providers, and the call is made again with the answers, until its result is complete.
 *
 * @see MCP 2026-07-28, basic/patterns/mrtr
 */
import { holdProcess } from '../../actors/clock.ts';
import type { Clock } from '../../actors/clock.ts';
import { describe, isJsonObject } from '../../protocol/classify.ts';
import { RuntimeError, textOfError } from '../../protocol/errors.ts';
import type { JsonObject } from '../../protocol/frames.ts';
import { mayRequireInput } from '../../protocol/input-required.ts';
import { Method } from '../../protocol/methods.ts';
import type { Answers } from './answers.ts';
import type { DialogPlaces } from './dialog-places.ts';

/** What the rounds of a connection's calls have in common. */
export interface RoundsHost {
  readonly clock: Clock;
  readonly answers: Pick<Answers, 'answer'>;
  readonly places: DialogPlaces;
  /** How often one call may ask. */
  readonly maxRounds: number;
}

export interface RoundsCall {
  readonly method: string;
  readonly params: JsonObject | undefined;
  /** How long all rounds may take together, the answers of people included, milliseconds. */
  readonly maxTotalMs: number;
  readonly signal?: AbortSignal | undefined;
  /**
   * Sends one round's request, each with an id of its own.
   *
   * @param maxTotalMs what is left of the call's time
   */
  send(
    params: JsonObject | undefined,
    wishes: { readonly signal: AbortSignal | undefined; readonly maxTotalMs: number },
  ): Promise<JsonObject>;
}

/** What a result asks for. Each member goes into the next request if, and as, it is there. */
interface Wanted {
  readonly inputRequests?: JsonObject;
  readonly requestState?: string;
}

const questions: ReadonlySet<unknown> = new Set([
  Method.rootsList,
  Method.createMessage,
  Method.elicit,
]);

/** Delays of calls that are only to come again, milliseconds: the first comes at once. */
const shedRetryMs = 100;
const maxShedRetryMs = 5000;

/**
 * The result of a call after the rounds that its first result asks for; undefined if it asks for
 * none.
 *
 * @param first what the call was answered with, and when it was made, the clock's milliseconds
 * @throws {RuntimeError} PROTOCOL_VIOLATION: the result asks for what the protocol does not know. It
 *   rejects with that too, and if it is asked too often; with LIMIT_EXCEEDED: for too much at once;
 *   REQUEST_TIMEOUT, CANCELLED; REQUEST_FAILED: a provider has failed, or there is none; and with what
 *   `send` rejects with
 */
export function roundsAfter(
  host: RoundsHost,
  call: RoundsCall,
  { result, startedAt }: { readonly result: JsonObject; readonly startedAt: number },
): Promise<JsonObject> | undefined {
  const wanted = wantedBy(call.method, result);
  if (!wanted) return undefined;
  const endsAt = startedAt + call.maxTotalMs;
  // The host's code does not run while the result is still being handed on.
  return Promise.resolve().then(() => goOn(host, call, { wanted, endsAt }));
}

/** The rounds after the first one. */
async function goOn(
  host: RoundsHost,
  call: RoundsCall,
  first: { readonly wanted: Wanted; readonly endsAt: number },
): Promise<JsonObject> {
  const { clock, maxRounds } = host;
  const { method, maxTotalMs, signal } = call;
  const leftMs = (): number => Math.max(1, first.endsAt - clock.now());
  const end = new AbortController();
  const cancel = (): void => end.abort(signal?.reason);
  const timer = clock.setTimeout(() => end.abort(overdue(method, maxTotalMs)), leftMs());
  holdProcess(timer);
  signal?.addEventListener('abort', cancel, { once: true });
  if (signal?.aborted) cancel();
  const rounds = new Rounds(host, call, end.signal);
  try {
    let { wanted } = first;
    for (let round = 1; ; round++) {
      const params = await rounds.next(wanted);
      const result = await call.send(params, { signal: end.signal, maxTotalMs: leftMs() });
      const more = wantedBy(method, result);
      if (!more) return result;
      if (round === maxRounds) {
        throw violation(`${method} has asked for input ${maxRounds} times, and asks again`);
      }
      wanted = more;
    }
  } catch (error) {
    // It is the call's own end, whatever became of its request.
    throw end.signal.aborted ? endOf(method, end.signal.reason) : error;
  } finally {
    clock.clearTimeout(timer);
    signal?.removeEventListener('abort', cancel);
    end.abort('the call is over');
  }
}

class Rounds {
  readonly #host: RoundsHost;
  readonly #call: RoundsCall;
  readonly #signal: AbortSignal;
  /** Rounds in a row that have asked nothing: the server sheds load. */
  #shed = 0;

  constructor(host: RoundsHost, call: RoundsCall, signal: AbortSignal) {
    this.#host = host;
    this.#call = call;
    this.#signal = signal;
  }

  /** The params of the next round. */
  async next({ inputRequests, requestState }: Wanted): Promise<JsonObject> {
    const params: Record<string, unknown> = { ...this.#call.params };
    delete params['inputResponses'];
    delete params['requestState'];
    if (requestState !== undefined) params['requestState'] = requestState;
    if (!inputRequests) {
      await this.#pause();
      return params;
    }
    this.#shed = 0;
    return { ...params, inputResponses: await this.#answers(inputRequests) };
  }

  /** All answers; the first failure withdraws the other questions. */
  async #answers(requests: JsonObject): Promise<JsonObject> {
    const others = new AbortController();
    const signal = AbortSignal.any([this.#signal, others.signal]);
    const { places } = this.#host;
    places.refuseMoreThan(Object.keys(requests).length);
    const asked = Object.entries(requests).map(async ([key, request]) => {
      const answer = places.run(signal, () => this.#answer(request, signal));
      return [key, await unlessAborted(answer, signal)] as const;
    });
    try {
      return Object.fromEntries(await Promise.all(asked));
    } catch (error) {
      others.abort('another question of the call could not be answered');
      throw error;
    }
  }

  async #answer(request: unknown, signal: AbortSignal): Promise<JsonObject> {
    const { method, params } = request as { readonly method: string; readonly params?: JsonObject };
    try {
      return await this.#host.answers.answer(method, params, signal);
    } catch (cause) {
      const why = textOfError(cause instanceof Error ? cause.message : cause);
      const message = `${this.#call.method} asks for ${method}, which the host could not answer: ${why}`;
      throw new RuntimeError('REQUEST_FAILED', message, { cause });
    }
  }

  /** Before a call that is only to come again: none at first, longer each time. */
  async #pause(): Promise<void> {
    const times = this.#shed++;
    if (times === 0) return;
    const delayMs = Math.min(maxShedRetryMs, shedRetryMs * 2 ** (times - 1));
    const { clock } = this.#host;
    let timer: unknown;
    const over = new Promise<void>((resolve) => {
      timer = clock.setTimeout(resolve, delayMs);
    });
    try {
      await unlessAborted(over, this.#signal);
    } finally {
      clock.clearTimeout(timer);
    }
  }
}

/** What a result asks for; undefined if it is complete, as one is that does not say so. */
function wantedBy(method: string, result: JsonObject): Wanted | undefined {
  const { resultType = 'complete', inputRequests, requestState } = result;
  if (resultType === 'complete') return undefined;
  if (resultType !== 'input_required') {
    throw violation(`the "resultType" of ${method} is ${describe(resultType)}`);
  }
  if (!mayRequireInput.has(method)) throw violation(`${method} asks for input, which it must not`);
  if (inputRequests === undefined && requestState === undefined) {
    throw violation(`${method} asks for input, and neither for which nor with a "requestState"`);
  }
  if (requestState !== undefined && typeof requestState !== 'string') {
    throw violation(`"requestState" must be a string, this is ${describe(requestState)}`);
  }
  if (inputRequests !== undefined && !isJsonObject(inputRequests)) {
    throw violation(`"inputRequests" must be an object, this is ${describe(inputRequests)}`);
  }
  for (const [key, request] of Object.entries(inputRequests ?? {})) {
    const { method: asks, params } = isJsonObject(request) ? request : {};
    if (questions.has(asks) && (params === undefined || isJsonObject(params))) continue;
    throw violation(
      `inputRequests[${describe(key)}] is no question: its method is ${describe(asks)}`,
    );
  }
  return {
    ...(inputRequests === undefined ? {} : { inputRequests }),
    ...(requestState === undefined ? {} : { requestState }),
  };
}

/** A promise that nobody waits for any more once the signal fires. */
function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const cancel = (): void => reject(signal.reason as Error);
    if (signal.aborted) cancel();
    signal.addEventListener('abort', cancel, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', cancel));
  });
}

function violation(fault: string): RuntimeError {
  return new RuntimeError('PROTOCOL_VIOLATION', `The server breaks the protocol: ${fault}`);
}

function overdue(method: string, maxTotalMs: number): RuntimeError {
  const message = `${method} was not complete within ${maxTotalMs} ms, its questions included`;
  return new RuntimeError('REQUEST_TIMEOUT', message);
}

function endOf(method: string, reason: unknown): RuntimeError {
  if (reason instanceof RuntimeError) return reason;
  return new RuntimeError('CANCELLED', `${method} was cancelled`, { cause: reason });
}
