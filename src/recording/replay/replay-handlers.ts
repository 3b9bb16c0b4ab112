/** Handlers that do what the recorded ones did, when they did it. */
import type { Exchange, RequestHandler } from '../../actors/exchange.ts';
import { ProtocolError } from '../../protocol/errors.ts';
import type { JsonObject } from '../../protocol/frames.ts';
import type { AskLine, CallLine, WithdrawLine } from '../format.ts';

type Settlement =
  | { readonly ok: true; readonly result: unknown }
  | { readonly ok: false; readonly error: unknown };

interface ReplayedCall {
  readonly call: Exchange;
  readonly asked: Map<number, AbortController>;
  /** What it gave before its handler had returned. */
  settlement: Settlement | undefined;
  settle: (settlement: Settlement) => void;
}

/** What the handlers need of the replay. */
export interface ReplayScope {
  started(number: number, call: Exchange): void;
  told(call: number, ask: number): void;
  load(method: string): void;
  /** Gives the session the inputs that it got while it was calling. */
  giveNested(): void;
}

export class ReplayHandlers {
  readonly #scope: ReplayScope;
  readonly #calls = new Map<number, ReplayedCall>();
  readonly #loading = new Map<string, () => void>();
  #count = 0;

  constructor(scope: ReplayScope) {
    this.#scope = scope;
  }

  /** @param isPrepared whether it loads something before its first call */
  handlerOf(method: string, isPrepared: boolean): RequestHandler {
    const run: RequestHandler = (_, call) => this.#run(call);
    if (!isPrepared) return run;
    const prepare = () =>
      new Promise<void>((resolve) => {
        this.#loading.set(method, resolve);
        this.#scope.load(method);
        this.#scope.giveNested();
      });
    return Object.assign(run, { prepare });
  }

  /** @returns false where nothing is being loaded for this method */
  loaded(method: string): boolean {
    const resolve = this.#loading.get(method);
    resolve?.();
    return resolve !== undefined;
  }

  /** @returns false where the replayed session has not started this call */
  do(line: CallLine): boolean {
    const replayed = this.#calls.get(line.call);
    if (!replayed) return false;
    const { call } = replayed;
    if ('ask' in line) this.#ask(replayed, line);
    else if ('notify' in line) call.notify(line.notify, paramsOf(line) ?? {}, () => {});
    else if ('describe' in line) call.task?.describe(line.describe);
    else replayed.settle(settlementOf(line));
    return true;
  }

  #run(call: Exchange): unknown {
    const number = ++this.#count;
    const replayed: ReplayedCall = {
      call,
      asked: new Map(),
      settlement: undefined,
      settle: (settlement) => {
        replayed.settlement = settlement;
      },
    };
    this.#calls.set(number, replayed);
    this.#scope.started(number, call);
    this.#scope.giveNested();
    const { settlement } = replayed;
    if (settlement?.ok) return settlement.result;
    if (settlement) throw settlement.error;
    return new Promise((resolve, reject) => {
      replayed.settle = (late) => {
        if (late.ok) resolve(late.result);
        else reject(late.error as Error);
      };
    });
  }

  #ask({ call, asked }: ReplayedCall, line: AskLine | WithdrawLine): void {
    const { ask } = line;
    if ('withdrawn' in line) return asked.get(ask)?.abort(line.withdrawn);
    const controller = new AbortController();
    asked.set(ask, controller);
    const { method, timeoutMs, maxTotalMs, progress } = line;
    const onProgress = () => {
      this.#scope.told(line.call, ask);
      this.#scope.giveNested();
    };
    void call
      .ask({
        method,
        params: paramsOf(line),
        timeoutMs,
        maxTotalMs,
        signal: controller.signal,
        onProgress: progress ? onProgress : undefined,
      })
      // What the handler made of it is in the recording.
      .catch(() => {});
  }
}

export interface WithParams {
  readonly params?: unknown;
  readonly unwritable?: string;
}

export function paramsOf({ params, unwritable }: WithParams): JsonObject | undefined {
  return unwritable === undefined
    ? (params as JsonObject | undefined)
    : unwritableObject(unwritable);
}

function settlementOf(line: object): Settlement {
  const { result, unwritable, error, thrown } = line as {
    readonly result?: unknown;
    readonly unwritable?: string;
    readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown };
    readonly thrown?: string;
  };
  if (error) return { ok: false, error: new ProtocolError(error.code, error.message, error.data) };
  if (thrown !== undefined) return { ok: false, error: new Error(thrown) };
  return { ok: true, result: unwritable === undefined ? result : unwritableObject(unwritable) };
}

/** An object that JSON cannot hold, either. */
function unwritableObject(reason: string): JsonObject {
  return {
    toJSON: () => {
      throw new TypeError(reason);
    },
  };
}
