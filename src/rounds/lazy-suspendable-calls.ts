/** The calls of a session that ask by ending. Their code is loaded with the first call that may. */
import type {
  SuspendableCallService,
  RequestContext,
  RequestHandler,
} from '../actors/request-context.ts';
import { LazyModule } from '../actors/lazy-module.ts';
import type { SuspendableCalls, SuspendableCallsOptions } from './suspendable-calls.ts';

const code = new LazyModule(() => import('./suspendable-calls.ts'));

export class LazySuspendableCalls implements SuspendableCallService {
  readonly #options: SuspendableCallsOptions;
  #rounds: SuspendableCalls | undefined = undefined;
  /** Why no retry is served, if the session ended before the code was loaded. */
  #closed: Error | undefined = undefined;

  constructor(options: SuspendableCallsOptions) {
    this.#options = options;
    code.preload();
  }

  serve(handler: RequestHandler, exchange: RequestContext): unknown {
    const rounds = this.#rounds ?? (code.loaded && this.#begin(code.loaded));
    if (rounds) return rounds.serve(handler, exchange);
    return code.load().then((loaded) => {
      // Only here: to read the signal makes one, for a call that may never need it.
      exchange.signal.throwIfAborted();
      return this.#begin(loaded).serve(handler, exchange);
    });
  }

  #begin({ SuspendableCalls: Rounds }: Awaited<ReturnType<typeof code.load>>): SuspendableCalls {
    if (this.#rounds) return this.#rounds;
    this.#rounds = new Rounds(this.#options);
    // From now on calls go there directly.
    this.serve = this.#rounds.serve.bind(this.#rounds);
    if (this.#closed) this.#rounds.close(this.#closed);
    return this.#rounds;
  }

  get waiting() {
    return this.#rounds?.waiting ?? [];
  }

  get isIdle(): boolean {
    return this.#rounds?.isIdle ?? true;
  }

  close(reason: Error): void {
    this.#closed = reason;
    this.#rounds?.close(reason);
  }
}
