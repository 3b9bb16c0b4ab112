/** One list of a server, kept as new as the server says, for all who want it. */
import { createActor } from 'xstate';
import type { ActorRefFrom, SnapshotFrom } from 'xstate';
import type { Clock } from '../../actors/clock.ts';
import { Listeners } from '../../actors/listeners.ts';
import { waitFor } from '../../actors/waiting.ts';
import type { ActorFactName, Report } from '../../actors/facts.ts';
import type { MachineActor } from '../../actors/transitions.ts';
import { stateName } from '../../machines/state-name.ts';
import type {
  CatalogChannel,
  QuerySpacing,
  catalogMachine,
} from '../../machines/catalog.machine.ts';
import { RuntimeError, textOfError } from '../../protocol/errors.ts';
import type { JsonObject } from '../../protocol/frames.ts';
import type { ListKind } from './list-kinds.ts';
import type { ListReport } from './offered.ts';

/** How a list is asked for by one who waits. */
export interface ListWait {
  /** Asks the server, whatever is known. */
  readonly refresh?: boolean;
  /** How long to wait at most, milliseconds. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
}

export interface KeptListInput extends QuerySpacing {
  readonly kind: ListKind;
  /** With its `ask`. */
  readonly machine: typeof catalogMachine;
  /** For the machine's actors. */
  readonly scope: object;
  readonly clock: Clock;
  readonly report: Report<ActorFactName>;
  readonly retryMs: number;
  readonly maxOvertaken: number;
  readonly channel: CatalogChannel;
}

/** One list at one moment. */
export interface ListView {
  readonly name: string;
  /** Of its chart. */
  readonly state: string;
  readonly entries: number;
  readonly known: ListReport<never>['state'];
}

type Snapshot = SnapshotFrom<typeof catalogMachine>;

/** A list as long as nobody has wanted it. */
const unknownList: ListReport<never> = { items: [], state: 'asking' };

export class KeptList<T extends JsonObject> {
  readonly #kind: ListKind;
  readonly #clock: Clock;
  readonly #actor: ActorRefFrom<typeof catalogMachine>;
  readonly #listeners: Listeners<(report: ListReport<T>) => void>;
  readonly #waiting = new Set<(error: RuntimeError) => void>();
  #report: ListReport<T> = unknownList;
  /** Why no answer can come any more. */
  #ended: RuntimeError | undefined = undefined;

  constructor(input: KeptListInput) {
    const { kind, machine, clock, ...rest } = input;
    this.#kind = kind;
    this.#clock = clock;
    this.#listeners = new Listeners(`A listener to the server's ${kind.name}`, input.report);
    this.#actor = createActor(machine, {
      id: `${kind.name} list`,
      input: { ...rest, name: kind.name },
      clock,
    });
    this.#actor.subscribe((snapshot) => this.#publish(snapshot));
    this.#actor.start();
  }

  get machine(): MachineActor {
    return { machine: 'catalog', actor: this.#actor };
  }

  /** How it stands, for a dump. */
  get view(): ListView {
    const { items, state: known } = this.#report;
    const state = stateName(this.#actor.getSnapshot());
    return { name: this.#kind.name, state, entries: items.length, known };
  }

  /** What is known now. */
  get report(): ListReport<T> {
    return this.#report;
  }

  /**
   * The list, not older than the last change that the server has told, nor than the time for which
   * it has called it fresh.
   *
   * @throws what the server has answered; {RuntimeError} CAPABILITY_MISSING if it has no such list;
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
    // What is asked for anew by being wanted must not be asked for twice.
    const isAsked = !(['unknown', 'waiting', 'retrying'] as const).some((value) =>
      before.matches(value),
    );
    this.#actor.send({ type: 'list.wanted' });
    if (isOld || (wait.refresh === true && isAsked)) this.#actor.send({ type: 'list.refresh' });
    return this.#await(wait);
  }

  /** Hears each report; makes the list be asked for. Returns what ends that. */
  watch(listener: (report: ListReport<T>) => void): () => void {
    const end = this.#listeners.add(listener);
    if (!this.#ended) this.#actor.send({ type: 'list.wanted' });
    return end;
  }

  /** The list has changed, as the server says. */
  invalidate(): void {
    if (!this.#ended) this.#actor.send({ type: 'list.invalidate' });
  }

  /** Whether the server can be asked; `list.forget`: what it has said was for somebody else. */
  channel(type: 'channel.opened' | 'channel.closed' | 'list.forget'): void {
    if (!this.#ended) this.#actor.send({ type });
  }

  /** Nobody who waits gets an answer any more. */
  refuse(error: RuntimeError): void {
    for (const fail of this.#waiting) fail(error);
  }

  /** Nothing is asked any more. */
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
        /** What was overtaken again and again is published too: nobody starves. */
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
    this.#listeners.tell((listener) => listener(next));
  }
}

function reportOf<T>(snapshot: Snapshot): ListReport<T> {
  const { catalog } = snapshot.context;
  if (!catalog) return unknownList;
  const items = catalog.items as readonly T[];
  const why = catalog.status === 'failed' ? failureOf(catalog.error) : catalog.reason;
  const reason = why === undefined ? {} : { reason: why };
  if (snapshot.matches('known')) return { items, state: 'known', ...reason };
  if (snapshot.matches('unavailable')) return { items, state: 'unsupported', ...reason };
  if (items.length > 0 || catalog.status === 'known') return { items, state: 'stale', ...reason };
  return snapshot.matches('retrying')
    ? { items, state: 'failed', ...reason }
    : { items, state: 'asking', ...reason };
}

function failureOf(error: unknown): string {
  return textOfError(error instanceof Error ? error.message : error);
}
