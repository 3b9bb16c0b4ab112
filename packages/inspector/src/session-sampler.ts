/**
 * Samples the traffic of one session or connection while a page is open: during a flood, the first
 * events of each kind are kept and the rest counted. Only kept events are copied and redacted, so
 * the cost of a page does not grow with the traffic.
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
import { watchTransitions } from './state-changes.ts';
import type { Transition } from './state-changes.ts';
import {
  boundedJson,
  maxSummaryLength,
  problemIn,
  readInbound,
  readOutbound,
  truncateMethod,
  subjectIn,
} from './frame-reading.ts';
import type { ReadFrame } from './frame-reading.ts';
import type { Direction, FrameEvent, PageCall, PageEvent, Skipped } from './page-messages.ts';

/** Events kept per update. */
const maxEvents = 60;
const maxTransitions = 40;
/**
 * Token bucket per kind of event: its capacity, and the tokens added with each update. Bursts pass
 * whole; floods pass as a trickle.
 */
const bucketSize = 24;
const refill = 2;
/** Number of distinct kinds. */
const maxKinds = 60;
/** Total characters of frames per update. Later events are kept without their frame. */
const maxText = 128 * 1024;
/** Number of requests remembered to match their responses. */
const maxRequests = 2000;

const others = 'others';

/** Cached labels by method, because every response needs one; bounded. */
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
  /** Remaining tokens. */
  left: number;
  skipped: number;
}

interface TrackedRequest {
  readonly method: string;
  /** Undefined if the request was only counted. */
  readonly kept: KeptRequest | undefined;
}

interface KeptRequest extends Pick<FrameEvent, 'seq' | 'at'> {
  readonly about: Pick<FrameEvent, 'subject'>;
}

/** Observed streams of a session. */
interface Sampled {
  readonly traffic: Pick<WatchedSession['traffic'], 'listen'>;
  readonly transitions: Pick<WatchedSession['transitions'], 'listen'>;
}

/** Machines as numerous as messages, and therefore sampled like them. */
const numerous: ReadonlySet<string> = new Set(['task', 'stream']);
/** Machines with several instances per connection, named by actor id. */
const multipleInstances: ReadonlySet<string> = new Set(['catalog', 'listening', 'stream']);

export class SessionSampler {
  readonly #session: Sampled;
  #stop: (() => void) | undefined;
  #events: PageEvent[] = [];
  readonly #kinds = { in: new Map<string, Kind>(), out: new Map<string, Kind>() };
  #text = 0;
  #transitions = 0;
  #seq = 0;
  /** Unanswered requests of each direction, by id. */
  readonly #requests = {
    in: new BoundedMap<RequestId, TrackedRequest>(maxRequests),
    out: new BoundedMap<RequestId, TrackedRequest>(maxRequests),
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
        received: (frames) => this.#addFrames('in', frames, readInbound),
        sent: (frames) => this.#addFrames('out', frames, readOutbound),
      }),
      watchTransitions(transitions, (transition) => this.#addTransition(transition)),
    ];
    this.#stop = () => ends.forEach((end) => end());
  }

  /** Unsubscribes and discards everything. */
  stop(): void {
    this.#stop?.();
    this.#stop = undefined;
    this.take();
    for (const direction of ['in', 'out'] as const) {
      this.#kinds[direction].clear();
      this.#requests[direction].clear();
    }
    this.#causes.clear();
  }

  /**
   * Returns the unanswered requests in both directions, oldest first, as rows for a new viewer. A
   * request from before the first viewer has no frame, but its response will still refer to it.
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
    const method = truncateMethod(whole);
    const about = subject === undefined ? {} : { subject: redactText(subject, maxSummaryLength) };
    const known = this.#requests[direction].get(id)?.kept;
    const kept = known ?? { seq: ++this.#seq, at: Date.now() - ageMs, about };
    if (!known) this.#requests[direction].set(id, { method, kept });
    const { seq, at } = kept;
    const row = { kind: 'frame', seq, at, direction, what: 'request', method, id } as const;
    return { ...row, ...kept.about, frame: '' };
  }

  /** True if a machine outside {@link numerous} has moved since the last sample. */
  get hasMoved(): boolean {
    return this.#transitions > 0;
  }

  /** Returns the events kept since the last call. */
  take(): SessionSample {
    const skipped: Skipped[] = [];
    for (const kinds of [this.#kinds.in, this.#kinds.out]) {
      for (const [key, kind] of kinds) {
        const { direction, label, skipped: count } = kind;
        if (count > 0) skipped.push({ direction, label, count });
        kind.left += refill;
        kind.skipped = 0;
        // A full bucket equals a new one.
        if (kind.left >= bucketSize) kinds.delete(key);
      }
    }
    const events = this.#events;
    this.#events = [];
    this.#text = 0;
    this.#transitions = 0;
    return { events, skipped };
  }

  #addFrames<T extends InboundFrame | OutboundFrame>(
    direction: Direction,
    frames: readonly T[],
    read: (frame: T) => ReadFrame,
  ): void {
    for (const frame of frames) this.#addFrame(direction, read(frame));
  }

  #addFrame(direction: Direction, read: ReadFrame): void {
    const { what, id } = read;
    const isAnswer = what === 'result' || what === 'error';
    const asked = isAnswer ? this.#takeRequest(direction, id) : undefined;
    const method = asked?.method ?? read.method;
    const label = isAnswer ? answerLabel(method) : (method ?? what);
    // Always keep the response to a kept request.
    const request = asked?.kept;
    const seq = this.#number(direction, label, request !== undefined);
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

  /** Assigns a number to an event to keep; undefined if it is only counted. */
  #number(direction: Direction, label: string, isWanted: boolean): number | undefined {
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
    // The peer can choose any method names: kinds beyond the bound share one counter.
    if (kinds.size >= maxKinds && label !== others) return this.#kind(direction, others);
    const kind = { direction, label, left: bucketSize, skipped: 0 };
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
      this.#requests[direction].set(id, { method, kept });
      if (direction === 'out') this.#causes.requestSent(method);
    }
    if (direction === 'out') return;
    if (what === 'result' || what === 'error') this.#causes.responseReceived(method, kept?.seq);
    else this.#causes.received(method, kept?.seq, task);
  }

  #takeRequest(direction: Direction, id: RequestId | undefined): TrackedRequest | undefined {
    if (id === undefined) return undefined;
    const asked = this.#requests[direction === 'in' ? 'out' : 'in'];
    const request = asked.get(id);
    asked.delete(id);
    return request;
  }

  #addTransition({ machine, actor, from, to, cause, event }: Transition): void {
    const seq = this.#numberTransition(machine);
    if (seq === undefined) return;
    const task = machine === 'task' ? { task: actor.id } : {};
    const name = multipleInstances.has(machine) ? actor.id : machine;
    const causedBy = this.#causes.find(name, cause, task.task);
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

  #numberTransition(machine: string): number | undefined {
    const label = `transitions of ${machine}`;
    if (numerous.has(machine)) return this.#number('in', label, false);
    this.#transitions += 1;
    if (this.#transitions > maxTransitions) {
      this.#kind('in', label).skipped += 1;
      return undefined;
    }
    this.#seq += 1;
    return this.#seq;
  }
}
