/**
 * Flow control of a session's output: queues and counts what the sink cannot accept yet, and
 * reports to the session and the log when the queue is too long, when it has drained and when the
 * output has ended.
 */
import type { Recipient } from '../../machines/port.ts';
import type { FramesToSend, TransportFact } from '../../machines/peer-ports.ts';
import { textOfError } from '../../protocol/errors.ts';
import type { ActorFactName, Report } from '../facts.ts';
import type { OutboundMessage } from '../../protocol/frames.ts';

/** Recipient and receipt number of delivery reports. */
export type DeliveryAddress = Pick<FramesToSend, 'reportTo' | 'receipt'>;

export interface OutboundFlowOptions {
  /** Queue length above which the session gets `output.blocked`, UTF-16 units. */
  readonly maxOutboundBytes: number;
  readonly report: Report<ActorFactName>;
}

/** The `view` of a writer's snapshot. */
export interface WriterView {
  readonly state: FlowState;
  /** Length of the queue, measured like {@link OutboundFlowOptions.maxOutboundBytes}. */
  readonly queuedBytes: number;
}

/** Destination of the output: the writer's access to its sink. */
export interface OutputTarget<T> {
  /** Accepts the item in any case. False: queue further items until {@link OutboundFlow.resume}. */
  take(item: T): boolean;
  /** Appends an item to the queue. Returns by how much the queue grew. */
  enqueue(queue: (T | undefined)[], item: T): number;
  /** Length of accepted output that has not left the process. */
  bufferedLength(): number;
  /** Calls back once all accepted output has left the process. Called only with an empty queue. */
  flush(done: () => void): void;
}

/**
 * `flowing`: output goes straight to the sink. `waiting`: it is queued until the sink has room.
 * `blocked`: the queue is too long, and the session knows. `ended`: output is discarded.
 */
export type FlowState = 'flowing' | 'waiting' | 'blocked' | 'ended';

export class OutboundFlow<T extends { readonly length: number }> {
  readonly #options: OutboundFlowOptions;
  readonly #owner: Recipient<TransportFact>;
  readonly #outlet: OutputTarget<T>;
  readonly #peerName: string;
  #state: FlowState = 'flowing';
  /** Queued items, from `#next` on; earlier entries are written and cleared. */
  #queue: (T | undefined)[] = [];
  #next = 0;
  #queued = 0;
  #written = 0;
  /** Callbacks to run once so much has been written, in order. */
  #awaiting: { readonly taken: number; callback(): void }[] | undefined = undefined;
  /** `asked`: the session waits for the queue to drain. */
  #flush: 'none' | 'asked' = 'none';
  /** Output written at the last stall check. */
  #writtenAtLastFlush: number | undefined = undefined;

  /** @param peerName who reads the output, as the subject of a sentence */
  constructor(
    options: OutboundFlowOptions,
    owner: Recipient<TransportFact>,
    outlet: OutputTarget<T>,
    peerName: string,
  ) {
    this.#options = options;
    this.#owner = owner;
    this.#outlet = outlet;
    this.#peerName = peerName;
  }

  get state(): FlowState {
    return this.#state;
  }

  /** Length of the queue. */
  get queued(): number {
    return this.#queued;
  }

  /** Writes or queues an item; discards it once the output has ended. */
  deliver(item: T): void {
    switch (this.#state) {
      case 'flowing':
        this.#written += item.length;
        // The output may just have failed, which is final.
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

  /** Calls back once everything delivered so far is written; never if the output ends first. */
  whenWritten(callback: () => void): void {
    if (this.#state === 'ended') return;
    if (this.#queued === 0) callback();
    else (this.#awaiting ??= []).push({ taken: this.#written + this.#queued, callback });
  }

  /** Writes queued items until the sink is full or the queue is empty. */
  resume(): void {
    let hasRoom = true;
    // Items delivered meanwhile are appended to the queue.
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
   * Reports `output.flushed` once everything has been written. If called because the stall timeout
   * has passed, reports `output.stalled` if nothing was written since the last call. Other calls,
   * such as a second shutdown, say nothing about elapsed time.
   */
  flush(after?: 'stallTimeout'): void {
    if (this.#state === 'ended') return this.#flushed();
    this.#flush = 'asked';
    if (this.#state === 'flowing') this.#flushOutlet();
    this.#checkStall(after);
  }

  /** Ends the output after an error, and notifies the session. */
  fail(error: unknown): void {
    if (this.#state === 'ended') return;
    this.stop();
    this.#options.report({
      level: 'info',
      name: 'output.broken',
      message: `${this.#peerName} cannot be written to: ${textOfError(error)}`,
    });
    this.#owner.send({ type: 'output.broken', error });
  }

  /** Ends the output and discards the queue. */
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
      message: `${this.#peerName} is not reading: ${this.#queued} bytes are queued; no request is started until they are read`,
    });
    this.#owner.send({ type: 'output.blocked' });
  }

  /** Removes and returns the head of the queue; undefined if empty. */
  #dequeue(): T | undefined {
    const item = this.#queue[this.#next];
    if (item === undefined) return undefined;
    this.#queue[this.#next++] = undefined;
    // Compacting costs amortized O(1) per item.
    if (this.#next * 2 >= this.#queue.length) {
      this.#queue = this.#queue.slice(this.#next);
      this.#next = 0;
    }
    this.#queued -= item.length;
    this.#written += item.length;
    return item;
  }

  /** The queue has drained. */
  #emptied(hasRoom: boolean): void {
    const before = this.#state;
    this.#state = hasRoom ? 'flowing' : 'waiting';
    if (before === 'blocked') {
      this.#options.report({
        level: 'info',
        name: 'output.flowing',
        message: `${this.#peerName} has read all queued output; requests are started again`,
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
      message: `${this.#peerName} is not reading: closing the session without sending the rest`,
    });
    this.#owner.send({ type: 'output.stalled' });
  }

  /** See the function {@link reportUnserializable}. */
  reportUnserializable(message: OutboundMessage, error: unknown, address: DeliveryAddress): void {
    reportUnserializable(this.#options.report, { message, error, address });
  }
}

/** Reports a message that is not JSON: to its sender if there is an address, else to the log. */
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
    message: `${what} cannot be encoded as JSON: ${textOfError(error)}`,
  });
}
