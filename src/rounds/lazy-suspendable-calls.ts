/** The suspendable calls of a session, whose code is loaded on first use. */
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
  /** The error for retries, if the session ended before the code was loaded. */
  #closed: Error | undefined = undefined;

  constructor(options: SuspendableCallsOptions) {
    this.#options = options;
    code.preload();
  }

  serve(handler: RequestHandler, exchange: RequestContext): unknown {
    const rounds = this.#rounds ?? (code.loaded && this.#create(code.loaded));
    if (rounds) return rounds.serve(handler, exchange);
    return code.load().then((loaded) => {
      // Checked only here, because reading the signal creates one.
      exchange.signal.throwIfAborted();
      return this.#create(loaded).serve(handler, exchange);
    });
  }

  #create({ SuspendableCalls: Rounds }: Awaited<ReturnType<typeof code.load>>): SuspendableCalls {
    if (this.#rounds) return this.#rounds;
    this.#rounds = new Rounds(this.#options);
    // Later calls bypass this class.
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
