/**
 * Questions of a task whose client polls: they stay open here until the client answers with `tasks/update`.
 *
 * @see the extension io.modelcontextprotocol/tasks, "Task Update Requests"
 */
import type { OutboundRequest } from '../../actors/request-context.ts';
import type { Clock } from '../../actors/clock.ts';
import { RuntimeError, invalidParams } from '../../protocol/errors.ts';
import type { JsonObject } from '../../protocol/frames.ts';
import { inputRequestsOf } from '../../protocol/input-required.ts';
import { InputRequest, InputRequestKeys } from '../../rounds/input-requests.ts';

export class PolledQuestions {
  readonly #clock: Clock;
  readonly #keys = new InputRequestKeys();
  #open: InputRequest[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** @throws {RuntimeError} REQUEST_TIMEOUT, CANCELLED */
  ask(spec: OutboundRequest): Promise<JsonObject> {
    // Without a timeout of the handler, a question stays open as long as its task.
    const question = new InputRequest(spec, this.#clock, Infinity);
    question.key = this.#keys.take(spec.key);
    this.#open.push(question);
    const settled = () => {
      this.#open = this.#open.filter((other) => other !== question);
    };
    question.result.then(settled, settled);
    return question.result;
  }

  /** Fails all open questions, because the handler has ended. */
  end(reason: string): void {
    for (const question of this.#open) question.fail(new RuntimeError('CANCELLED', reason));
  }

  get openQuestions(): number {
    return this.#open.length;
  }

  /** Open questions, as `inputRequests`. */
  get inputRequests(): JsonObject {
    const open = this.#open.filter(({ state }) => state === 'open');
    return inputRequestsOf(
      open.map(({ key, spec: { method, params } }) => ({ key, method, params })),
    );
  }

  /**
   * Takes answers; ignores answers to questions that are not open.
   *
   * @throws {ProtocolError} -32602 naming the malformed answer; no answer is taken then
   */
  async answer(answers: JsonObject): Promise<void> {
    const given = this.#open.filter(({ key }) => Object.hasOwn(answers, key));
    for (const question of given) {
      const fault = await question.validate(answers[question.key]);
      if (fault !== undefined) throw invalidParams(`"inputResponses.${question.key}" ${fault}`);
    }
    for (const question of given) question.settle(answers[question.key] as JsonObject);
  }
}
