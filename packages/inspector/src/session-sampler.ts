/**
 * Listens to one session or connection while a page is open and samples what passes: of a flood, it keeps the
 * first few events of each kind and counts the rest. Only events that it keeps are copied and
 * redacted, so that a page costs the same whatever the traffic.
 */
import type {
  InboundFrame,
  OutboundFrame,
  RequestId,
  SessionDump,
  WatchedSession,
} from 'mcp-actors';
import type { ConnectionDump } from 'mcp-actors/client';
import { BoundedMap, redactText } from 'mcp-actors/internal';
import { readableEvent } from './charts/readable-event.ts';
import { Causes } from './causes.ts';
import { watchTransitions } from './gate.ts';
import type { Transition } from './gate.ts';
import {
  boundedJson,
  maxWords,
  problemIn,
  readInbound,
  readOutbound,
  shortened,
  subjectIn,
} from './frame-reading.ts';
import type { ReadFrame } from './frame-reading.ts';
import type { Direction, FrameEvent, PageCall, PageEvent, Skipped } from './page-messages.ts';

/** How many events are kept between two updates. */
const maxEvents = 60;
const maxTransitions = 40;
/**
 * How many events of one kind are kept at once, and how many more with each update: of a burst
 * all, of a flood a trickle.
 */
const allowance = 24;
const refill = 2;
/** How many kinds are told apart. */
const maxKinds = 60;
/** Characters of all frames together. Past this, an event is kept without its frame. */
const maxText = 128 * 1024;
/** How many requests are remembered, to recognise their answers. */
const maxRequests = 2000;

const others = 'others';

/** Labels by method, kept because every answer needs one; a bounded number. */
const answerLabels = new Map<string | undefined, string>();

function answerLabel(method: string | undefined): string {
  const known = answerLabels.get(method);
  if (known !== undefined) return known;
  const label = `answer to ${method ?? 'a request'}`;
  if (answerLabels.size < maxKinds) answerLabels.set(method, label);
  return label;
}

export interface SessionSample {
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
  /** Undefined if the request was only counted. */
  readonly kept: KeptRequest | undefined;
}

interface KeptRequest extends Pick<FrameEvent, 'seq' | 'at'> {
  readonly about: Pick<FrameEvent, 'subject'>;
}

/** What is listened to. */
interface Sampled {
  readonly traffic: Pick<WatchedSession['traffic'], 'listen'>;
  readonly transitions: Pick<WatchedSession['transitions'], 'listen'>;
}

/** There may be as many of these as messages. */
const numerous: ReadonlySet<string> = new Set(['task', 'stream']);
/** Of these a connection has several: each goes by the id of its actor. */
const several: ReadonlySet<string> = new Set(['catalog', 'listening', 'stream']);

export class SessionSampler {
  readonly #session: Sampled;
  #stop: (() => void) | undefined;
  #events: PageEvent[] = [];
  readonly #kinds = { in: new Map<string, Kind>(), out: new Map<string, Kind>() };
  #text = 0;
  #transitions = 0;
  #seq = 0;
  /** The unanswered requests of each direction, by id. */
  readonly #asked = {
    in: new BoundedMap<RequestId, AskedBefore>(maxRequests),
    out: new BoundedMap<RequestId, AskedBefore>(maxRequests),
  };
  readonly #causes = new Causes();

  constructor(session: Sampled) {
    this.#session = session;
  }

  start(): void {
    if (this.#stop) return;
    const { traffic, transitions } = this.#session;
    const ends = [
      traffic.listen({
        received: (frames) => this.#all('in', frames, readInbound),
        sent: (frames) => this.#all('out', frames, readOutbound),
      }),
      watchTransitions(transitions, (transition) => this.#moved(transition)),
    ];
    this.#stop = () => ends.forEach((end) => end());
  }

  /** Stops listening and forgets everything. */
  stop(): void {
    this.#stop?.();
    this.#stop = undefined;
    this.take();
    for (const direction of ['in', 'out'] as const) {
      this.#kinds[direction].clear();
      this.#asked[direction].clear();
    }
    this.#causes.clear();
  }

  /**
   * The unanswered requests in both directions, oldest first, as rows for a new viewer. A request
   * from before the first viewer has no frame, but its answer will still refer to it.
   */
  unanswered({
    pending,
    calls,
  }: Pick<SessionDump | ConnectionDump, 'pending' | 'calls'>): readonly PageEvent[] {
    const asked = [
      ...pending.flatMap((each) => (each.state === 'sent' ? this.#open('out', each) : [])),
      ...calls.flatMap((each) =>
        each.taskId === undefined && each.state !== 'suspended' ? this.#open('in', each) : [],
      ),
    ];
    return asked.toSorted((a, b) => a.at - b.at).slice(-maxEvents);
  }

  #open(
    direction: Direction,
    { id, method: whole, ageMs, subject }: Pick<PageCall, 'id' | 'method' | 'ageMs' | 'subject'>,
  ): FrameEvent {
    const method = shortened(whole);
    const about = subject === undefined ? {} : { subject: redactText(subject, maxWords) };
    const known = this.#asked[direction].get(id)?.kept;
    const kept = known ?? { seq: ++this.#seq, at: Date.now() - ageMs, about };
    if (!known) this.#asked[direction].set(id, { method, kept });
    const { seq, at } = kept;
    const row = { kind: 'frame', seq, at, direction, what: 'request', method, id } as const;
    return { ...row, ...kept.about, frame: '' };
  }

  /** Whether a machine, other than the numerous ones, has moved since the sample was last taken. */
  get hasMoved(): boolean {
    return this.#transitions > 0;
  }

  /** Takes what was kept since the last time. */
  take(): SessionSample {
    const skipped: Skipped[] = [];
    for (const kinds of [this.#kinds.in, this.#kinds.out]) {
      for (const [key, kind] of kinds) {
        const { direction, label, skipped: count } = kind;
        if (count > 0) skipped.push({ direction, label, count });
        kind.left += refill;
        kind.skipped = 0;
        // The same as a new one.
        if (kind.left >= allowance) kinds.delete(key);
      }
    }
    const events = this.#events;
    this.#events = [];
    this.#text = 0;
    this.#transitions = 0;
    return { events, skipped };
  }

  #all<T extends InboundFrame | OutboundFrame>(
    direction: Direction,
    frames: readonly T[],
    read: (frame: T) => ReadFrame,
  ): void {
    for (const frame of frames) this.#frame(direction, read(frame));
  }

  #frame(direction: Direction, read: ReadFrame): void {
    const { what, id } = read;
    const isAnswer = what === 'result' || what === 'error';
    const asked = isAnswer ? this.#answered(direction, id) : undefined;
    const method = asked?.method ?? read.method;
    const label = isAnswer ? answerLabel(method) : (method ?? what);
    // The answer to a kept request is kept too.
    const request = asked?.kept;
    const seq = this.#place(direction, label, request !== undefined);
    if (seq === undefined) {
      if (method !== undefined) this.#remember(direction, read, method, undefined);
      return;
    }
    const [at, message] = [Date.now(), read.message()];
    const about = { ...(request?.about ?? subjectIn(message)), ...problemIn(message) };
    if (method !== undefined) this.#remember(direction, read, method, { seq, at, about });
    const text = this.#text < maxText ? boundedJson(message) : '';
    this.#text += text.length;
    this.#events.push({
      kind: 'frame',
      seq,
      at,
      direction,
      what,
      ...(method === undefined ? {} : { method }),
      ...(id === undefined ? {} : { id }),
      ...about,
      ...(request ? { answers: request.seq, tookMs: at - request.at } : {}),
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
    const kinds = this.#kinds[direction];
    const known = kinds.get(label);
    if (known) return known;
    // The peer may choose any labels: those past the bound are counted together.
    if (kinds.size >= maxKinds && label !== others) return this.#kind(direction, others);
    const kind = { direction, label, left: allowance, skipped: 0 };
    kinds.set(label, kind);
    return kind;
  }

  #remember(
    direction: Direction,
    { what, id, task }: ReadFrame,
    method: string,
    kept: KeptRequest | undefined,
  ): void {
    if (what === 'request' && id !== undefined) {
      this.#asked[direction].set(id, { method, kept });
      if (direction === 'out') this.#causes.asked(method);
    }
    if (direction === 'out') return;
    if (what === 'result' || what === 'error') this.#causes.answered(method, kept?.seq);
    else this.#causes.received(method, kept?.seq, task);
  }

  #answered(direction: Direction, id: RequestId | undefined): AskedBefore | undefined {
    if (id === undefined) return undefined;
    const asked = this.#asked[direction === 'in' ? 'out' : 'in'];
    const request = asked.get(id);
    asked.delete(id);
    return request;
  }

  #moved({ machine, actor, from, to, cause, event }: Transition): void {
    const seq = this.#placeOfMove(machine);
    if (seq === undefined) return;
    const task = machine === 'task' ? { task: actor.id } : {};
    const name = several.has(machine) ? actor.id : machine;
    const causedBy = this.#causes.of(name, cause, task.task);
    this.#events.push({
      kind: 'transition',
      seq,
      at: Date.now(),
      machine: name,
      ...task,
      from,
      to,
      cause: readableEvent(cause),
      ...(causedBy === undefined ? {} : { causedBy }),
      event: boundedJson(event()),
    });
  }

  #placeOfMove(machine: string): number | undefined {
    const label = `transitions of ${machine}`;
    if (numerous.has(machine)) return this.#place('in', label, false);
    this.#transitions += 1;
    if (this.#transitions > maxTransitions) {
      this.#kind('in', label).skipped += 1;
      return undefined;
    }
    this.#seq += 1;
    return this.#seq;
  }
}
