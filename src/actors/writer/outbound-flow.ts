/**
 * A session's output on its way to the peer, and the one state that it is in. What has to wait is
 * kept and counted here. The session and the log hear when too much waits, when all of it is gone,
 * and when the output has ended.
 */
import type { Recipient } from '../../machines/port.ts';
import type { FramesToSend, TransportFact } from '../../machines/peer-ports.ts';
import { textOfError } from '../../protocol/errors.ts';
import type { ActorFactName, Report } from '../facts.ts';
import type { OutboundMessage } from '../../protocol/frames.ts';

/** Where the fate of frames is reported, and under which number. */
export type DeliveryAddress = Pick<FramesToSend, 'reportTo' | 'receipt'>;

export interface OutboundFlowOptions {
  /**
   * How much may wait before the session hears `output.blocked`, counted in UTF-16 units, which are
   * bytes for ASCII.
   */
  readonly maxOutboundBytes: number;
  readonly report: Report<ActorFactName>;
}

/** What a writer's snapshot shows as its `view`. */
export interface WriterView {
  readonly state: FlowState;
  /** What waits, counted as {@link OutboundFlowOptions.maxOutboundBytes}. */
  readonly queuedBytes: number;
}

/** The sink of output, as its writer knows it. */
export interface OutputTarget<T> {
  /**
   * Takes it in any case; false: what comes next has to wait until there is {@link
   * OutboundFlow.room}.
   */
  take(item: T): boolean;
  /** Puts it at the end of what waits; gives how much more that is. */
  enqueue(queue: (T | undefined)[], item: T): number;
  /** How much of what was taken has not left yet. */
  bufferedLength(): number;
  /** Calls back once all that was taken has left; asked only while nothing waits. */
  flush(done: () => void): void;
}

/**
 * `flowing`: what comes is taken. `waiting`: it is kept until there is room. `blocked`: too much is
 * kept, the session knows. `ended`: nothing is taken from now on.
 */
export type FlowState = 'flowing' | 'waiting' | 'blocked' | 'ended';

export class OutboundFlow<T extends { readonly length: number }> {
  readonly #options: OutboundFlowOptions;
  readonly #owner: Recipient<TransportFact>;
  readonly #outlet: OutputTarget<T>;
  readonly #peerName: string;
  #state: FlowState = 'flowing';
  /** What waits, from `#next` on; what stood before has been taken, and is let go of. */
  #queue: (T | undefined)[] = [];
  #next = 0;
  #queued = 0;
  #written = 0;
  /** Who waits until so much has been taken, in order. */
  #awaiting: { readonly taken: number; callback(): void }[] | undefined = undefined;
  /** `asked`: the session waits until nothing is left. */
  #flush: 'none' | 'asked' = 'none';
  /** What had left as the session asked last whether all is gone. */
  #writtenAtLastFlush: number | undefined = undefined;

  /** @param taker who takes the output, as the subject of a sentence */
  constructor(
    options: OutboundFlowOptions,
    owner: Recipient<TransportFact>,
    outlet: OutputTarget<T>,
    taker: string,
  ) {
    this.#options = options;
    this.#owner = owner;
    this.#outlet = outlet;
    this.#peerName = taker;
  }

  get state(): FlowState {
    return this.#state;
  }

  /** How much waits. */
  get queued(): number {
    return this.#queued;
  }

  /** Sends it, keeps it until there is room, or lets it go once the output has ended. */
  deliver(item: T): void {
    switch (this.#state) {
      case 'flowing':
        this.#written += item.length;
        // It may have broken just now, and then it stays so.
        if (!this.#outlet.take(item) && this.#state === 'flowing') this.#state = 'waiting';
        break;
      case 'waiting':
      case 'blocked':
        this.#queued += this.#outlet.enqueue(this.#queue, item);
        this.#limit();
        break;
      case 'ended':
    }
  }

  /** Calls back once all that has been delivered is taken; never if that does not come about. */
  whenWritten(callback: () => void): void {
    if (this.#state === 'ended') return;
    if (this.#queued === 0) callback();
    else (this.#awaiting ??= []).push({ taken: this.#written + this.#queued, callback });
  }

  /** There is room: what waits goes out until there is none, or until nothing waits. */
  resume(): void {
    let hasRoom = true;
    // What comes meanwhile is put behind it.
    for (
      let item = this.#dequeue();
      item !== undefined;
      item = hasRoom ? this.#dequeue() : undefined
    ) {
      hasRoom = this.#outlet.take(item);
      this.#notifyWritten();
    }
    if (this.#state !== 'ended' && this.#queue.length === 0) this.#emptied(hasRoom);
  }

  /**
   * The session wants to know when everything has gone: `output.flushed`. If it asks because the
   * stall time has passed, it hears if nothing has gone meanwhile: `output.stalled`. It may ask for
   * other reasons, such as a second shutdown, and then no time has passed.
   */
  flush(after?: 'stallTimeout'): void {
    if (this.#state === 'ended') return this.#flushed();
    this.#flush = 'asked';
    if (this.#state === 'flowing') this.#flushOutlet();
    this.#checkStall(after);
  }

  /** The output has ended, and the session does not know. */
  fail(error: unknown): void {
    if (this.#state === 'ended') return;
    this.stop();
    this.#options.report({
      level: 'info',
      name: 'output.broken',
      message: `${this.#peerName} takes no output any more: ${textOfError(error)}`,
    });
    this.#owner.send({ type: 'output.broken', error });
  }

  /** Lets go of what waits. */
  stop(): void {
    this.#state = 'ended';
    this.#queue = [];
    this.#next = 0;
    this.#queued = 0;
    this.#awaiting = undefined;
  }

  #notifyWritten(): void {
    const awaiting = this.#awaiting;
    while (awaiting?.[0] && awaiting[0].taken <= this.#written) awaiting.shift()?.callback();
  }

  #limit(): void {
    const { maxOutboundBytes, report } = this.#options;
    if (this.#state !== 'waiting' || this.#queued <= maxOutboundBytes) return;
    this.#state = 'blocked';
    report({
      level: 'warning',
      name: 'output.blocked',
      message: `${this.#peerName} takes nothing: ${this.#queued} bytes wait; no request is started until they are taken`,
    });
    this.#owner.send({ type: 'output.blocked' });
  }

  /** What has waited for longest; undefined if nothing does. */
  #dequeue(): T | undefined {
    const item = this.#queue[this.#next];
    if (item === undefined) return undefined;
    this.#queue[this.#next++] = undefined;
    // To move the rest costs each of them little.
    if (this.#next * 2 >= this.#queue.length) {
      this.#queue = this.#queue.slice(this.#next);
      this.#next = 0;
    }
    this.#queued -= item.length;
    this.#written += item.length;
    return item;
  }

  /** Nothing waits from now on. */
  #emptied(hasRoom: boolean): void {
    const before = this.#state;
    this.#state = hasRoom ? 'flowing' : 'waiting';
    if (before === 'blocked') {
      this.#options.report({
        level: 'info',
        name: 'output.flowing',
        message: `${this.#peerName} has taken everything; requests are started again`,
      });
      this.#owner.send({ type: 'output.flowing' });
    }
    if (hasRoom && this.#flush === 'asked') this.#flushOutlet();
  }

  #flushOutlet(): void {
    this.#flush = 'none';
    this.#outlet.flush(() => this.#flushed());
  }

  #flushed(): void {
    this.#owner.send({ type: 'output.flushed' });
  }

  #checkStall(after: 'stallTimeout' | undefined): void {
    const gone = this.#written - this.#outlet.bufferedLength();
    if (after === undefined || gone !== this.#writtenAtLastFlush) {
      this.#writtenAtLastFlush = gone;
      return;
    }
    this.#options.report({
      level: 'warning',
      name: 'output.stalled',
      message: `${this.#peerName} takes nothing: the session ends without sending the rest`,
    });
    this.#owner.send({ type: 'output.stalled' });
  }

  /** See {@link reportUnserializable}. */
  reportUnserializable(message: OutboundMessage, error: unknown, address: DeliveryAddress): void {
    reportUnserializable(this.#options.report, { message, error, address });
  }
}

/** Reports a message that JSON cannot represent: to its sender if there is an address, else to the log. */
export function reportUnserializable(
  report: Report<ActorFactName>,
  {
    message,
    error,
    address: { reportTo, receipt },
  }: {
    readonly message: OutboundMessage;
    readonly error: unknown;
    readonly address: DeliveryAddress;
  },
): void {
  if ('method' in message && reportTo) {
    return reportTo.send({ type: 'frame.rejected', frame: message, error, receipt });
  }
  const what = 'method' in message ? message.method : `The response to ${message.id}`;
  report({
    level: 'error',
    name: 'response.unserializable',
    message: `${what} cannot be written as JSON: ${textOfError(error)}`,
  });
}
