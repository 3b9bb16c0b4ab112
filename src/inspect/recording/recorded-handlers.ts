/** Hears what handlers do: what they give, what they ask the client, what they say. */
import type { Call, RequestHandler, TaskHandle } from '../../actors/call.ts';
import { isThenable } from '../../actors/call.ts';
import type { RequestSpec } from '../../actors/client-request.ts';
import type { WriterEvent } from '../../machines/session-ports.ts';
import { describe, isJsonObject } from '../../protocol/classify.ts';
import { textOfError, toWireError } from '../../protocol/errors.ts';
import type { JsonObject } from '../../protocol/frames.ts';
import { heardSignal } from './heard-signal.ts';
import type { Passage } from './passage.ts';
import { writtenFrames } from './written-frames.ts';

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

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
      this.#hear(number, call);
      return this.#passage.call({ started: number, id: call.id, method }, () =>
        this.#run(number, () => handler(params, call)),
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

  /** Stands in the call's own methods: the context that a handler has got speaks through them. */
  #hear(number: number, call: Call): void {
    const passage = this.#passage;
    const [ask, notify] = [call.ask.bind(call), call.notify.bind(call)];
    let asked = 0;
    call.ask = (spec) => this.#ask(number, ++asked, spec, ask);
    // What is said past the call, such as a summary of what was not logged, goes to the writer itself.
    const { writer } = call.scope;
    const pass = (event: WriterEvent) => writer.send(event);
    const record = (event: WriterEvent) => {
      if (event.type !== 'frames.send') return pass(event);
      passage.input({ write: writtenFrames(event.frames) }, () => pass(event));
    };
    /** What is done with a write: recorded, or passed on where the call's notification is recorded already. */
    let write = record;
    const send = (event: WriterEvent) => write(event);
    (call as Mutable<Call>).scope = {
      ...call.scope,
      writer: Object.assign(Object.create(writer) as typeof writer, { send }),
    };
    call.notify = (method, params, rejected) =>
      passage.input({ call: number, notify: method, ...written(params) }, () => {
        write = pass;
        try {
          notify(method, params, rejected);
        } finally {
          write = record;
        }
      });
    const task: Mutable<TaskHandle> | undefined = call.task;
    if (!task) return;
    const describeTask = task.describe;
    task.describe = (message) =>
      passage.input({ call: number, describe: String(message) }, () => describeTask(message));
  }

  #ask(
    call: number,
    number: number,
    spec: RequestSpec,
    ask: (spec: RequestSpec) => Promise<JsonObject>,
  ): Promise<JsonObject> {
    const passage = this.#passage;
    const { method, params, timeoutMs, maxTotalMs, onProgress } = spec;
    const signal = heardSignal(spec.signal, (withdrawn, abort) =>
      passage.input({ call, ask: number, withdrawn }, abort),
    );
    const told: RequestSpec['onProgress'] =
      onProgress &&
      ((progress) => passage.call({ told: number, call }, () => onProgress(progress)));
    const line = {
      call,
      ask: number,
      method,
      ...(params ? written(params) : {}),
      timeoutMs,
      maxTotalMs,
      ...(onProgress ? { progress: true as const } : {}),
    };
    return passage.input(line, () => ask({ ...spec, signal, onProgress: told }));
  }
}

/** As JSON holds it, or why it does not. */
export function written(
  params: unknown,
): { readonly params: unknown } | { readonly unwritable: string } {
  try {
    return { params: JSON.parse(JSON.stringify(params)) as unknown };
  } catch (error) {
    return { unwritable: textOfError(error) };
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
