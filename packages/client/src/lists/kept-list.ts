/** One list of a server, kept current for all who need it. */
import { inspectedAs } from '../../../../src/actors/transitions.ts';
import { createActor } from 'xstate';
import type { ActorRefFrom, SnapshotFrom } from 'xstate';
import type { Clock } from '../../../../src/actors/clock.ts';
import { Listeners } from '../../../../src/actors/listeners.ts';
import { waitFor } from '../../../../src/actors/waiting.ts';
import type { ActorFactName, Report } from '../../../../src/actors/facts.ts';
import type { MachineActor, ObservedScope } from '../../../../src/actors/transitions.ts';
import { stateName } from '../../../../src/machines/names.ts';
import type { CatalogInput, QuerySpacing, catalogMachine } from './catalog.machine.ts';
import { RuntimeError, textOfError } from '../../../../src/protocol/errors.ts';
import type { JsonObject } from '../../../../src/protocol/frames.ts';
import type { ListKind } from './list-kinds.ts';
import type { ListReport } from './list-results.ts';

/** How a caller waits for a list. */
export interface ListWait {
  /** Asks the server even if the list is known. */
  readonly refresh?: boolean;
  /** The longest wait, milliseconds. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
}

export interface KeptListInput<T> extends QuerySpacing {
  readonly kind: ListKind;
  /** The machine with its `ask`. */
  readonly machine: typeof catalogMachine;
  /** For the machine's actors. */
  readonly scope: object;
  readonly clock: Clock;
  readonly report: Report<ActorFactName>;
  /** The connection among whose machines the list is shown. */
  readonly observed: ObservedScope;
  readonly retryMs: number;
  readonly maxOvertaken: number;
  /** Whether the server is there. */
  readonly begins: CatalogInput['begins'];
  /** Called with the items each time the server has listed them. */
  readonly listed?: ((items: readonly T[]) => void) | undefined;
}

/** One list at one moment. */
export interface ListView {
  readonly name: string;
  /** The state of its chart. */
  readonly state: string;
  readonly entries: number;
  readonly known: ListReport<never>['state'];
}

type Snapshot = SnapshotFrom<typeof catalogMachine>;

/** The report before the list is first needed. */
const unknownList: ListReport<never> = { items: [], state: 'asking' };

export class KeptList<T extends JsonObject> {
  readonly #kind: ListKind;
  readonly #clock: Clock;
  readonly #actor: ActorRefFrom<typeof catalogMachine>;
  readonly #listeners: Listeners<(report: ListReport<T>) => void>;
  readonly #waiting = new Set<(error: RuntimeError) => void>();
  readonly #listed: KeptListInput<T>['listed'];
  #report: ListReport<T> = unknownList;
  /** Why no more answers can come. */
  #ended: RuntimeError | undefined = undefined;

  constructor(input: KeptListInput<T>) {
    const { kind, machine, clock, listed, observed, ...rest } = input;
    this.#kind = kind;
    this.#clock = clock;
    this.#listed = listed;
    this.#listeners = new Listeners(`A listener to the server's ${kind.name}`, input.report);
    this.#actor = createActor(machine, {
      id: `${kind.name} list`,
      input: { ...rest, name: kind.name },
      clock,
      ...inspectedAs('catalog', observed),
    });
    this.#actor.subscribe((snapshot) => this.#publish(snapshot));
    this.#actor.start();
  }

  get machine(): MachineActor {
    return { machine: 'catalog', actor: this.#actor };
  }

  /** Its state, for a dump. */
  get view(): ListView {
    const { items, state: known } = this.#report;
    const state = stateName(this.#actor.getSnapshot());
    return { name: this.#kind.name, state, entries: items.length, known };
  }

  /** What is known now. */
  get report(): ListReport<T> {
    return this.#report;
  }

  /** When it stops being fresh, the clock's milliseconds; Infinity if the server says nothing. */
  get freshUntil(): number {
    return this.#actor.getSnapshot().context.catalog?.freshUntil ?? Infinity;
  }

  /**
   * The list, not older than the last change that the server announced, and not past the time for
   * which the server called it fresh.
   *
   * @throws the server's error; {RuntimeError} CAPABILITY_MISSING if it has no such list;
   *   REQUEST_TIMEOUT, CANCELLED, or why the connection has ended
   */
  items(wait: ListWait): Promise<readonly T[]> {
    if (this.#ended) return Promise.reject(this.#ended);
    if (wait.signal?.aborted) return Promise.reject(this.#cancelled(wait.signal));
    const before = this.#actor.getSnapshot();
    const freshUntil = before.context.catalog?.freshUntil ?? Infinity;
    const isKnown = before.matches('known');
    const isOld = isKnown && this.#clock.now() >= freshUntil;
    if (isKnown && !isOld && wait.refresh !== true) {
      return new Promise((resolve, reject) => this.#settle(before, resolve, reject));
    }
    // In these states `list.wanted` sends a query already, and `list.refresh` would send a second
    // one.
    const isAsked = !(['unknown', 'waiting', 'retrying'] as const).some((value) =>
      before.matches(value),
    );
    this.#actor.send({ type: 'list.wanted' });
    if (isOld || (wait.refresh === true && isAsked)) this.#actor.send({ type: 'list.refresh' });
    return this.#await(wait);
  }

  /**
   * Listens to each report, and makes the list be queried. Returns a function that stops listening.
   */
  watch(listener: (report: ListReport<T>) => void): () => void {
    const end = this.#listeners.add(listener);
    if (!this.#ended) this.#actor.send({ type: 'list.wanted' });
    return end;
  }

  /** The server says that the list has changed. */
  invalidate(): void {
    this.#actor.send({ type: 'list.invalidate' });
  }

  /** Whether the server can be asked; `list.forget`: its earlier answers were for another login. */
  channel(type: 'channel.opened' | 'channel.closed' | 'list.forget'): void {
    this.#actor.send({ type });
  }

  /** Everyone who waits gets this error. */
  refuse(error: RuntimeError): void {
    for (const fail of this.#waiting) fail(error);
  }

  /** No more queries are sent. */
  end(error: RuntimeError): void {
    this.#ended = error;
    this.#actor.stop();
    this.refuse(error);
  }

  #await({ timeoutMs, signal }: ListWait): Promise<readonly T[]> {
    const since = this.#actor.getSnapshot().context.catalog?.generation;
    return waitFor(
      {
        ...{ clock: this.#clock, timeoutMs, signal },
        overdue: ({ reject }) => reject(this.#overdue(timeoutMs)),
        cancelled: () => this.#cancelled(signal),
      },
      ({ resolve, reject }) => {
        /**
         * Answers that are overtaken again and again are published too, so that no waiter starves.
         */
        const look = (snapshot: Snapshot): void => {
          const { catalog } = snapshot.context;
          if (!catalog || !(snapshot.hasTag('settled') || catalog.generation !== since)) return;
          this.#settle(snapshot, resolve, reject);
        };
        const subscription = this.#actor.subscribe(look);
        this.#waiting.add(reject);
        look(this.#actor.getSnapshot());
        return () => {
          subscription.unsubscribe();
          this.#waiting.delete(reject);
        };
      },
    );
  }

  #settle(
    { context }: Snapshot,
    resolve: (items: readonly T[]) => void,
    reject: (error: Error) => void,
  ): void {
    const { catalog } = context;
    if (catalog?.status === 'known') resolve(catalog.items as readonly T[]);
    else if (catalog?.status === 'failed') reject(catalog.error as Error);
    else reject(new RuntimeError('CAPABILITY_MISSING', catalog?.reason ?? ''));
  }

  #overdue(timeoutMs: number): RuntimeError {
    const why = this.#actor.getSnapshot().matches('waiting')
      ? 'there was no connection to the server'
      : 'the server has not answered';
    const message = `The list of ${this.#kind.name} did not come within ${timeoutMs} ms: ${why}`;
    return new RuntimeError('REQUEST_TIMEOUT', message);
  }

  #cancelled(signal: AbortSignal | undefined): RuntimeError {
    const message = `Waiting for the list of ${this.#kind.name} was cancelled`;
    return new RuntimeError('CANCELLED', message, { cause: signal?.reason });
  }

  #publish(snapshot: Snapshot): void {
    const next = reportOf<T>(snapshot);
    const { items, state, reason } = this.#report;
    if (next.items === items && next.state === state && next.reason === reason) return;
    this.#report = next;
    if (next.items !== items) this.#listed?.(next.items);
    this.#listeners.tell((listener) => listener(next));
  }
}

function reportOf<T>(snapshot: Snapshot): ListReport<T> {
  const { catalog } = snapshot.context;
  if (!catalog) return unknownList;
  const items = catalog.items as readonly T[];
  const why =
    catalog.status === 'failed' ? textOfError((catalog.error as Error).message) : catalog.reason;
  const reason = why === undefined ? {} : { reason: why };
  if (snapshot.matches('known')) return { items, state: 'known', ...reason };
  if (snapshot.matches('unavailable')) return { items, state: 'unsupported', ...reason };
  if (items.length > 0 || catalog.status === 'known') return { items, state: 'stale', ...reason };
  return snapshot.matches('retrying')
    ? { items, state: 'failed', ...reason }
    : { items, state: 'asking', ...reason };
}
