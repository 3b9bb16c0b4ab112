/**
 * The servers of many that there is no connection to: not started yet, disabled, or with an entry that
 * is faulty. What watches the connections sees them as such, with why.
 */
import type { AnyActorRef } from 'xstate';
import type { Clock } from '../../actors/clock.ts';
import type { ConnectionDump } from '../../diagnosis/connection-dump.ts';
import type { ActorDump } from '../../diagnosis/peer-dump.ts';
import type { ConnectionWatcher, WatchedConnection } from '../connection/watched-connection.ts';
import type { ServerStatus } from './server-reports.ts';

interface Absent {
  readonly id: string;
  status: ServerStatus;
  since: number;
  end(): void;
}

interface Around {
  readonly watchers: readonly ConnectionWatcher[];
  readonly clock: Clock;
  /** What stands in the place of a connection's actor, and its dump. */
  readonly actor: AnyActorRef;
  dumped(): ActorDump;
}

const isAbsent = ({ state }: ServerStatus): boolean =>
  state === 'idle' || state === 'disabled' || state === 'failed';

const empty = { count: 0, max: 0 };
const queues = { running: empty, waiting: empty, pending: empty, outboundBytes: empty, holds: [] };
const nothing = { listen: () => () => {} };

export class AbsentServers {
  readonly #absent = new Map<string, Absent>();
  readonly #around: Around;

  constructor(around: Around) {
    this.#around = around;
  }

  /** Tells where servers stand that there is no connection to. Of any other there is nothing to show. */
  show(servers: ReadonlyMap<string, ServerStatus>): void {
    const { watchers, clock } = this.#around;
    if (watchers.length === 0) return;
    for (const [name, absent] of this.#absent) if (!servers.has(name)) this.#end(name, absent);
    for (const [name, status] of servers) {
      const known = this.#absent.get(name);
      if (known) {
        if (known.status.state !== status.state) known.since = clock.now();
        known.status = status;
      } else if (isAbsent(status)) this.#begin(name, status);
    }
  }

  /** There is a connection now: it takes the id under which its server was shown, if it was. */
  take(name: string): string | undefined {
    const absent = this.#absent.get(name);
    if (absent) this.#end(name, absent);
    return absent?.id;
  }

  end(): void {
    for (const [name, absent] of this.#absent) this.#end(name, absent);
  }

  #end(name: string, absent: Absent): void {
    this.#absent.delete(name);
    absent.end();
  }

  #begin(name: string, status: ServerStatus): void {
    const { watchers, clock, actor } = this.#around;
    const startedAt = clock.now();
    let end: Absent['end'] = () => {};
    const closed = new Promise<undefined>((resolve) => (end = () => resolve(undefined)));
    const absent: Absent = { id: crypto.randomUUID(), status, since: startedAt, end };
    this.#absent.set(name, absent);
    const dump = (): ConnectionDump => {
      const { state, error, launches } = absent.status;
      const now = clock.now();
      return {
        ...{ side: 'host', id: absent.id, name, state, launches, attempt: 0 },
        ageMs: Math.round(now - startedAt),
        quietMs: Math.round(now - startedAt),
        isUnheard: true,
        sinceMs: Math.round(now - absent.since),
        ...(error ? { loss: { kind: 'not started', message: error.message } } : {}),
        ...{ lists: [], calls: [], pending: [], queues },
        actors: [this.#around.dumped()],
      };
    };
    const watched: WatchedConnection = {
      ...{ side: 'host', id: absent.id, actor, dump, closed },
      ...{ traffic: nothing, transitions: nothing },
    };
    for (const watch of watchers) watch(watched);
  }
}

/** The same watchers; to them a connection goes by this id. */
export function watchingAs(
  id: string | undefined,
  watchers: readonly ConnectionWatcher[],
): readonly ConnectionWatcher[] {
  if (id === undefined) return watchers;
  return watchers.map(
    (watch) => (watched) => watch({ ...watched, id, dump: () => ({ ...watched.dump(), id }) }),
  );
}
