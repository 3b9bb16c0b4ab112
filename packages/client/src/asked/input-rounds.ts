/**
 * Multi round-trip calls: the host's providers answer each `input_required` result, and the call is
 * sent again with the answers until its result is complete.
 *
 * @see MCP 2026-07-28, basic/patterns/mrtr
 */
import { refTimer } from '../../../../src/actors/clock.ts';
import type { Clock } from '../../../../src/actors/clock.ts';
import { FairSemaphore } from '../../../../src/actors/fair-semaphore.ts';
import { unlessAborted, waitFor } from '../../../../src/actors/wait-for.ts';
import { inspectValue, isJsonObject } from '../../../../src/protocol/classify.ts';
import { RuntimeError, textOfError } from '../../../../src/protocol/errors.ts';
import type { JsonObject } from '../../../../src/protocol/frames.ts';
import { resendableKey } from '../../../../src/protocol/durable-calls.ts';
import { mayRequireInput } from '../../../../src/protocol/input-required.ts';
import { Method } from '../../../../src/protocol/methods.ts';
import type { Answers } from './answers.ts';

/** Context shared by the rounds of a connection's calls. */
/** @typeParam TCall the call type, with the members `awaitTask` needs */
export interface RoundsHost<TCall extends RoundsCall = RoundsCall> {
  readonly clock: Clock;
  readonly answers: Pick<Answers, 'answer'>;
  readonly places: DialogPlaces;
  /** Maximum rounds per call. */
  readonly maxRounds: number;
  /** Waits for the result of a call that the server runs as a task. */
  readonly awaitTask: (call: TCall, first: FirstResult) => Promise<JsonObject>;
}

/** The first result of a call, with the call's start time, clock ms. */
export interface FirstResult {
  readonly result: JsonObject;
  readonly startedAt: number;
}

export interface RoundsCall {
  readonly method: string;
  readonly params: JsonObject | undefined;
  /** Time limit of all rounds together, including people's answers, ms. */
  readonly maxTotalMs: number;
  readonly signal?: AbortSignal | undefined;
  /** Sends one round's request under a new id; the signal cancels it. */
  send(params: JsonObject | undefined, signal: AbortSignal): Promise<JsonObject>;
}

/** Input requested by a result. Members that are present are copied into the next request. */
interface Wanted {
  readonly inputRequests: JsonObject | undefined;
  readonly requestState: string | undefined;
  /** True if the next request may be sent again after a lost connection: the server runs it once. */
  readonly isResendable: boolean;
}

const questions: ReadonlySet<unknown> = new Set([
  Method.rootsList,
  Method.createMessage,
  Method.elicit,
]);

/** Delay before a retry that needs no input, ms. The first retry is immediate. */
const shedRetryMs = 100;
const maxShedRetryMs = 5000;

/**
 * Runs the rounds requested by a call's first result, and resolves with the final result. Undefined
 * if the first result is final.
 *
 * @throws {RuntimeError} PROTOCOL_VIOLATION: the result requests something outside the protocol.
 *   The promise rejects with PROTOCOL_VIOLATION too, also after too many rounds; with
 *   LIMIT_EXCEEDED if the server requests too much at once; with REQUEST_TIMEOUT or CANCELLED; with
 *   REQUEST_FAILED if a provider fails or is missing; and with the error of `send`
 */
export function roundsAfter<TCall extends RoundsCall>(
  host: RoundsHost<TCall>,
  call: TCall,
  first: FirstResult,
): Promise<JsonObject> | undefined {
  const { result, startedAt } = first;
  const wanted = wantedBy(call.method, result);
  if (!wanted) return result['resultType'] === 'task' ? host.awaitTask(call, first) : undefined;
  const endsAt = startedAt + call.maxTotalMs;
  // Host code must not run while the result is still being processed.
  return Promise.resolve().then(() => goOn(host, call, { wanted, endsAt }));
}

/** Runs the rounds after the first result. */
async function goOn<TCall extends RoundsCall>(
  host: RoundsHost<TCall>,
  call: TCall,
  first: { readonly wanted: Wanted; readonly endsAt: number },
): Promise<JsonObject> {
  const { clock, maxRounds } = host;
  const { method, maxTotalMs, signal } = call;
  const end = new AbortController();
  const cancel = (): void => end.abort(signal?.reason);
  const leftMs = Math.max(1, first.endsAt - clock.now());
  const timer = clock.setTimeout(() => end.abort(overdue(method, maxTotalMs)), leftMs);
  refTimer(timer);
  signal?.addEventListener('abort', cancel);
  if (signal?.aborted) cancel();
  const rounds = new Rounds(host, call, end.signal);
  try {
    let { wanted } = first;
    for (let round = 1; ; round++) {
      const params = await rounds.next(wanted);
      const result = await rounds.send(params, wanted);
      const more = wantedBy(method, result);
      if (!more) {
        const startedAt = first.endsAt - maxTotalMs;
        return result['resultType'] === 'task'
          ? await host.awaitTask(call, { result, startedAt })
          : result;
      }
      if (round === maxRounds) {
        throw violation(`${method} requested input more than ${maxRounds} times`);
      }
      wanted = more;
    }
  } catch (error) {
    // A cancelled or timed-out call reports that, whichever error its request failed with.
    throw end.signal.aborted ? endOf(method, end.signal.reason) : error;
  } finally {
    clock.clearTimeout(timer);
    signal?.removeEventListener('abort', cancel);
  }
}

class Rounds {
  readonly #host: Omit<RoundsHost, 'awaitTask'>;
  readonly #call: RoundsCall;
  readonly #signal: AbortSignal;
  /** Consecutive rounds without input requests: the server sheds load. */
  #shed = 0;

  constructor(host: Omit<RoundsHost, 'awaitTask'>, call: RoundsCall, signal: AbortSignal) {
    this.#host = host;
    this.#call = call;
    this.#signal = signal;
  }

  /** Sends a round; again after a lost connection, if that is safe, until the call's time is over. */
  async send(params: JsonObject, { isResendable }: Wanted): Promise<JsonObject> {
    const { clock } = this.#host;
    const sentAt = clock.now();
    for (let losses = 0; ; losses++) {
      try {
        const result = await this.#call.send(params, this.#signal);
        // A server that holds its answers back sheds no load.
        if (clock.now() - sentAt >= shedRetryMs) this.#shed = 0;
        return result;
      } catch (error) {
        if (!isResendable || !isLoss(error)) throw error;
      }
      await this.#wait(Math.min(maxShedRetryMs, shedRetryMs * 2 ** losses));
    }
  }

  /** Params of the next round. */
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
    const { method } = this.#call;
    const answers = await askProviders(this.#host, method, inputRequests, this.#signal);
    return { ...params, inputResponses: answers };
  }

  /** Delays a retry that needs no input: not at all at first, then longer each time. */
  async #pause(): Promise<void> {
    const times = this.#shed++;
    if (times === 0) return;
    await this.#wait(Math.min(maxShedRetryMs, shedRetryMs * 2 ** (times - 1)));
  }

  async #wait(delayMs: number): Promise<void> {
    await waitFor<void>(
      {
        clock: this.#host.clock,
        timeoutMs: delayMs,
        signal: this.#signal,
        onTimeout: ({ resolve }) => resolve(),
        abortError: (reason) => reason as Error,
      },
      () => () => {},
    );
  }
}

/**
 * Answers all input requests of a result, by key. The first failure cancels the others.
 *
 * @param asker the method that had this result, for messages
 * @throws {RuntimeError} PROTOCOL_VIOLATION: an entry is not a valid request; LIMIT_EXCEEDED: there
 *   are too many; REQUEST_FAILED: a provider fails or is missing; the reason of the signal
 */
export async function askProviders(
  host: Pick<RoundsHost, 'answers' | 'places'>,
  asker: string,
  requests: JsonObject,
  ended: AbortSignal,
): Promise<JsonObject> {
  refuseNoQuestions(requests);
  const others = new AbortController();
  const { places } = host;
  places.refuseMoreThan(Object.keys(requests).length);
  const asked = Object.entries(requests).map(async ([key, request]) => {
    const { method, params } = request as Question;
    // One signal per request: Node.js warns about signals with more than ten listeners.
    const signal = AbortSignal.any([ended, others.signal]);
    const answer = places.run(signal, () => host.answers.answer(method, params, signal));
    const told = unlessAborted(answer, signal).catch((cause: unknown) => {
      const why = textOfError((cause as Error).message);
      const message = `${asker} requested ${method}, which the host could not answer: ${why}`;
      throw new RuntimeError('REQUEST_FAILED', message, { cause });
    });
    return [key, await told] as const;
  });
  try {
    return Object.fromEntries(await Promise.all(asked));
  } catch (error) {
    others.abort('another input request of the call failed');
    throw error;
  }
}

export interface DialogBounds {
  /** Maximum requests answered at once. */
  readonly maxRunning: number;
  /** Maximum queued requests; further ones are rejected. */
  readonly maxWaiting: number;
}

/** Limits how many of a server's requests the host answers at once. */
export class DialogPlaces {
  readonly #bounds: DialogBounds;
  #made: FairSemaphore | undefined = undefined;

  constructor(bounds: DialogBounds) {
    this.#bounds = bounds;
  }

  /** Created for the first request: most servers send none. */
  get #turns(): FairSemaphore {
    return (this.#made ??= new FairSemaphore(this.#bounds.maxRunning));
  }

  /** @throws {RuntimeError} LIMIT_EXCEEDED: more requests than can run and wait together */
  refuseMoreThan(count: number): void {
    const { maxRunning, maxWaiting } = this.#bounds;
    if (count <= maxRunning + maxWaiting) return;
    const message = `The server sent ${count} input requests in one result, at most ${maxRunning + maxWaiting} are allowed`;
    throw new RuntimeError('LIMIT_EXCEEDED', message);
  }

  /**
   * Runs the function once a slot is free.
   *
   * @throws {RuntimeError} LIMIT_EXCEEDED: the queue is full
   * @throws the error of `run`, or the signal's reason if it fires while queued
   */
  async run<T>(signal: AbortSignal, run: () => Promise<T>): Promise<T> {
    const { maxRunning, maxWaiting } = this.#bounds;
    if (!this.#turns.hasRoom(maxWaiting)) {
      const message = `Too many requests from the server: ${maxRunning} are open and ${maxWaiting} are queued`;
      throw new RuntimeError('LIMIT_EXCEEDED', message);
    }
    return await this.#turns.run(run, signal);
  }
}

interface Question {
  readonly method: string;
  readonly params?: JsonObject;
}

/** @throws {RuntimeError} PROTOCOL_VIOLATION */
function refuseNoQuestions(requests: JsonObject): void {
  for (const [key, request] of Object.entries(requests)) {
    const { method: asks, params } = isJsonObject(request) ? request : {};
    if (questions.has(asks) && (params === undefined || isJsonObject(params))) continue;
    throw violation(
      `inputRequests[${inspectValue(key)}] must be a request of roots, sampling or elicitation, got method ${inspectValue(asks)}`,
    );
  }
}

/**
 * Input requested by a result; undefined if the result is final. A missing `resultType` means
 * `complete`.
 */
function wantedBy(method: string, result: JsonObject): Wanted | undefined {
  const { resultType = 'complete', inputRequests, requestState } = result;
  if (resultType === 'complete') return undefined;
  if (resultType === 'task' && method === 'tools/call') return undefined;
  if (resultType !== 'input_required') {
    throw violation(
      `"resultType" of ${method} must be complete, input_required or task, got ${inspectValue(resultType)}`,
    );
  }
  if (!mayRequireInput.has(method)) throw violation(`${method} must not request input`);
  if (inputRequests === undefined && requestState === undefined) {
    throw violation(
      `an input_required result of ${method} must have "inputRequests" or "requestState"`,
    );
  }
  if (requestState !== undefined && typeof requestState !== 'string') {
    throw violation(`"requestState" must be a string, got ${inspectValue(requestState)}`);
  }
  if (inputRequests !== undefined && !isJsonObject(inputRequests)) {
    throw violation(`"inputRequests" must be an object, got ${inspectValue(inputRequests)}`);
  }
  const meta = result['_meta'];
  const isResendable = isJsonObject(meta) && meta[resendableKey] === true;
  return { inputRequests, requestState, isResendable };
}

/** The connection was lost, or whoever stands before the server cannot reach it at present. */
function isLoss(error: unknown): boolean {
  if (!(error instanceof RuntimeError)) return false;
  const { code, status = 0 } = error;
  return code === 'CLOSED' || (code === 'HTTP_STATUS' && [502, 503, 504].includes(status));
}

function violation(fault: string): RuntimeError {
  return new RuntimeError('PROTOCOL_VIOLATION', `The server breaks the protocol: ${fault}`);
}

function overdue(method: string, maxTotalMs: number): RuntimeError {
  const message = `${method} did not complete within ${maxTotalMs} ms, including its input requests`;
  return new RuntimeError('REQUEST_TIMEOUT', message);
}

function endOf(method: string, reason: unknown): RuntimeError {
  if (reason instanceof RuntimeError) return reason;
  return new RuntimeError('CANCELLED', `${method} was cancelled`, { cause: reason });
}
