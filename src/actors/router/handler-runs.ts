/** Runs handlers, whatever they throw or give, and makes one response of what comes of each. */
import { describe, isJsonObject } from '../../protocol/classify.ts';
import { errorResponse, internalError, textOfError } from '../../protocol/errors.ts';
import type { ActorFactName, Report } from '../facts.ts';
import type { OutboundResponse, WireError } from '../../protocol/frames.ts';
import { isThenable } from '../exchange.ts';
import type { Call } from './call.ts';

/** Those whose handlers run. An object, not functions: a session would have its own of each. */
export interface HandlerRunsHome {
  readonly report: Report<ActorFactName>;
  /** Takes the response of a call that has not ended otherwise. */
  answered(call: Call, response: OutboundResponse): void;
  /** A promise has settled: called outside any turn of the router's, after `answered`. */
  settled(): void;
}

export class HandlerRuns {
  readonly #home: HandlerRunsHome;
  #unsettled = 0;

  constructor(home: HandlerRunsHome) {
    this.#home = home;
  }

  /**
   * Handlers whose promise is open, those of cancelled calls included: they may still be cleaning
   * up.
   */
  get unsettled(): number {
    return this.#unsettled;
  }

  run(call: Call): void {
    try {
      const result = call.handler(call.params, call);
      if (isThenable(result)) {
        // A promise of another kind becomes one of the platform's, which settles once.
        Promise.resolve(result).then(
          (late) => {
            this.#unsettled--;
            this.#succeed(call, late);
            this.#home.settled();
          },
          (error: unknown) => {
            this.#unsettled--;
            this.#fail(call, error);
            this.#home.settled();
          },
        );
        this.#unsettled++;
      } else {
        this.#succeed(call, result);
      }
    } catch (error) {
      this.#fail(call, error);
    }
  }

  #succeed(call: Call, result: unknown): void {
    if (call.state === 'ended') return;
    if (!isJsonObject(result)) {
      const message = `The handler of ${call.method} must give an object, it gave ${describe(result)}`;
      return this.#fail(call, new TypeError(message));
    }
    const { id, peer, scope } = call;
    const projected = scope.resultFor(peer, result);
    this.#home.answered(call, { jsonrpc: '2.0', id, result: projected });
  }

  #fail(call: Call, error: unknown): void {
    if (call.state === 'ended') return;
    this.#home.answered(call, errorResponse(call.id, this.#wireError(call, error)));
  }

  #wireError(call: Call, error: unknown): WireError {
    const wireError = call.peer.dialect.wireError(error);
    if (wireError) return wireError;
    this.#home.report({
      level: 'error',
      name: 'handler.failed',
      message: `The handler of ${call.method} failed: ${textOfError(error)}`,
      details: { id: call.id, error },
    });
    return internalError;
  }
}
