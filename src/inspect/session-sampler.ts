/**
 * Listens to one session while a page is open, and keeps a sample of what passes: of a flood, the first few of each kind, with the count
 * of the rest. Only what is kept is copied and redacted, so that a page costs the same whatever the traffic.
 */
import type { InboundFrame, OutboundFrame, RequestId } from '../protocol/frames.ts';
import type { WatchedSession } from '../server/create-server.ts';
import { readableEvent } from '../machines/xstate-events.ts';
import { Causes } from './causes.ts';
import { watchTransitions } from './gate.ts';
import type { Transition } from './gate.ts';
import { boundedJson, readInbound, readOutbound } from './frame-reading.ts';
import type { ReadFrame } from './frame-reading.ts';
import type { Direction, PageEvent, Skipped } from './page-messages.ts';

/** What is kept between two updates. */
const maxEvents = 60;
const maxTransitions = 40;
/** Of one kind so many at once, and so many more with each update: a burst is kept whole, of a flood a trickle. */
const allowance = 24;
const refill = 2;
/** Kinds that are told apart. */
const maxKinds = 60;
/** Characters of all frames together; past it an event is kept without its frame. */
const maxText = 128 * 1024;
/** Requests whose answers are recognized. */
const maxRequests = 2000;

const others = 'others';

export interface Sample {
  readonly events: readonly PageEvent[];
  readonly skipped: readonly Skipped[];
}

interface Kind {
  readonly direction: Direction;
  readonly label: string;
  /** How many more are kept. */
  left: number;
  skipped: number;
}

interface AskedBefore {
  readonly method: string;
  /** Undefined where the request was only counted. */
  readonly seq: number | undefined;
}

export class SessionSampler {
  readonly #session: Pick<WatchedSession, 'actor' | 'traffic'>;
  #stop: (() => void) | undefined;
  #events: PageEvent[] = [];
  readonly #kinds = new Map<string, Kind>();
  #text = 0;
  #transitions = 0;
  #seq = 0;
  /** By direction and id: what was asked, until it is answered. */
  readonly #asked = new Map<string, AskedBefore>();
  readonly #causes = new Causes();

  constructor(session: Pick<WatchedSession, 'actor' | 'traffic'>) {
    this.#session = session;
  }

  start(): void {
    if (this.#stop) return;
    const { actor, traffic } = this.#session;
    const ends = [
      traffic.listen({
        received: (frames) => frames.forEach((frame) => this.#received(frame)),
        sent: (frames) => frames.forEach((frame) => this.#sent(frame)),
      }),
      watchTransitions(actor, (transition) => this.#moved(transition)),
    ];
    this.#stop = () => ends.forEach((end) => end());
  }

  /** Listens no more, and forgets. */
  stop(): void {
    this.#stop?.();
    this.#stop = undefined;
    this.take();
    this.#kinds.clear();
    this.#asked.clear();
    this.#causes.clear();
  }

  /** What was kept since it was last taken. */
  take(): Sample {
    const skipped = [...this.#kinds.values()]
      .filter(({ skipped }) => skipped > 0)
      .map(({ direction, label, skipped: count }) => ({ direction, label, count }));
    const events = this.#events;
    this.#events = [];
    for (const [key, kind] of this.#kinds) {
      kind.left += refill;
      kind.skipped = 0;
      // As good as new.
      if (kind.left >= allowance) this.#kinds.delete(key);
    }
    this.#text = 0;
    this.#transitions = 0;
    return { events, skipped };
  }

  #received(frame: InboundFrame): void {
    this.#frame('in', readInbound(frame));
  }

  #sent(frame: OutboundFrame): void {
    this.#frame('out', readOutbound(frame));
  }

  #frame(direction: Direction, read: ReadFrame): void {
    const { what, id } = read;
    const isAnswer = what === 'result' || what === 'error';
    const asked = isAnswer ? this.#answered(direction, id) : undefined;
    const method = asked?.method ?? read.method;
    const label = isAnswer ? `answer to ${method ?? 'a request'}` : (method ?? what);
    // The answer to what is kept is kept too.
    const seq = this.#place(direction, label, asked?.seq !== undefined);
    if (method !== undefined) this.#remember(direction, read, method, seq);
    if (seq === undefined) return;
    const text = this.#text < maxText ? boundedJson(read.message()) : '';
    this.#text += text.length;
    this.#events.push({
      kind: 'frame',
      seq,
      at: Date.now(),
      direction,
      what,
      ...(method === undefined ? {} : { method }),
      ...(id === undefined ? {} : { id }),
      ...(asked?.seq === undefined ? {} : { answers: asked.seq }),
      frame: text,
    });
  }

  /** The number of an event that is kept; undefined for one that is only counted. */
  #place(direction: Direction, label: string, isWanted: boolean): number | undefined {
    const kind = this.#kind(direction, label);
    const room = this.#events.length < (isWanted ? 2 * maxEvents : maxEvents);
    if (room && (isWanted || kind.left > 0)) {
      kind.left -= 1;
      this.#seq += 1;
      return this.#seq;
    }
    kind.skipped += 1;
    return undefined;
  }

  #kind(direction: Direction, label: string): Kind {
    const key = `${direction} ${label}`;
    const known = this.#kinds.get(key);
    if (known) return known;
    // Labels are the peer's to choose: those past the bound are counted together.
    if (this.#kinds.size >= maxKinds && label !== others) return this.#kind(direction, others);
    const kind = { direction, label, left: allowance, skipped: 0 };
    this.#kinds.set(key, kind);
    return kind;
  }

  #remember(
    direction: Direction,
    { what, id }: ReadFrame,
    method: string,
    seq: number | undefined,
  ): void {
    if (what === 'request' && id !== undefined) {
      this.#ask(direction, id, { method, seq });
      if (direction === 'out') this.#causes.asked(method);
    }
    if (direction === 'out') return;
    if (what === 'result' || what === 'error') this.#causes.answered(method, seq);
    else this.#causes.received(method, seq);
  }

  #ask(direction: Direction, id: RequestId, asked: AskedBefore): void {
    if (this.#asked.size >= maxRequests) {
      for (const oldest of this.#asked.keys()) {
        this.#asked.delete(oldest);
        break;
      }
    }
    this.#asked.set(askedKey(direction, id), asked);
  }

  #answered(direction: Direction, id: RequestId | undefined): AskedBefore | undefined {
    if (id === undefined) return undefined;
    const key = askedKey(direction === 'in' ? 'out' : 'in', id);
    const asked = this.#asked.get(key);
    this.#asked.delete(key);
    return asked;
  }

  #moved({ machine, from, to, event }: Transition): void {
    this.#transitions += 1;
    if (this.#transitions > maxTransitions) {
      this.#kind('in', `transitions of ${machine}`).skipped += 1;
      return;
    }
    this.#seq += 1;
    const type = String(event['type']);
    const causedBy = this.#causes.of(machine, type);
    this.#events.push({
      kind: 'transition',
      seq: this.#seq,
      at: Date.now(),
      machine,
      ...(from === undefined ? {} : { from }),
      to,
      cause: readableEvent(type),
      ...(causedBy === undefined ? {} : { causedBy }),
      event: boundedJson(event),
    });
  }
}

/** `1` and `"1"` are different ids. */
function askedKey(direction: Direction, id: RequestId): string {
  return `${direction} ${typeof id} ${id}`;
}
