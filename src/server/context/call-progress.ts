/**
 * Progress notifications of one call, at most ten per second. The last step of a burst is delayed, not
 * dropped.
 */
import type { RequestContext } from '../../actors/request-context.ts';
import type { Clock } from '../../actors/clock.ts';
import type { RequestId } from '../../protocol/frames.ts';
import { Method } from '../../protocol/methods.ts';

/** Minimum time between two progress notifications of a call, milliseconds. */
const intervalMs = 100;

export interface ProgressDetails {
  readonly total?: number;
  readonly message?: string;
}

interface ProgressStep extends ProgressDetails {
  readonly progress: number;
}

/** @see MCP 2025-11-25, basic/utilities/progress, "Behavior Requirements" */
export class CallProgress {
  readonly #call: RequestContext;
  readonly #clock: Clock;
  readonly token: RequestId;
  /** Highest value so far, sent or delayed. */
  #reached = -Infinity;
  #sentAt = -Infinity;
  /** Delayed step and the timer that sends it. */
  #held: { step: ProgressStep; readonly timer: unknown } | undefined;

  constructor(call: RequestContext, clock: Clock, token: RequestId) {
    this.#call = call;
    this.#clock = clock;
    this.token = token;
    call.whenEnded(() => this.#release());
  }

  /** Sends the step now, or at the end of the interval if the call is still running. */
  report(step: ProgressStep): void {
    const { progress, total } = step;
    if (this.#call.hasEnded) return;
    if (!Number.isFinite(progress) || progress <= this.#reached) return;
    this.#reached = progress;
    const waitMs = this.#sentAt + intervalMs - this.#clock.now();
    const isLast = total !== undefined && progress >= total;
    if (waitMs <= 0 || isLast) this.#send(step);
    else this.#hold(step, waitMs);
  }

  #hold(step: ProgressStep, waitMs: number): void {
    if (this.#held) {
      this.#held.step = step;
      return;
    }
    const timer = this.#clock.setTimeout(() => {
      const held = this.#held;
      this.#held = undefined;
      if (held) this.#send(held.step);
    }, waitMs);
    this.#held = { step, timer };
  }

  #release(): void {
    if (this.#held) this.#clock.clearTimeout(this.#held.timer);
    this.#held = undefined;
  }

  #send(step: ProgressStep): void {
    this.#release();
    this.#sentAt = this.#clock.now();
    const { dialect } = this.#call.request.peer;
    this.#call.notify(Method.progress, dialect.progress(this.token, step));
  }
}
