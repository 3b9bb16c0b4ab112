/** Handlers that repeat the recorded actions at the recorded times. */
import type {
  RequestContext,
  RequestHandler,
  Resumption,
} from '../../../../src/actors/request-context.ts';
import { ignoreUnhandled } from '../../../../src/actors/request-context.ts';
import { isJsonObject } from '../../../../src/protocol/classify.ts';
import { ProtocolError } from '../../../../src/protocol/errors.ts';
import type { JsonObject } from '../../../../src/protocol/frames.ts';
import type { AskLine, CallLine, WithdrawLine } from '../format.ts';

type Settlement =
  | { readonly ok: true; readonly result: unknown }
  | { readonly ok: false; readonly error: Error };

/** Recipient without reports: the recording contains the rejected notifications. */
const unheeded = { send: () => {} };

/** Zero timeout for roots, because no live handler awaits them. */
const anyTime = {
  timeoutMs: Infinity,
  clock: { now: () => 0, setTimeout: () => 0, clearTimeout: () => {} },
};

interface ReplayedCall {
  readonly exchange: RequestContext;
  readonly asked: Map<number, AbortController>;
  /** The recorded outcome, if it was replayed before the handler was called. */
  settlement: Settlement | undefined;
  settle: (settlement: Settlement) => void;
}

/** Callbacks of the handlers to their replay. */
export interface HandlersListener {
  started(number: number, exchange: RequestContext): void;
  told(call: number, ask: number): void;
  /** Recorded resumption options of a call. */
  resumption(method: string): Resumption;
  /** Recorded validation of an answer. */
  judged(): Promise<string | undefined>;
  /** Called while the session calls a handler, to replay the nested inputs. */
  giveNested(): void;
}

export class ReplayedHandlers {
  readonly #listener: HandlersListener;
  readonly #calls = new Map<number, ReplayedCall>();
  #count = 0;

  constructor(listener: HandlersListener) {
    this.#listener = listener;
  }

  handlerOf(method: string): RequestHandler {
    return Object.assign(
      (_: JsonObject | undefined, exchange: RequestContext) => this.#run(exchange),
      {
        resumption: () => this.#listener.resumption(method),
      },
    );
  }

  /** Settles a call. @returns false if the replayed session has not started it */
  do(line: CallLine): boolean {
    const call = this.#calls.get(line.call);
    if (!call) return false;
    if ('ask' in line) this.#ask(call, line);
    else if ('notify' in line) call.exchange.notify(line.notify, paramsOf(line) ?? {}, unheeded);
    else if ('announce' in line) call.exchange.announce(line.announce, paramsOf(line) ?? {});
    else if ('describe' in line) call.exchange.task?.describe(line.describe);
    else if ('roots' in line) void ignoreUnhandled(call.exchange.roots(anyTime));
    else if ('checkpoint' in line) call.exchange.checkpoint = true;
    else call.settle(settlementOf(line));
    return true;
  }

  #run(exchange: RequestContext): unknown {
    const number = ++this.#count;
    const call: ReplayedCall = {
      exchange,
      asked: new Map(),
      settlement: undefined,
      settle: (settlement) => {
        call.settlement = settlement;
      },
    };
    this.#calls.set(number, call);
    this.#listener.started(number, exchange);
    this.#listener.giveNested();
    const { settlement } = call;
    if (settlement?.ok) return settlement.result;
    if (settlement) throw settlement.error;
    return new Promise((resolve, reject) => {
      call.settle = (late) => {
        if (late.ok) resolve(late.result);
        else reject(late.error);
      };
    });
  }

  #ask({ exchange, asked }: ReplayedCall, line: AskLine | WithdrawLine): void {
    const { ask } = line;
    if ('withdrawn' in line) return asked.get(ask)?.abort(line.withdrawn);
    const controller = new AbortController();
    asked.set(ask, controller);
    const { method, timeoutMs, maxTotalMs, progress, judged } = line;
    const onProgress = () => {
      this.#listener.told(line.call, ask);
      this.#listener.giveNested();
    };
    void exchange
      .sendRequest({
        method,
        params: paramsOf(line),
        timeoutMs,
        maxTotalMs,
        signal: controller.signal,
        onProgress: progress ? onProgress : undefined,
        accepts: judged ? () => this.#listener.judged() : undefined,
      })
      // The recording contains the handler's reaction.
      .catch(() => {});
  }
}

/** Restores the params of a line, including their failure to serialize. */
export function paramsOf(line: {
  readonly params?: unknown;
  readonly unwritable?: string;
}): JsonObject | undefined {
  const { params, unwritable } = line;
  if (unwritable !== undefined) return unwritableObject(unwritable);
  return isJsonObject(params) ? params : undefined;
}

type SettlingLine = Exclude<
  CallLine,
  | { ask: number }
  | { notify: string }
  | { announce: string }
  | { describe: string }
  | { roots: true }
  | { checkpoint: true }
>;

function settlementOf(line: SettlingLine): Settlement {
  if ('error' in line) {
    const { code, message, data } = line.error;
    return { ok: false, error: new ProtocolError(code, message, data) };
  }
  if ('thrown' in line) return { ok: false, error: new Error(line.thrown) };
  const result = 'result' in line ? line.result : undefined;
  const isWritable = !('unwritable' in line);
  return { ok: true, result: isWritable ? result : unwritableObject(line.unwritable) };
}

/** An object that JSON cannot represent. */
function unwritableObject(reason: string): JsonObject {
  return {
    toJSON: () => {
      throw new TypeError(reason);
    },
  };
}
