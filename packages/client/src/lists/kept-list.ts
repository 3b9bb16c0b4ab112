/** A cached list of a server, kept current for all its users. */
import { inspectOptions } from '../../../../src/actors/transitions.ts';
import { createActor } from 'xstate';
import type { ActorRefFrom, SnapshotFrom } from 'xstate';
import type { Clock } from '../../../../src/actors/clock.ts';
import { Listeners } from '../../../../src/actors/listeners.ts';
import { waitFor } from '../../../../src/actors/wait-for.ts';
import type { ActorFactName, Report } from '../../../../src/actors/facts.ts';
import type { MachineActor, ObservedScope } from '../../../../src/actors/transitions.ts';
import { stateName } from '../../../../src/machines/names.ts';
import type { CatalogInput, QuerySpacing, catalogMachine } from './catalog.machine.ts';
import { RuntimeError, textOfError } from '../../../../src/protocol/errors.ts';
import type { JsonObject } from '../../../../src/protocol/frames.ts';
import type { ListKind } from './list-kinds.ts';
import type { ListReport } from './list-results.ts';

/** Options for waiting for a list. */
export interface ListWait {
  /** Fetches the list even if it is cached. */
  readonly refresh?: boolean;
  /** Maximum wait, ms. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
}

export interface KeptListInput<T> extends QuerySpacing {
  readonly kind: ListKind;
  /** The machine with its `ask` actor. */
  readonly machine: typeof catalogMachine;
  /** Scope of the machine's actors. */
  readonly scope: object;
  readonly clock: Clock;
  readonly report: Report<ActorFactName>;
  /** The connection among whose machines the list is shown. */
  readonly observed: ObservedScope;
  readonly retryMs: number;
  readonly maxOvertaken: number;
  /** `reachable` if the server can be queried at the start. */
  readonly begins: CatalogInput['begins'];
  /** Called with the items each time the server has listed them. */
  readonly listed?: ((items: readonly T[]) => void) | undefined;
}

/** View of a list for dumps. */
export interface ListView {
  readonly name: string;
  /** State of its chart. */
  readonly state: string;
  readonly entries: number;
  readonly known: ListReport<never>['state'];
}

type Snapshot = SnapshotFrom<typeof catalogMachine>;

/** Report before the list is first needed. */
const unknownList: ListReport<never> = { items: [], state: 'asking' };

export class KeptList<T extends JsonObject> {
  readonly #kind: ListKind;
  readonly #clock: Clock;
  readonly #actor: ActorRefFrom<typeof catalogMachine>;
  readonly #listeners: Listeners<(report: ListReport<T>) => void>;
  readonly #waiting = new Set<(error: RuntimeError) => void>();
  readonly #listed: KeptListInput<T>['listed'];
  #report: ListReport<T> = unknownList;
  /** The error that ended all queries. */
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
      ...inspectOptions('catalog', observed),
    });
    this.#actor.subscribe((snapshot) => this.#publish(snapshot));
    this.#actor.start();
  }

  get machine(): MachineActor {
    return { machine: 'catalog', actor: this.#actor };
  }

  /** State for a dump. */
  get view(): ListView {
    const { items, state: known } = this.#report;
    const state = stateName(this.#actor.getSnapshot());
    return { name: this.#kind.name, state, entries: items.length, known };
  }

  /** The current report. */
  get report(): ListReport<T> {
    return this.#report;
  }

  /** End of the list's freshness, clock ms; Infinity if the server gives none. */
  get freshUntil(): number {
    return this.#actor.getSnapshot().context.catalog?.freshUntil ?? Infinity;
  }

  /**
   * The list, no older than the last announced change, and within the freshness given by the
   * server.
   *
   * @throws the server's error; {RuntimeError} CAPABILITY_MISSING if the server has no such list;
   *   REQUEST_TIMEOUT, CANCELLED, or the error that ended the connection
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
    // In these states `list.wanted` already sends a query, and `list.refresh` would send a second
    // one.
    const isAsked = !(['unknown', 'waiting', 'retrying'] as const).some((value) =>
      before.matches(value),
    );
    this.#actor.send({ type: 'list.wanted' });
    if (isOld || (wait.refresh === true && isAsked)) this.#actor.send({ type: 'list.refresh' });
    return this.#await(wait);
  }

  /** Listens to each report, and requests the list. Returns a function that stops listening. */
  watch(listener: (report: ListReport<T>) => void): () => void {
    const end = this.#listeners.add(listener);
    if (!this.#ended) this.#actor.send({ type: 'list.wanted' });
    return end;
  }

  /** Handles a change reported by the server. */
  invalidate(): void {
    this.#actor.send({ type: 'list.invalidate' });
  }

  /** Forwards the state of the channel; `list.forget`: earlier answers belong to another login. */
  channel(type: 'channel.opened' | 'channel.closed' | 'list.forget'): void {
    this.#actor.send({ type });
  }

  /** Fails all waiting callers. */
  refuse(error: RuntimeError): void {
    for (const fail of this.#waiting) fail(error);
  }

  /** Ends all queries and fails all waiting callers. */
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
        onTimeout: ({ reject }) => reject(this.#overdue(timeoutMs)),
        abortError: () => this.#cancelled(signal),
      },
      ({ resolve, reject }) => {
        /** Answers overtaken by changes are published too, so that no waiter starves. */
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
      : 'the server did not answer';
    const message = `The list of ${this.#kind.name} did not arrive within ${timeoutMs} ms: ${why}`;
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
    this.#listeners.notify((listener) => listener(next));
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
