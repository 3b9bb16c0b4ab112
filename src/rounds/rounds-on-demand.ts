/** The calls of a session that ask by ending. Their code is loaded with the first call that may. */
import type { CallRounds, Exchange, RequestHandler } from '../actors/exchange.ts';
import { OnDemand } from '../actors/on-demand.ts';
import type { SuspendableCalls, SuspendableCallsOptions } from './suspendable-calls.ts';

const code = new OnDemand(() => import('./suspendable-calls.ts'));

export class RoundsOnDemand implements CallRounds {
  readonly #options: SuspendableCallsOptions;
  #rounds: SuspendableCalls | undefined = undefined;
  /** Why no retry is served, if the session ended before the code was loaded. */
  #closed: Error | undefined = undefined;

  constructor(options: SuspendableCallsOptions) {
    this.#options = options;
    code.begin();
  }

  serve(handler: RequestHandler, exchange: Exchange): unknown {
    const rounds = this.#rounds ?? (code.now && this.#begin(code.now));
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
