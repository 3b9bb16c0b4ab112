/** Hears what handlers give. What they ask and say passes through {@link RecordedExchange}. */
import { isThenable } from '../actors/exchange.ts';
import type { RequestHandler } from '../actors/exchange.ts';
import { describe, isJsonObject } from '../protocol/classify.ts';
import { textOfError, toWireError } from '../protocol/errors.ts';
import type { Passage } from './passage.ts';
import { RecordedExchange } from './recorded-exchange.ts';
import { written } from './written.ts';

export class RecordedHandlers {
  readonly #passage: Passage;
  #calls = 0;

  constructor(passage: Passage) {
    this.#passage = passage;
  }

  /** The same handler, heard. */
  heard(method: string, handler: RequestHandler): RequestHandler {
    const { prepare } = handler;
    const run: RequestHandler = (params, call) => {
      const number = ++this.#calls;
      return this.#passage.call({ started: number, id: call.id, method }, () =>
        this.#run(number, () => handler(params, new RecordedExchange(call, number, this.#passage))),
      );
    };
    return prepare ? Object.assign(run, { prepare: () => this.#prepare(method, prepare) }) : run;
  }

  #run(call: number, run: () => unknown): unknown {
    const passage = this.#passage;
    const given = (result: unknown) => passage.input({ call, ...outcomeOf(result) }, () => result);
    const thrown = (error: unknown) =>
      passage.input({ call, ...failureOf(error) }, (): never => {
        throw error;
      });
    let result: unknown;
    try {
      result = run();
    } catch (error) {
      return thrown(error);
    }
    return isThenable(result) ? Promise.resolve(result).then(given, thrown) : given(result);
  }

  #prepare(method: string, prepare: () => Promise<void>): Promise<void> {
    const passage = this.#passage;
    const loaded = () => passage.input({ loaded: method }, () => {});
    return passage.call({ load: method }, () => prepare().then(loaded, loaded));
  }
}

function outcomeOf(result: unknown) {
  if (!isJsonObject(result)) return { thrown: `It gave ${describe(result)}` };
  const as = written(result);
  if ('unwritable' in as) return as;
  return isJsonObject(as.params)
    ? { result: as.params }
    : { unwritable: `As JSON it is ${describe(as.params)}` };
}

function failureOf(error: unknown) {
  const wire = toWireError(error);
  if (!wire) return { thrown: textOfError(error) };
  const as = written(wire);
  return 'params' in as ? { error: as.params as typeof wire } : { thrown: as.unwritable };
}
