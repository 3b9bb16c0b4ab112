/**
 * A call to a server that asks by ending the call: the host's providers answer each
 * `input_required`, and the call is made again with the answers until its result is complete.
 *
 * @see MCP 2026-07-28, basic/patterns/mrtr
 */
import { holdProcess } from '../../../../src/actors/clock.ts';
import type { Clock } from '../../../../src/actors/clock.ts';
import { FairSemaphore } from '../../../../src/actors/party-turns.ts';
import { unlessAborted, waitFor } from '../../../../src/actors/waiting.ts';
import { inspectValue, isJsonObject } from '../../../../src/protocol/classify.ts';
import { RuntimeError, textOfError } from '../../../../src/protocol/errors.ts';
import type { JsonObject } from '../../../../src/protocol/frames.ts';
import { resendableKey } from '../../../../src/protocol/durable-calls.ts';
import { mayRequireInput } from '../../../../src/protocol/input-required.ts';
import { Method } from '../../../../src/protocol/methods.ts';
import type { Answers } from './answers.ts';

/** What the rounds of a connection's calls share. */
/** @typeParam TCall what else is known of a call */
export interface RoundsHost<TCall extends RoundsCall = RoundsCall> {
  readonly clock: Clock;
  readonly answers: Pick<Answers, 'answer'>;
  readonly places: DialogPlaces;
  /** How often one call may ask. */
  readonly maxRounds: number;
  /** Waits for the result of a call whose first result says that it runs as a task. */
  readonly awaitTask: (call: TCall, first: FirstResult) => Promise<JsonObject>;
}

/** The first result of a call, and when the call was made, the clock's milliseconds. */
export interface FirstResult {
  readonly result: JsonObject;
  readonly startedAt: number;
}

export interface RoundsCall {
  readonly method: string;
  readonly params: JsonObject | undefined;
  /** How long all rounds may take together, including people's answers, milliseconds. */
  readonly maxTotalMs: number;
  readonly signal?: AbortSignal | undefined;
  /** Sends the request of one round, until the signal ends it; each gets a new id. */
  send(params: JsonObject | undefined, signal: AbortSignal): Promise<JsonObject>;
}

/** What a result asks for. The members that it has are copied into the next request. */
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

/**
 * The delay before a call that the server only wants again, milliseconds; the first one has none.
 */
const shedRetryMs = 100;
const maxShedRetryMs = 5000;

/**
 * The result of a call after the rounds that its first result asks for; undefined if it asks for
 * nothing.
 *
 * @throws {RuntimeError} PROTOCOL_VIOLATION: the result asks for something that the protocol does
 *   not know. The promise rejects with PROTOCOL_VIOLATION too, also if the server asks too often;
 *   with LIMIT_EXCEEDED if it asks too much at once; with REQUEST_TIMEOUT or CANCELLED; with
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
  // The host's code does not run while the result is still being processed.
  return Promise.resolve().then(() => goOn(host, call, { wanted, endsAt }));
}

/** The rounds after the first one. */
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
  holdProcess(timer);
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
        throw violation(`${method} has asked for input ${maxRounds} times, and asks again`);
      }
      wanted = more;
    }
  } catch (error) {
    // If the call itself was ended, that is the error, whatever its request failed with.
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
  /** How many rounds in a row asked nothing: the server sheds load. */
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
    const { method } = this.#call;
    const answers = await askProviders(this.#host, method, inputRequests, this.#signal);
    return { ...params, inputResponses: answers };
  }

  /**
   * The pause before a call that the server only wants again: none at first, then longer each time.
   */
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
        overdue: ({ resolve }) => resolve(),
        cancelled: (reason) => reason as Error,
      },
      () => () => {},
    );
  }
}

/**
 * The answers to all questions in a result, by key. The first failure withdraws the other
 * questions.
 *
 * @param asker the method that had this result, for messages
 * @throws {RuntimeError} PROTOCOL_VIOLATION: an entry is not a question; LIMIT_EXCEEDED: there are
 *   too many; REQUEST_FAILED: a provider fails or is missing; the reason of the signal
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
    // One for each question: Node.js warns of a signal that more than ten listen to.
    const signal = AbortSignal.any([ended, others.signal]);
    const answer = places.run(signal, () => host.answers.answer(method, params, signal));
    const told = unlessAborted(answer, signal).catch((cause: unknown) => {
      const why = textOfError((cause as Error).message);
      const message = `${asker} asks for ${method}, which the host could not answer: ${why}`;
      throw new RuntimeError('REQUEST_FAILED', message, { cause });
    });
    return [key, await told] as const;
  });
  try {
    return Object.fromEntries(await Promise.all(asked));
  } catch (error) {
    others.abort('another question of the call could not be answered');
    throw error;
  }
}

export interface DialogBounds {
  /** How many questions may be answered at once. */
  readonly maxRunning: number;
  /** How many more may wait for their turn; others are refused. */
  readonly maxWaiting: number;
}

/** Limits how many of a server's questions the host's code answers at once. */
export class DialogPlaces {
  readonly #bounds: DialogBounds;
  #made: FairSemaphore | undefined = undefined;

  constructor(bounds: DialogBounds) {
    this.#bounds = bounds;
  }

  /** Made for the first question: most servers ask none. */
  get #turns(): FairSemaphore {
    return (this.#made ??= new FairSemaphore(this.#bounds.maxRunning));
  }

  /** @throws {RuntimeError} LIMIT_EXCEEDED: this many could never be answered at once */
  refuseMoreThan(count: number): void {
    const { maxRunning, maxWaiting } = this.#bounds;
    if (count <= maxRunning + maxWaiting) return;
    const message = `The server asks ${count} things in one result, and may ask ${maxRunning + maxWaiting}`;
    throw new RuntimeError('LIMIT_EXCEEDED', message);
  }

  /**
   * Runs the function once there is a place.
   *
   * @throws {RuntimeError} LIMIT_EXCEEDED: too many wait
   * @throws what `run` throws, or the signal's reason if it fires before the turn comes
   */
  async run<T>(signal: AbortSignal, run: () => Promise<T>): Promise<T> {
    const { maxRunning, maxWaiting } = this.#bounds;
    if (!this.#turns.hasRoom(maxWaiting)) {
      const message = `The server asks too much at once: ${maxRunning} questions are open and ${maxWaiting} wait`;
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
      `inputRequests[${inspectValue(key)}] is no question: its method is ${inspectValue(asks)}`,
    );
  }
}

/**
 * What a result asks for; undefined if it is complete. A result without `resultType` counts as
 * complete.
 */
function wantedBy(method: string, result: JsonObject): Wanted | undefined {
  const { resultType = 'complete', inputRequests, requestState } = result;
  if (resultType === 'complete') return undefined;
  if (resultType === 'task' && method === 'tools/call') return undefined;
  if (resultType !== 'input_required') {
    throw violation(`the "resultType" of ${method} is ${inspectValue(resultType)}`);
  }
  if (!mayRequireInput.has(method)) throw violation(`${method} asks for input, which it must not`);
  if (inputRequests === undefined && requestState === undefined) {
    throw violation(`${method} asks for input, and neither for which nor with a "requestState"`);
  }
  if (requestState !== undefined && typeof requestState !== 'string') {
    throw violation(`"requestState" must be a string, this is ${inspectValue(requestState)}`);
  }
  if (inputRequests !== undefined && !isJsonObject(inputRequests)) {
    throw violation(`"inputRequests" must be an object, this is ${inspectValue(inputRequests)}`);
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
  const message = `${method} was not complete within ${maxTotalMs} ms, its questions included`;
  return new RuntimeError('REQUEST_TIMEOUT', message);
}

function endOf(method: string, reason: unknown): RuntimeError {
  if (reason instanceof RuntimeError) return reason;
  return new RuntimeError('CANCELLED', `${method} was cancelled`, { cause: reason });
}
