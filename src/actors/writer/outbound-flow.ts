/**
 * Whether the client takes what a session says, as its writer finds out: what it waits for is counted here, and the session and whoever
 * reads the log hear when it becomes too much, when all of it is gone, and when nobody takes anything any more.
 */
import type { Ref } from '../../machines/port.ts';
import type { FramesToSend, SessionFact } from '../../machines/session-ports.ts';
import { textOfError } from '../../protocol/errors.ts';
import type { ActorFactName, Report } from '../facts.ts';
import type { OutboundMessage } from '../../protocol/frames.ts';

type Rejected = NonNullable<FramesToSend['rejected']>;

export interface OutboundFlowOptions {
  /** How much may wait before the session hears `output.blocked`, counted in UTF-16 units, which are bytes for ASCII. */
  readonly maxOutboundBytes: number;
  readonly report: Report<ActorFactName>;
}

export class OutboundFlow {
  readonly #options: OutboundFlowOptions;
  readonly #session: Ref<SessionFact>;
  readonly #taker: string;
  #state: 'flowing' | 'blocked' | 'broken' = 'flowing';
  #queued = 0;
  /** What had been taken as the session asked last whether all is gone. */
  #takenWhenAsked: number | undefined = undefined;

  /** @param taker who takes the output, as the subject of a sentence */
  constructor(options: OutboundFlowOptions, session: Ref<SessionFact>, taker: string) {
    this.#options = options;
    this.#session = session;
    this.#taker = taker;
  }

  /** How much waits. */
  get queued(): number {
    return this.#queued;
  }

  /** So much more waits. */
  add(size: number): void {
    this.#queued += size;
    const { maxOutboundBytes, report } = this.#options;
    if (this.#state !== 'flowing' || this.#queued <= maxOutboundBytes) return;
    this.#state = 'blocked';
    report({
      level: 'warning',
      name: 'output.blocked',
      message: `${this.#taker} takes nothing: ${this.#queued} bytes wait; no request is started until they are taken`,
    });
    this.#session.send({ type: 'output.blocked' });
  }

  /** So much has been taken out of what waits. That all is gone is said by {@link emptied}. */
  take(size: number): void {
    this.#queued -= size;
  }

  /** Nothing waits any more, and nothing did as it was taken. */
  emptied(): void {
    if (this.#state !== 'blocked') return;
    this.#state = 'flowing';
    this.#options.report({
      level: 'info',
      name: 'output.flowing',
      message: `${this.#taker} has taken everything; requests are started again`,
    });
    this.#session.send({ type: 'output.flowing' });
  }

  /** Nobody takes anything any more. */
  break(error: unknown): void {
    if (this.#state === 'broken') return;
    this.#state = 'broken';
    this.#queued = 0;
    this.#options.report({
      level: 'info',
      name: 'output.broken',
      message: `${this.#taker} takes no output any more: ${textOfError(error)}`,
    });
    this.#session.send({ type: 'output.broken', error });
  }

  /** Everything has gone that was there when it was asked for. */
  flushed(): void {
    this.#session.send({ type: 'output.flushed' });
  }

  /**
   * The session has asked whether everything has gone, and it has not.
   * @param taken how much has been taken so far, in any unit
   */
  asked(taken: number): void {
    if (taken !== this.#takenWhenAsked) {
      this.#takenWhenAsked = taken;
      return;
    }
    this.#options.report({
      level: 'warning',
      name: 'output.stalled',
      message: `${this.#taker} takes nothing: the session ends without sending the rest`,
    });
    this.#session.send({ type: 'output.stalled' });
  }

  /** A message that JSON cannot hold: whoever sent it hears of it if it wants to, the log otherwise. */
  unserializable(message: OutboundMessage, error: unknown, rejected: Rejected | undefined): void {
    if ('method' in message && rejected) return rejected(error, message);
    const what = 'method' in message ? message.method : `The response to ${message.id}`;
    this.#options.report({
      level: 'error',
      name: 'response.unserializable',
      message: `${what} cannot be written as JSON: ${textOfError(error)}`,
    });
  }
}
