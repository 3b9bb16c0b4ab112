/**
 * Chart of a server slot for watchers: next to its connection, or alone if the server is idle,
 * disabled, or failed before connecting.
 */
import { createActor } from 'xstate';
import type { Actor } from 'xstate';
import type { Clock } from '../../../../src/actors/clock.ts';
import type { Report } from '../../../../src/actors/facts.ts';
import { Transitions } from '../../../../src/actors/transitions.ts';
import type { ConnectionDump } from '../../../diagnostics/src/connection-dump.ts';
import { dumpActor } from '../../../diagnostics/src/peer-dump.ts';
import { serverSlotMachine } from './server-slot.machine.ts';
import type { ServerSlotEvent, ServerSlotInput } from './server-slot.machine.ts';
import type { ConnectionWatcher, WatchedConnection } from '../connection/watched-connection.ts';
import type { ServerStatus } from './server-reports.ts';

export class SlotChart {
  readonly #actor: Actor<typeof serverSlotMachine>;
  readonly #report: Report;
  #transitions: Transitions | undefined = undefined;

  constructor(begins: ServerSlotInput['begins'], report: Report) {
    this.#report = report;
    this.#actor = createActor(serverSlotMachine, { id: 'slot', input: { begins } }).start();
  }

  get state() {
    return this.#actor.getSnapshot().value;
  }

  /** Reason for having no connection, after a refusal. */
  get error(): Error | undefined {
    return this.#actor.getSnapshot().context.error;
  }

  send(event: ServerSlotEvent): void {
    this.#actor.send(event);
  }

  /** Wraps watchers so that they see this chart as one of the connection's. */
  shownTo(
    watchers: readonly ConnectionWatcher[],
    id: string | undefined,
  ): readonly ConnectionWatcher[] {
    const own = this.#listened();
    const beside = (watched: WatchedConnection): WatchedConnection => ({
      ...watched,
      ...(id === undefined ? {} : { id }),
      dump: () => {
        const dump = watched.dump();
        return { ...dump, id: id ?? dump.id, actors: [...dump.actors, this.#dumped()] };
      },
      transitions: {
        listen: (listener) => {
          const ends = [watched.transitions.listen(listener), own.listen(listener)];
          return () => ends.forEach((end) => end());
        },
      },
    });
    return watchers.map((watch) => (watched) => watch(beside(watched)));
  }

  /** Watched view of the server without a connection. */
  alone(
    { id, name, clock }: { readonly id: string; readonly name: string; readonly clock: Clock },
    status: () => { readonly status: ServerStatus; readonly since: number },
    closed: Promise<undefined>,
  ): WatchedConnection {
    const startedAt = clock.now();
    const dump = (): ConnectionDump => {
      const { status: now, since } = status();
      const ageMs = Math.round(clock.now() - startedAt);
      return {
        ...{ side: 'host', id, name, state: now.state, launches: now.launches, attempt: 0 },
        ...{ ageMs, quietMs: ageMs, isUnheard: true, sinceMs: Math.round(clock.now() - since) },
        ...(now.error ? { loss: { kind: 'not started', message: now.error.message } } : {}),
        ...{ lists: [], calls: [], pending: [], queues: empty },
        actors: [this.#dumped()],
      };
    };
    const transitions = this.#listened();
    return { side: 'host', id, actor: this.#actor, dump, closed, traffic: silent, transitions };
  }

  #listened(): Transitions {
    if (!this.#transitions) {
      this.#transitions = new Transitions(this.#report);
      this.#transitions.observe(this.#actor, () => 'slot');
    }
    return this.#transitions;
  }

  #dumped() {
    return dumpActor(this.#actor, 'slot');
  }
}

const silent = { listen: () => () => {} };
const none = { count: 0, max: 0 };
const empty = { running: none, waiting: none, pending: none, outboundBytes: none, holds: [] };

interface Shown {
  readonly id: string;
  status: ServerStatus;
  since: number;
  end(): void;
}

/** Servers shown to watchers without a connection. */
export class UnconnectedServers {
  readonly #shown = new Map<string, Shown>();
  readonly #watchers: readonly ConnectionWatcher[];
  readonly #clock: Clock;
  readonly #chartOf: (name: string, status: ServerStatus) => SlotChart;

  /** @param chartOf returns the chart of the named server */
  constructor(
    watchers: readonly ConnectionWatcher[],
    clock: Clock,
    chartOf: (name: string, status: ServerStatus) => SlotChart,
  ) {
    this.#watchers = watchers;
    this.#clock = clock;
    this.#chartOf = chartOf;
  }

  /** Updates the status of all servers without a connection. */
  show(servers: ReadonlyMap<string, ServerStatus>): void {
    if (this.#watchers.length === 0) return;
    for (const name of this.#shown.keys()) if (!servers.has(name)) this.take(name);
    for (const [name, status] of servers) {
      const known = this.#shown.get(name);
      if (known) {
        if (known.status.state !== status.state) known.since = this.#clock.now();
        known.status = status;
      } else if (['idle', 'disabled', 'failed'].includes(status.state)) this.#begin(name, status);
    }
  }

  /** Hands the id of a shown server to its new connection. */
  take(name: string): string | undefined {
    const shown = this.#shown.get(name);
    this.#shown.delete(name);
    shown?.end();
    return shown?.id;
  }

  end(): void {
    for (const name of this.#shown.keys()) this.take(name);
  }

  #begin(name: string, status: ServerStatus): void {
    const clock = this.#clock;
    let end: Shown['end'] = () => {};
    const closed = new Promise<undefined>((resolve) => (end = () => resolve(undefined)));
    const shown: Shown = { id: crypto.randomUUID(), status, since: clock.now(), end };
    this.#shown.set(name, shown);
    const chart = this.#chartOf(name, status);
    const watched = chart.alone({ id: shown.id, name, clock }, () => shown, closed);
    for (const watch of this.#watchers) watch(watched);
  }
}
